/*
 * cycle_state - what plugins see of one attempt to schedule one pod.
 *
 * cycle.h runs the attempt. Plugins hold on to this until the pod is bound, so it lives on the
 * heap.
 */
#ifndef SCHEDULER_FRAMEWORK_CYCLE_STATE_H
#define SCHEDULER_FRAMEWORK_CYCLE_STATE_H

#include "base/core/arena.h"
#include "scheduler/cache/nodecache.h"
#include "scheduler/framework/plugin.h"

struct profile;

/* Why it does not fit. */
struct diagnosis {
	struct verdict pre_filter; /* not SUCCESS: it ended there, for all nodes */
	struct verdict *nodes; /* by place in snapshot->nodes; SUCCESS: feasible or not tried */
	size_t evaluated; /* nodes that filters were asked about */
	uint64_t rejectors; /* bit per plugin number: who rejected, the wakers of the pod */
	bool pending; /* one of them said PENDING */
	struct str post_filter; /* its message; or empty */
};

/*
 * The work on the selectors of a pod is bounded for each attempt. It is done in so many parts,
 * between which other pods are tried; a part begins anew and finds what those before it learnt.
 */
enum { ATTEMPT_PARTS = 60 };

struct cycle {
	struct profile *profile;
	const struct services *services;
	struct podinfo *pod; /* reference */
	const struct snapshot *snapshot; /* not valid after the decision */
	struct arena arena;
	void *state[PLUGINS_MAX]; /* by plugin number */
	uint64_t skip_filter, skip_score; /* bits by plugin number */
	/* What pre_filter leaves of the nodes; NULL: all. Names in the arena. */
	struct str *only;
	size_t nonly;
	bool restricted;
	int64_t now_ms; /* of the attempt's beginning; monotonic */
	unsigned part; /* of the attempt, from 0 to ATTEMPT_PARTS - 1 */
	bool unfinished; /* it stopped because this part of it did enough */
	bool what_if; /* a copy that preemption works on */
	bool sampled; /* durations of its plugins are measured: one cycle of ten */

	/* Results. */
	struct nodeinfo **feasible; /* with the snapshot's references */
	int64_t *totals; /* of scores, by place in feasible */
	size_t nfeasible;
	struct diagnosis diagnosis;
};

/* The plugin's own place in it. */
static inline void **cycle_state(struct cycle *c, const struct plugin *p)
{
	return &c->state[p->at];
}

#endif
