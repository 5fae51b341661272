/*
 * preemption_run - evicts victims asynchronously, while the preemptor waits.
 *
 * For each victim it sets the condition DisruptionTarget, deletes the pod, and records an event. A
 * victim that still waits in permit is only rejected there. Pods of lower priority that were
 * nominated for the node lose their nomination. All victims but the last are evicted at once, and
 * the last one after them. Until then the preemptor must not be queued (PreEnqueue calls
 * preemption_runs_pending()), so that it does not preempt more pods. After that, the deletion event
 * of the last victim wakes it.
 *
 * If a request fails, the failure is logged and the preemptor is activated, to try again.
 * Threads: the scheduler's.
 */
#ifndef SCHEDULER_PREEMPTION_RUN_H
#define SCHEDULER_PREEMPTION_RUN_H

#include "base/core/list.h"
#include "base/core/map.h"
#include "base/report/metrics.h"
#include "scheduler/preemption/preemption.h"

struct profile;

/* Callbacks to the scheduler; each may be NULL. */
struct preemption_hooks {
	/*
	 * Rejects a pod that waits in permit with reason "preempted". Returns false if no such pod
	 * waits.
	 */
	bool (*reject_waiting)(void *arg, struct str uid);
	void *arg;
};

struct preemption_runs {
	const struct services *services;
	struct preemption_hooks hooks;
	struct map by_uid; /* uid of the preemptor -> struct preemption_run */
	struct list requests; /* requests in progress */
};

void preemption_runs_init(struct preemption_runs *r, const struct services *services);
/* Cancels all requests in progress. */
void preemption_runs_release(struct preemption_runs *r);

/* Starts the evictions. Does nothing without a client. */
void preemption_runs_begin(struct preemption_runs *r, struct podinfo *preemptor,
			   const struct preemption_choice *choice);

/* Whether some victims of the preemptor are not being deleted yet. */
bool preemption_runs_pending(const struct preemption_runs *r, struct str uid);

/*
 * Sets the hooks of a profile's DefaultPreemption; does nothing if the profile lacks it. Copies the
 * hooks.
 */
void preemption_set_hooks(struct profile *p, const struct preemption_hooks *hooks);

extern const struct plugin_kind plugin_default_preemption;

#endif
