/*
 * cycle - one attempt to schedule one pod: from the snapshot to a chosen node.
 *
 * It only reads the snapshot and calls the profile's plugins. The later steps (assume, reserve,
 * permit, binding) are in run/attempt.c and run/binding_run.c. Plugins keep the struct until the
 * pod is bound, so it lives on the heap and outlives the decision.
 */
#ifndef SCHEDULER_CYCLE_CYCLE_H
#define SCHEDULER_CYCLE_CYCLE_H

#include "scheduler/framework/cycle_state.h"

struct prng;

struct cycle *cycle_new(struct profile *p, struct podinfo *pod, int64_t now_ms);
void cycle_free(struct cycle *c); /* NULL allowed */
DEFINE_CLEANUP(cycle_free, struct cycle *);

/*
 * For pre_filter: restricts the cycle to these nodes. Several sets are intersected. `nodes` is
 * copied.
 */
void cycle_only(struct cycle *c, const struct str *nodes, size_t n);

/* Result of one attempt. */
struct cycle_result {
	/*
	 * SUCCESS, UNSCHEDULABLE (UNRESOLVABLE if there are no nodes), or ERROR. Its only reason is
	 * the whole message.
	 */
	struct verdict verdict;
	struct str node; /* chosen; in the cycle's arena */
	struct str nominated; /* by post_filter; empty: none */
	/* post_filter decided on `nominated`: an empty one clears the pod's nomination. */
	bool nominating;
};

/*
 * Runs pre_filter, filter (with nominated pods, as upstream), pre_score and score, and chooses a
 * node. If no node fits, runs post_filter. `*start` is the index in the node list to begin at, and
 * is advanced for the next cycle.
 */
void cycle_run(struct cycle *c, const struct snapshot *s, size_t *start, struct prng *prng,
	       struct cycle_result *ret_result);

/*
 * Returns upstream's FitError, in the cycle's arena: "0/5 nodes are available: 2 Insufficient cpu,
 * 3 node(s) had untolerated taint(s). preemption: ..".
 */
struct str cycle_message(struct cycle *c);

/*
 * Returns a copy for preemption with cloned states and its own arena. Pod and snapshot are shared.
 */
struct cycle *cycle_what_if(struct cycle *c);

/*
 * Runs the filters for one node, including the pods that are nominated for it. The node may be a
 * copy for a what-if.
 */
struct verdict cycle_filter_with_nominated(struct cycle *c, const struct nodeinfo *n);

#endif
