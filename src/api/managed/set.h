/*
 * managed_set - sets of fields in their FieldsV1 form, as JSON trees.
 *
 * A set is an object; each member is one step of a path: `f:name` is a field, `k:{"name":"x"}` the
 * element of a list with those keys, `v:"x"` the element with that value, `i:0` the element at an
 * index. A field is in the set if its object is empty, or if its object has the member ".". Members
 * are in upstream's order, "." first, which makes the operations linear. Layer-private, for
 * managed/.
 */
#ifndef API_MANAGED_SET_H
#define API_MANAGED_SET_H

#include "base/json/json.h"

/* Compares steps: fields by name, then keys, values, indexes; numbers by their value. */
int managed_step_cmp(struct str a, struct str b);

/*
 * Sorts a tree that was sent or stored. Returns false if it is not a set: it has an unknown kind of
 * step, a value that is not an object, or is too deep.
 */
bool managed_set_read(struct arena *a, struct json *set);

/*
 * Brings the steps of a received set into their canonical spelling: keys sorted, no spaces. Returns
 * false if a step is not valid JSON for a step.
 */
bool managed_set_normalise(struct arena *a, struct json *set);

/* Sorts the members of one object, "." first, and removes duplicates. */
void managed_set_sort(struct arena *a, struct json *object);

/* Removes the fields of `minus` (may be NULL) from the set. Returns true if any field is left. */
bool managed_set_subtract(struct arena *a, struct json *set, const struct json *minus);

/* Adds the fields of `plus`, which is copied. -ERR_TOO_LARGE at the arena's limit. */
int managed_set_unite(struct arena *a, struct json *set, const struct json *plus);

/* Makes a new set of the fields that are in both. */
struct json *managed_set_intersect(struct arena *a, const struct json *x, const struct json *y);

/* Removes the fields of `minus` (may be NULL) and everything below them from the set. */
void managed_set_subtract_deep(struct arena *a, struct json *set, const struct json *minus);

/* Whether every field of `part` is in `whole`. */
bool managed_set_covers(const struct json *whole, const struct json *part);

/* Makes a copy; never fails for a set of managed_set_read(). */
struct json *managed_set_copy(struct arena *a, const struct json *set);

/* The number of fields in the set. */
size_t managed_set_count(const struct json *set);

/*
 * Whether the field of this node is itself in the set: the node has the member ".", or no members.
 */
static inline bool managed_set_has_node(const struct json *node)
{
	return node->n == 0 || (node->first->key_n == 1 && node->first->key[0] == '.');
}

/*
 * Calls `found` with the text of each field (".spec.replicas"), a field before the fields below it,
 * until it returns false. The text is borrowed.
 */
void managed_set_paths(struct arena *a, const struct json *set,
		       bool (*found)(void *arg, struct str path), void *arg);

#endif
