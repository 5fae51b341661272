/*
 * managed_tree - objects and the fields they have: what apply is made of.
 *
 * Trees are walked by their type; sets of fields are those of managed/set.h, in order.
 * The meaning of each is structured-merge-diff's. Layer-private, for managed_*.c.
 */
#ifndef API_MANAGED_TREE_H
#define API_MANAGED_TREE_H

#include "api/schema/schema.h"
#include "base/json/json.h"

/*
 * The fields that a tree says something about: leaves, elements of lists, members of maps,
 * and what is null or an empty object. A struct is there through what it holds.
 */
struct json *managed_fields(struct arena *a, const struct schema_type *type,
			    const struct json *tree);

/*
 * Whether a configuration can be applied at all: its fields are known, their values of the
 * right nature, elements of lists have their keys and none is there twice. -ERR_UNTYPED in
 * upstream's words, which are not kind: ".spec.x: field not declared in schema".
 */
int managed_check(struct arena *a, const struct schema_type *type, const struct json *tree,
		  struct error *err);

/*
 * Puts what `config` says into `tree`, in place; what it does not speak of stays. Elements
 * of lists that both have are in the order of `config`. Shares nothing with `config` but text.
 */
void managed_merge(struct arena *a, const struct schema_type *type, struct json *tree,
		   const struct json *config);

/* Takes the fields of the set, with all below them, out of the tree, in place. */
void managed_remove(struct arena *a, const struct schema_type *type, struct json *tree,
		    const struct json *set);

/* Makes a field of a struct a member of the set when anything below it is one; in place. */
void managed_name_members(struct arena *a, const struct schema_type *type, struct json *set);

/*
 * Brings a set into what the type says today: what is below a field that is owned as a whole
 * now stands for that field. In place.
 */
void managed_reconcile(const struct schema_type *type, struct json *set);

#endif
