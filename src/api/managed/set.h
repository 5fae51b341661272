/*
 * managed_set - sets of fields in their FieldsV1 form, as JSON trees.
 *
 * A set is an object; each member is one step of a path: `f:name` a field,
 * `k:{"name":"x"}` the element of a list with those keys, `v:"x"` the element
 * of that value, `i:0` the element at a place. An empty object is a field
 * that is in the set; one with members is too when it has ".". Members are in
 * upstream's order, "." first, which is what makes the operations linear.
 * Layer-private, for managed_*.c.
 */
#ifndef API_MANAGED_SET_H
#define API_MANAGED_SET_H

#include "base/json/json.h"

/* The order of steps: fields by name, then keys, values, places; numbers by their value. */
int managed_step_cmp(struct str a, struct str b);

/*
 * Brings a tree that somebody sent or stored into order. False when it is no
 * set: a step of no kind we know, something other than objects, too deep.
 */
bool managed_set_read(struct arena *a, struct json *set);

/*
 * Brings the steps of a set that somebody sent into the one spelling that they have here: keys
 * in order, no spaces. False when one is no JSON that a step can be.
 */
bool managed_set_normalise(struct arena *a, struct json *set);

/* Puts the members of one object into order, "." first; of those that repeat one stays. */
void managed_set_sort(struct arena *a, struct json *object);

/* Takes the fields of `minus` (may be NULL) out of the set. True when something is left. */
bool managed_set_subtract(struct arena *a, struct json *set, const struct json *minus);

/* Adds the fields of `plus`, which is copied. -ERR_TOO_LARGE at the arena's limit. */
int managed_set_unite(struct arena *a, struct json *set, const struct json *plus);

/* The fields that are in both, as a new set. */
struct json *managed_set_intersect(struct arena *a, const struct json *x, const struct json *y);

/* Takes the fields of `minus` (may be NULL) and everything below them out of the set. */
void managed_set_subtract_deep(struct arena *a, struct json *set, const struct json *minus);

/* Whether every field of `part` is in `whole`. */
bool managed_set_covers(const struct json *whole, const struct json *part);

/* A copy; never fails for what was read. */
struct json *managed_set_copy(struct arena *a, const struct json *set);

/* How many fields are in it. */
size_t managed_set_count(const struct json *set);

/* Whether the field that a node stands for is in the set itself: "." among its members, or none. */
static inline bool managed_set_has_node(const struct json *node)
{
	return node->n == 0 || (node->first->key_n == 1 && node->first->key[0] == '.');
}

/*
 * Calls `found` with the text of each field (".spec.replicas"), fields before what is below
 * them and their neighbours, until it returns false. The text is borrowed.
 */
void managed_set_paths(struct arena *a, const struct json *set,
		       bool (*found)(void *arg, struct str path), void *arg);

#endif
