/*
 * preemption - decides which pods of lower priority to evict, and on which node, so that a pod
 * fits.
 *
 * It only decides and writes nothing (see preemption/run.h). Each candidate node is tried on copies
 * of the node and the cycle. All pods of lower priority are removed. If the pod then fits, as many
 * of them as possible are added back: first those whose eviction would violate a disruption budget,
 * and more important pods before less important ones. The rest are the victims. Extended resources
 * of plugins are part of the copied node, so they are updated, too.
 *
 * It chooses the node by these criteria, in order: fewest violated budgets; lowest priority of the
 * most important victim; smallest sum of priorities; fewest victims; latest start time of the
 * earliest victim of the highest priority.
 *
 * The search ends when it has enough candidates, one of which violates no budget. It also ends with
 * any candidate once filters have run PREEMPTION_FILTERS_MAX times. A node that helps takes one
 * run, plus one for each pod of lower priority; a node that does not help takes one run. So the
 * total is bounded by that limit plus the pods of one node plus the number of nodes.
 * Threads: the scheduler's.
 */
#ifndef SCHEDULER_PREEMPTION_PREEMPTION_H
#define SCHEDULER_PREEMPTION_PREEMPTION_H

#include "scheduler/cycle/cycle.h"

struct cache;

/* One attempt; filled by the caller. */
struct preemption {
	struct cycle *cycle; /* the failed cycle, with its diagnosis; results live in its arena */
	const struct cache *pdbs; /* PodDisruptionBudgets, or NULL */
	struct str nominated; /* the node that the pod is nominated for, or empty */
	/* minCandidateNodesPercentage and -Absolute: how many nodes are enough to choose from. */
	int32_t percentage, absolute;
	/* Index of the first potential node to try, modulo their number. */
	uint64_t offset;
	size_t filters_max; /* see above; 0: PREEMPTION_FILTERS_MAX */
};

/*
 * Victims in order of importance. The array is in the cycle's arena; the snapshot owns nodes and
 * pods.
 */
struct preemption_choice {
	const struct nodeinfo *node;
	struct podinfo **victims;
	size_t n;
	size_t violations; /* victims whose eviction violates a budget */
};

/*
 * Returns SUCCESS with the choice, UNSCHEDULABLE with the reason (without "preemption: "), or
 * ERROR. *ret_hopeless: preemption helps on no node, so an existing nomination of the pod is void.
 */
struct verdict preemption_decide(const struct preemption *p, struct preemption_choice *ret_choice,
				 bool *ret_hopeless);

/* --- its parts, for tests and for each other ------------------------------------------------ */

/*
 * Decides for one node. Returns SUCCESS with victims, or the reason why preemption does not help.
 */
struct preemption_budgets;

/* Disruption budgets, read into `arena` per namespace on first use. */
struct preemption_budgets {
	const struct cache *cache;
	struct arena *arena;
	struct map by_namespace;
};
void preemption_budgets_init(struct preemption_budgets *b, const struct cache *pdbs,
			     struct arena *arena);
void preemption_budgets_release(struct preemption_budgets *b);
/* Resets the counts, before the victims of the next node. */
void preemption_budgets_reset(struct preemption_budgets *b);
/* Whether evicting the pod, after the pods of earlier calls, violates a budget. */
bool preemption_violates(struct preemption_budgets *b, const struct podinfo *p);

#endif
