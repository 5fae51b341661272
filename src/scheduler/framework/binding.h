/*
 * binding - the binding of one pod, as plugins see it in pre_bind and bind.
 *
 * A step may be asynchronous: the plugin returns, and calls binding_done() later. run/binding_run.c
 * runs the steps. Threads: the scheduler's.
 */
#ifndef SCHEDULER_FRAMEWORK_BINDING_H
#define SCHEDULER_FRAMEWORK_BINDING_H

#include "scheduler/framework/cycle_state.h"

struct binding {
	struct cycle *cycle;
	struct str node; /* the pod's node; lives as long as the binding */
	bool cancelled;
	bool gone; /* the pod no longer exists on the server */
	bool doubted; /* the pod may be bound, although bind failed */
	void (*on_cancel)(void *arg, struct binding *b);
	void *cancel_arg;
	/* Set by the scheduler. It starts the next step. */
	void (*done)(struct binding *b, struct verdict v);
};

struct cycle *binding_cycle(struct binding *b);
struct podinfo *binding_pod(struct binding *b); /* the pod as it was scheduled, without a node */
struct str binding_node(struct binding *b);
/* Whether the pod was deleted or the scheduler stops. Then end soon, with any verdict. */
bool binding_cancelled(const struct binding *b);

/* Notes that the API server has no such pod, although the watch has not reported it yet. */
void binding_note_gone(struct binding *b);
/* Whether this was noted, or the pod's deletion has cancelled the binding. */
bool binding_gone(const struct binding *b);

/* Notes that bind fails without knowing whether the pod is bound. */
void binding_note_doubt(struct binding *b);
bool binding_doubted(const struct binding *b);

/* Ends the step that a plugin's pre_bind or bind began. May be called from within that function. */
void binding_done(struct binding *b, struct verdict v);
/* The same after a failed request, whose message becomes the reason. */
void binding_failed(struct binding *b, const struct error *why);

/*
 * `fn` is called at most once, if the binding is cancelled during the current step. The step must
 * still end with binding_done(). NULL: no callback. Reset with every step.
 */
void binding_on_cancel(struct binding *b, void (*fn)(void *arg, struct binding *b), void *arg);

#endif
