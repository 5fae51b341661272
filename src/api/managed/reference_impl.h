/*
 * managed_reference_impl - sets and objects of the slow reference, between its files.
 */
#ifndef API_MANAGED_REFERENCE_IMPL_H
#define API_MANAGED_REFERENCE_IMPL_H

#include "api/managed/reference.h"

enum content { VALUE, OBJECT, LIST }; /* a VALUE is owned as a whole; null is one, too */

struct reference_node {
	struct str path; /* "": the root */
	enum content content;
	bool named; /* a field that the schema names; not a key of a map, nor an element */
	/*
	 * A null that a typed object of upstream's would have and ours has not: something
	 * to compare with, but it does not come or go, and is nobody's.
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

/* In order, each once; in place. */
struct reference_set reference_set_of(struct reference_set set);

struct reference_set reference_minus(struct arena *arena, const struct reference_set *a,
				     const struct reference_set *b);
struct reference_set reference_both(struct arena *arena, const struct reference_set *a,
				    const struct reference_set *b);
struct reference_set reference_either(struct arena *arena, const struct reference_set *a,
				      const struct reference_set *b);

/* The set with all fields on the way to its own that the schema names. */
struct reference_set reference_named(struct arena *a, const struct schema_kind *kind,
				     const struct reference_set *set);

/* --- objects -------------------------------------------------------------------------- */

/* Of a tree; NULL: of nothing. `typed`: as upstream's typed objects are printed. */
struct reference_nodes reference_nodes_of(struct arena *a, const struct schema_kind *kind,
					  const struct json *v, bool typed);
struct json *reference_tree(const struct reference_nodes *nodes);

void reference_push(struct reference_nodes *nodes, struct reference_node node);
const struct reference_node *reference_find(const struct reference_nodes *nodes, struct str path);
size_t reference_children(const struct reference_nodes *nodes, struct str path); /* how many */

/* What is owned by whoever says it. */
struct reference_set reference_fields_of(const struct reference_nodes *nodes);

#endif
