/*
 * preemption - which pods of lower priority would have to go so that a pod fits, and on which node.
 *
 * A decision only: nothing is written (see preemption/run.h). Each node that might help is tried
 * on a copy of it and of the cycle: all pods of lower priority are taken away; if the pod fits
 * then, as many as possible are let back in, those first whose going would violate a budget, and
 * the more important before the less. What is left are the victims. Extended resources of plugins
 * are part of the copied node, so they follow.
 *
 * Of the nodes the one is taken that has, in this order: fewest violated budgets, the least
 * important most important victim, the smallest sum of priorities, fewest victims, the latest
 * start of its earliest most important victim.
 *
 * The search ends with enough nodes to choose from, one of which violates no budget; or with any,
 * once filters have been run PREEMPTION_FILTERS_MAX times. A node that would help takes one run and
 * one more for each pod of lower priority, one that would not takes one: a search is bounded by
 * that limit, the pods of one node and the number of nodes together.
 * Threads: the scheduler's.
 */
#ifndef SCHEDULER_PREEMPTION_PREEMPTION_H
#define SCHEDULER_PREEMPTION_PREEMPTION_H

#include "scheduler/cycle/cycle.h"

struct cache;

/* One attempt; filled by the caller. */
struct preemption {
	struct cycle *cycle; /* no node fits: its diagnosis says why; answers live in its arena */
	const struct cache *pdbs; /* PodDisruptionBudgets; NULL: none */
	struct str nominated; /* where it is nominated; empty: nowhere */
	/* minCandidateNodesPercentage and -Absolute: how many nodes are enough to choose from. */
	int32_t percentage, absolute;
	/* Which of the potential nodes to begin with; taken modulo their number. */
	uint64_t offset;
	size_t filters_max; /* see below; 0: PREEMPTION_FILTERS_MAX */
};

/* Victims in the order of importance. Nodes and pods are the snapshot's; in the cycle's arena. */
struct preemption_choice {
	const struct nodeinfo *node;
	struct podinfo **victims;
	size_t n;
	size_t violations; /* victims whose going violates a budget */
};

/*
 * SUCCESS with the choice; UNSCHEDULABLE with why not; or ERROR. *ret_hopeless: no node can be
 * helped, so a nomination that the pod has is void. The reason lacks "preemption: ".
 */
struct verdict preemption_decide(const struct preemption *p, struct preemption_choice *ret_choice,
				 bool *ret_hopeless);

/* --- its parts, for tests and for each other ------------------------------------------------ */

/* Of one node. SUCCESS with victims; or why it cannot be helped. */
struct preemption_budgets;
struct verdict preemption_on_node(struct cycle *c, const struct nodeinfo *n,
				  struct preemption_budgets *budgets,
				  struct preemption_choice *ret_choice);
const struct preemption_choice *preemption_pick(const struct preemption_choice *v, size_t n);

/* Earlier ones are more important: by priority, then by start. */
bool preemption_more_important(const struct podinfo *a, const struct podinfo *b);

/* Budgets, read per namespace when they are first asked for; in `arena`. */
struct preemption_budgets {
	const struct cache *cache;
	struct arena *arena;
	struct map by_namespace;
};
void preemption_budgets_init(struct preemption_budgets *b, const struct cache *pdbs,
			     struct arena *arena);
void preemption_budgets_release(struct preemption_budgets *b);
/* Begins to count anew: all victims of one node are counted together. */
void preemption_budgets_reset(struct preemption_budgets *b);
/* Whether the pod's going, after those asked about before, violates a budget. */
bool preemption_violates(struct preemption_budgets *b, const struct podinfo *p);

#endif
