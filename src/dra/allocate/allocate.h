/*
 * allocate - which devices a pod's claims get on a node.
 *
 * Finds the allocation that upstream's structured allocator would find: a depth-first search in
 * its order (pools, slices, devices; alternatives as listed), so that results are the same,
 * and deterministic. What cannot lead to a result is cut off early: see allocate.c for
 * the bound on steps and why pruning never changes the answer.
 */
#ifndef DRA_ALLOCATE_ALLOCATE_H
#define DRA_ALLOCATE_ALLOCATE_H

#include "dra/inventory/inventory.h"

struct allocate_node {
	struct str name;
	const struct json *labels; /* an object of strings; or NULL */
};

/* What came of it, beside the result. */
struct allocate_report {
	uint64_t steps; /* devices tried */
	bool invalid_pool; /* no result, and some pool of the node is invalid or incomplete */
	/* Of a result: for each alternative that was taken, 8 less its place in its list. */
	int64_t preference;
};

struct allocate_effort {
	uint64_t compile; /* steps, see struct cel_budget */
	uint64_t cost; /* of evaluations: CEL's, and for work that has none */
};
#define ALLOCATE_EFFORT ((struct allocate_effort){ CEL_COMPILE_MAX, ALLOCATE_ATTEMPT_COST_MAX })

/* Zero means the default. */
struct allocate_options {
	uint64_t steps_max; /* ALLOCATE_STEPS_MAX; passing it is -ERR_TIMEOUT */
	/*
	 * What searches that only ask whether (without an arena) may take together: each takes off
	 * what it took, and more than is left is -ERR_TIMEOUT. NULL: no such bound.
	 */
	uint64_t *budget;
	/*
	 * What selectors may take together, in searches with and without an arena: each takes off
	 * what it took. More than is left is -ERR_TOO_LARGE, and names the selector. Programs and
	 * answers are remembered, so that the next attempt gets further. NULL: no such bound.
	 */
	struct allocate_effort *effort;
	/* Fills a share id, a random UUID; NULL: numbered ones, for tests. */
	void (*share_id)(void *ctx, char out[static 37]);
	void *ctx;
	struct allocate_report *report; /* filled in any case; may be NULL */
};

/*
 * Allocates all of the claims (trees of ResourceClaims without an allocation) on the node, or
 * none. 1: ret_results[i] is what belongs into status.allocation of claim i, in the arena;
 * 0: they do not fit here; -ERR_INVALID and others: the pod cannot be scheduled anywhere as
 * things are (class missing, selector at fault, mode All with an incomplete pool), in
 * upstream's words. The inventory is not changed: see inventory_assume(). `options`
 * may be NULL.
 */
int allocate(struct inventory *inv, const struct allocate_node *node,
	     const struct json *const *claims, size_t n, const struct allocate_options *options,
	     struct arena *a, struct json **ret_results, struct error *err);

/*
 * The same for many nodes: what claims want is read once. Lives in the arena, without a need to be
 * released, and is good until slices, classes or taint rules change. The trees and the options'
 * report must live as long. What is wrong with the claims is said by allocate_on().
 */
struct allocate_plan;
struct allocate_plan *allocate_prepare(struct inventory *inv, const struct json *const *claims,
				       size_t n, const struct allocate_options *options,
				       struct arena *a);

/*
 * Whether they fit on the node, as allocate(); with an arena `a` also the results, else
 * both may be NULL. The same node has the same answer until the inventory changes.
 */
int allocate_on(struct allocate_plan *plan, const struct allocate_node *node, struct arena *a,
		struct json **ret_results, struct error *err);

#endif
