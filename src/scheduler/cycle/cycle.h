/*
 * cycle - one attempt to schedule one pod: from the snapshot to a chosen node.
 *
 * Pure: reads the snapshot, asks the profile's plugins, and answers. What comes after (assume,
 * reserve, permit, binding) is attempt.c's and binding.c's. The same struct is what plugins hold on
 * to until the pod is bound, so it lives on the heap and may be kept beyond the decision.
 */
#ifndef SCHEDULER_CYCLE_CYCLE_H
#define SCHEDULER_CYCLE_CYCLE_H

#include "scheduler/framework/cycle_state.h"

struct prng;

struct cycle *cycle_new(struct profile *p, struct podinfo *pod, int64_t now_ms);
void cycle_free(struct cycle *c); /* NULL allowed */
DEFINE_CLEANUP(cycle_free, struct cycle *);

/* pre_filter: only these nodes can be; several such sets are intersected. `nodes` is copied. */
void cycle_only(struct cycle *c, const struct str *nodes, size_t n);

/* How one attempt went. */
struct cycle_result {
	/* SUCCESS, or UNSCHEDULABLE (UNRESOLVABLE without any node), or ERROR; its one reason
	 * is the whole message. */
	struct verdict verdict;
	struct str node; /* chosen; in the cycle's arena */
	struct str nominated; /* by post_filter; empty: none */
	bool nominating; /* post_filter decided about it: an empty one clears what there was */
};

/*
 * Runs pre_filter, filter (with nominated pods, as upstream), pre_score, score, choice; when
 * nothing fits, post_filter. `start` is where in the node list to begin; it is moved on.
 */
void cycle_run(struct cycle *c, const struct snapshot *s, size_t *start, struct prng *prng,
	       struct cycle_result *ret_result);

/*
 * "0/5 nodes are available: 2 Insufficient cpu, 3 node(s) had untolerated taint(s). preemption:
 * ..", upstream's FitError, in the cycle's arena.
 */
struct str cycle_message(struct cycle *c);

/* A copy for preemption: states cloned, own arena. The pod and snapshot are shared. */
struct cycle *cycle_what_if(struct cycle *c);

/* Filters of one node that may be a what-if's: nominated pods of the queue taken into account. */
struct verdict cycle_filter_with_nominated(struct cycle *c, const struct nodeinfo *n);

#endif
