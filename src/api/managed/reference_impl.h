/*
 * managed_reference_impl - sets and objects that the files of the slow reference share.
 */
#ifndef API_MANAGED_REFERENCE_IMPL_H
#define API_MANAGED_REFERENCE_IMPL_H

#include "api/managed/reference.h"

enum content { VALUE, OBJECT, LIST }; /* a VALUE, also null, is owned as a whole */

struct reference_node {
	struct str path; /* "": the root */
	enum content content;
	bool named; /* the schema names this field; it is not a key of a map, nor an element */
	/*
	 * A null that a typed object of upstream would have and ours does not. It is used in
	 * comparisons, but is never added, removed or owned.
	 */
	bool assumed;
	const struct json *value; /* of a VALUE */
};

/* Parents before children, siblings in the order of the object. */
struct reference_nodes {
	struct reference_node *v;
	size_t n;
	struct arena *arena;
};

/* --- paths and sets ------------------------------------------------------------------ */

struct str reference_join(struct arena *a, struct str path, struct str step);
struct str reference_parent(struct str path); /* "" above the first step */
bool reference_is_below(struct str path, struct str above);

/* Sorts a set and removes duplicates; in place. */
struct reference_set reference_set_of(struct reference_set set);

struct reference_set reference_minus(struct arena *arena, const struct reference_set *a,
				     const struct reference_set *b);
struct reference_set reference_both(struct arena *arena, const struct reference_set *a,
				    const struct reference_set *b);
struct reference_set reference_either(struct arena *arena, const struct reference_set *a,
				      const struct reference_set *b);

/* Adds all fields on the paths to the set's fields that the schema names. */
struct reference_set reference_named(struct arena *a, const struct schema_kind *kind,
				     const struct reference_set *set);

/* --- objects -------------------------------------------------------------------------- */

/* Makes the nodes of a tree; NULL: no nodes. `typed`: as upstream prints typed objects. */
struct reference_nodes reference_nodes_of(struct arena *a, const struct schema_kind *kind,
					  const struct json *v, bool typed);
struct json *reference_tree(const struct reference_nodes *nodes);

void reference_push(struct reference_nodes *nodes, struct reference_node node);
const struct reference_node *reference_find(const struct reference_nodes *nodes, struct str path);
size_t reference_children(const struct reference_nodes *nodes, struct str path); /* how many */

/* The fields that a manager owns if its configuration has these nodes. */
struct reference_set reference_fields_of(const struct reference_nodes *nodes);

#endif
