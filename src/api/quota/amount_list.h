/*
 * amount_list - quantities by name: upstream's ResourceList.
 *
 * A list is sorted by name, without duplicates, and lives in an arena. Operations on two lists take
 * time linear in their lengths. Names are borrowed. Nothing here returns an error: values that are
 * not quantities are left out, because validation has checked them. If the arena's limit is
 * reached, a list stays unchanged and the arena records that it refused memory; callers whose lists
 * come from clients must check that.
 */
#ifndef API_QUOTA_AMOUNT_LIST_H
#define API_QUOTA_AMOUNT_LIST_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/json/quantity.h"

struct json;

struct amount {
	struct str name;
	struct quantity q;
};

struct amount_list {
	struct arena *arena;
	/* Never changed in place once it is in the list, because copies may share it. */
	struct amount *v;
	size_t n;
};

/* Returns an empty list. */
struct amount_list amount_list_new(struct arena *a);

/*
 * Allocates space for `n` amounts in an empty list; fill v in order. Returns false if out of
 * memory.
 */
bool amount_list_reserve(struct amount_list *l, size_t n);

/* The sum, where zero takes the format of the other one as in Go; and the larger one. */
struct quantity amount_sum(struct quantity a, struct quantity b);
struct quantity amount_most(struct quantity a, struct quantity b);

/* Reads the members of an object of a tree; makes such an object. */
struct amount_list amount_list_read(struct arena *a, const struct json *map);
struct json *amount_list_tree(const struct amount_list *l, struct arena *a);

/* Returns NULL if not found. Borrowed until the list changes. */
const struct quantity *amount_list_get(const struct amount_list *l, struct str name);

/* Sets or replaces an amount. */
void amount_list_set(struct amount_list *l, struct str name, struct quantity q);

/*
 * For each amount of `other`: add it, as Go's Quantity does (with the format of the one that is not
 * zero); take the larger one; replace it.
 */
void amount_list_add(struct amount_list *l, const struct amount_list *other);
void amount_list_max(struct amount_list *l, const struct amount_list *other);
void amount_list_put(struct amount_list *l, const struct amount_list *other);

/* Subtract the amounts of `other`; the second stops at zero. */
void amount_list_sub(struct amount_list *l, const struct amount_list *other);
void amount_list_reduce(struct amount_list *l, const struct amount_list *other);

/* Whether both have the same names and values. */
bool amount_list_equal(const struct amount_list *a, const struct amount_list *b);

/* Makes a copy in another arena, including the names. */
struct amount_list amount_list_copy(const struct amount_list *l, struct arena *a);

/* Appends "cpu=1,memory=2Gi". */
void amount_list_print(const struct amount_list *l, struct buf *out);

#endif
