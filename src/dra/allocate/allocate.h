/*
 * allocate - chooses the devices that a pod's claims get on a node.
 *
 * Finds the allocation that upstream's structured allocator would find: a depth-first search in its
 * order (pools, slices, devices; alternatives as listed), so that results are the same, and
 * deterministic. The search prunes hopeless branches early. allocate.c documents the bound on steps
 * and why pruning never changes the answer.
 */
#ifndef DRA_ALLOCATE_ALLOCATE_H
#define DRA_ALLOCATE_ALLOCATE_H

#include "cel/cel_limits.h"
#include "dra/dra_limits.h"
#include "dra/inventory/inventory.h"

struct allocate_node {
	struct str name;
	const struct json *labels; /* an object of strings, or NULL */
};

/* Statistics of one allocation. */
struct allocate_report {
	uint64_t steps; /* devices tried */
	bool invalid_pool; /* no result, and some pool of the node is invalid or incomplete */
	/*
	 * If there is a result: sum over all chosen alternatives of 8 minus the index in their
	 * list.
	 */
	int64_t preference;
};

struct allocate_effort {
	uint64_t compile; /* steps, see struct cel_budget */
	uint64_t cost; /* CEL cost of evaluations, plus a charge for work that CEL does not count */
};
#define ALLOCATE_EFFORT ((struct allocate_effort){ CEL_COMPILE_MAX, ALLOCATE_ATTEMPT_COST_MAX })

/* Zero means the default. */
struct allocate_options {
	/* Default ALLOCATE_STEPS_MAX; a search that exceeds it returns -ERR_TIMEOUT. */
	uint64_t steps_max;
	/*
	 * Shared step budget of all searches that only check whether the claims fit (no arena).
	 * Each search subtracts its steps, and returns -ERR_TIMEOUT if too few are left. NULL: no
	 * shared budget.
	 */
	uint64_t *budget;
	/*
	 * Shared budget for compiling and evaluating selectors, in searches with and without an
	 * arena. Each search subtracts what it used. If too little is left, the search returns
	 * -ERR_TOO_LARGE and the error names the selector. Programs and answers are cached, so the
	 * next attempt gets further. NULL: no budget.
	 */
	struct allocate_effort *effort;
	/* Writes a new share ID (a random UUID). NULL: share IDs are numbered, for tests. */
	void (*share_id)(void *ctx, char out[static 37]);
	void *ctx;
	struct allocate_report *report; /* filled in on success and failure; may be NULL */
};

/*
 * Allocates all of the claims (JSON trees of ResourceClaims without an allocation) on the node, or
 * none of them. Returns 1 if they fit: ret_results[i], in the arena, belongs into status.allocation
 * of claim i. Returns 0 if they do not fit on this node. Returns -ERR_INVALID or another error,
 * with upstream's message, if the pod cannot currently be scheduled on any node: a class is
 * missing, a selector fails, or a request of mode All meets an incomplete pool. The inventory is
 * not changed: call inventory_assume() for that. `options` may be NULL.
 */
int allocate(struct inventory *inv, const struct allocate_node *node,
	     const struct json *const *claims, size_t n, const struct allocate_options *options,
	     struct arena *a, struct json **ret_results, struct error *err);

/*
 * Reads the claims once, to try them on many nodes. The plan lives in the arena and needs no
 * release. It is valid until slices, classes or taint rules change. The claims and the options'
 * report must live as long. Errors in the claims are returned by allocate_on().
 */
struct allocate_plan;
struct allocate_plan *allocate_prepare(struct inventory *inv, const struct json *const *claims,
				       size_t n, const struct allocate_options *options,
				       struct arena *a);

/*
 * Returns the same as allocate(). Without an arena (`a` and `ret_results` NULL) it only checks
 * whether the claims fit. The answer for a node stays the same until the inventory changes.
 */
int allocate_on(struct allocate_plan *plan, const struct allocate_node *node, struct arena *a,
		struct json **ret_results, struct error *err);

#endif
