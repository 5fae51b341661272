/*
 * preemption_run - evicts victims, asynchronously, while their preemptor waits.
 *
 * For each victim: the condition DisruptionTarget, then the deletion, then an event; one that still
 * waits in permit is only refused there. Pods of lower priority that were nominated for the node
 * lose that. All but the last victim go at once, the last when those have gone: until then the
 * preemptor is not to be queued (preemption_runs_pending(), for PreEnqueue), so that it does not
 * preempt more for the same need. From the last on, it is enough that its deletion is seen.
 *
 * When a request fails, it is logged and the preemptor is activated: it tries anew.
 * Threads: the scheduler's.
 */
#ifndef SCHEDULER_PREEMPTION_RUN_H
#define SCHEDULER_PREEMPTION_RUN_H

#include "base/core/list.h"
#include "base/core/map.h"
#include "base/report/metrics.h"
#include "scheduler/preemption/preemption.h"

struct profile;

/* What the scheduler does for it; each may be NULL. */
struct preemption_hooks {
	/* Refuses a pod that waits in permit, "preempted". False: none such waits. */
	bool (*reject_waiting)(void *arg, struct str uid);
	void *arg;
};

struct preemption_runs {
	const struct services *services;
	struct preemption_hooks hooks;
	struct map by_uid; /* of the preemptor; struct preemption_run */
	struct list requests; /* all that is under way */
};

void preemption_runs_init(struct preemption_runs *r, const struct services *services);
/* Gives up all that is under way. */
void preemption_runs_release(struct preemption_runs *r);

/* Begins. Without a client nothing happens. */
void preemption_runs_begin(struct preemption_runs *r, struct podinfo *preemptor,
			   const struct preemption_choice *choice);

/* The preemptor's victims are not all being deleted yet. */
bool preemption_runs_pending(const struct preemption_runs *r, struct str uid);

/* Of a profile with DefaultPreemption; else nothing. Hooks are copied. */
void preemption_set_hooks(struct profile *p, const struct preemption_hooks *hooks);

extern const struct plugin_kind plugin_default_preemption;

#endif
