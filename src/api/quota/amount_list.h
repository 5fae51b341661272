/*
 * amount_list - quantities by name: upstream's ResourceList.
 *
 * Sorted by name, each name once, in an arena; whatever is made of two lists takes time as both are
 * long. Names are borrowed. Nothing here is ever an error: what is no quantity is left out, for
 * validation has seen it. A list that the arena's limit leaves no room for stays as it was, and the
 * arena says that it refused: whoever decides by lists of a client's length asks it.
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
	struct amount *v; /* never changed in place once it is in the list: copies may share it */
	size_t n;
};

/* Empty. */
struct amount_list amount_list_new(struct arena *a);

/* Gives an empty list room for `n` in v, for the caller to fill in order; false: there is none. */
bool amount_list_reserve(struct amount_list *l, size_t n);

/* The sum, where zero has the format of what is added to it as in Go; and the larger one. */
struct quantity amount_sum(struct quantity a, struct quantity b);
struct quantity amount_most(struct quantity a, struct quantity b);

/* The members of an object of a tree. */
struct amount_list amount_list_read(struct arena *a, const struct json *map);
struct json *amount_list_tree(const struct amount_list *l, struct arena *a);

/* NULL when it is not there. Borrowed until the list changes. */
const struct quantity *amount_list_get(const struct amount_list *l, struct str name);

/* Puts `q` in the place of what was there. */
void amount_list_set(struct amount_list *l, struct str name, struct quantity q);

/*
 * With each amount of `other`: the sum, as Go's Quantity has it (the format of what is not
 * zero); the larger one; or that of `other`.
 */
void amount_list_add(struct amount_list *l, const struct amount_list *other);
void amount_list_max(struct amount_list *l, const struct amount_list *other);
void amount_list_put(struct amount_list *l, const struct amount_list *other);

/* What is left of each without `other`'s; and the same where nothing falls below zero. */
void amount_list_sub(struct amount_list *l, const struct amount_list *other);
void amount_list_reduce(struct amount_list *l, const struct amount_list *other);

/* Same names, same values. */
bool amount_list_equal(const struct amount_list *a, const struct amount_list *b);

/* Another in an arena of its own, with its names. */
struct amount_list amount_list_copy(const struct amount_list *l, struct arena *a);

/* Appends "cpu=1,memory=2Gi". */
void amount_list_print(const struct amount_list *l, struct buf *out);

#endif
