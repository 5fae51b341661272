/*
 * managed_tree - operations on objects and their sets of fields, which apply is made of.
 *
 * Trees are walked by their type; sets of fields are those of managed/set.h, sorted. All operations
 * have the semantics of structured-merge-diff. Layer-private, for managed/.
 */
#ifndef API_MANAGED_TREE_H
#define API_MANAGED_TREE_H

#include "api/schema/schema.h"
#include "base/json/json.h"

/*
 * Returns the fields of a tree: leaves, elements of lists, members of maps, nulls and empty
 * objects. A struct is included only through its members.
 */
struct json *managed_fields(struct arena *a, const struct schema_type *type,
			    const struct json *tree);

/*
 * Checks whether a configuration can be applied at all: its fields are known, their values have the
 * right type, and elements of lists have their keys without duplicates. -ERR_UNTYPED with
 * upstream's terse messages: ".spec.x: field not declared in schema".
 */
int managed_check(struct arena *a, const struct schema_type *type, const struct json *tree,
		  struct error *err);

/* Whether containers are nested deeper than that. */
bool managed_is_deeper(const struct json *tree, unsigned limit);

/*
 * Merges `config` into `tree`, in place; fields that config does not have stay. List elements that
 * both have get the order of `config`. The result shares only text with `config`.
 */
void managed_merge(struct arena *a, const struct schema_type *type, struct json *tree,
		   const struct json *config);

/* Removes the fields of the set, with everything below them, from the tree, in place. */
void managed_remove(struct arena *a, const struct schema_type *type, struct json *tree,
		    const struct json *set);

/* Adds a field of a struct to the set if any field below it is in the set; in place. */
void managed_name_members(struct arena *a, const struct schema_type *type, struct json *set);

/*
 * Adapts a set to the current type: if a field is now owned as a whole, fields below it become that
 * field. In place.
 */
void managed_reconcile(const struct schema_type *type, struct json *set);

#endif
