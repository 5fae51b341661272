/*
 * cycle_state - the state of one attempt to schedule one pod, for plugins.
 *
 * cycle.h runs the attempt. Plugins keep the struct until the pod is bound, so it lives on the
 * heap.
 */
#ifndef SCHEDULER_FRAMEWORK_CYCLE_STATE_H
#define SCHEDULER_FRAMEWORK_CYCLE_STATE_H

#include "base/core/arena.h"
#include "scheduler/cache/nodecache.h"
#include "scheduler/framework/plugin.h"

struct profile;

/* Why the pod does not fit. */
struct diagnosis {
	struct verdict pre_filter; /* not SUCCESS: pre_filter rejected the pod for all nodes */
	struct verdict *nodes; /* by index in snapshot->nodes; SUCCESS: feasible or not tried */
	size_t evaluated; /* number of filtered nodes */
	/* Bits by plugin number: plugins that rejected the pod; their hints wake it. */
	uint64_t rejectors;
	bool pending; /* one of them returned PENDING */
	struct str post_filter; /* its message, or empty */
};

/*
 * The work on a pod's selectors is limited for each attempt. The attempt may continue in this many
 * parts, with other pods in between. Each part starts again, and reuses cached results of the
 * earlier parts.
 */
enum { ATTEMPT_PARTS = 60 };

struct cycle {
	struct profile *profile;
	const struct services *services;
	struct podinfo *pod; /* reference */
	const struct snapshot *snapshot; /* invalid after the decision */
	struct arena arena;
	void *state[PLUGINS_MAX]; /* by plugin number */
	uint64_t skip_filter, skip_score; /* bits by plugin number */
	/* The nodes that pre_filter allows, with names in the arena; NULL: all nodes. */
	struct str *only;
	size_t nonly;
	bool restricted;
	int64_t now_ms; /* start of the attempt; monotonic */
	unsigned part; /* of the attempt, from 0 to ATTEMPT_PARTS - 1 */
	bool unfinished; /* stopped because this part has used its budget */
	bool what_if; /* a copy that preemption works on */
	bool sampled; /* plugin durations are measured, in one cycle of ten */

	/* Results. */
	struct nodeinfo **feasible; /* borrowed from the snapshot */
	int64_t *totals; /* total scores, by index in `feasible` */
	size_t nfeasible;
	struct diagnosis diagnosis;
};

/* Returns the plugin's own slot. */
static inline void **cycle_state(struct cycle *c, const struct plugin *p)
{
	return &c->state[p->at];
}

#endif
