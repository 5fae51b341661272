/*
 * binding - the binding of one pod, as plugins see it in pre_bind and bind.
 *
 * A step may take its time: the plugin returns, and calls binding_done() later. binding_run.c runs
 * the steps. Threads: the scheduler's.
 */
#ifndef SCHEDULER_FRAMEWORK_BINDING_H
#define SCHEDULER_FRAMEWORK_BINDING_H

#include "scheduler/framework/cycle_state.h"

struct binding {
	struct cycle *cycle;
	struct str node; /* the pod's node; lives as long as the binding */
	bool cancelled;
	bool gone; /* the server has no such pod */
	void (*on_cancel)(void *arg, struct binding *b);
	void *cancel_arg;
	/* Set by the scheduler, which goes on with the next step. */
	void (*done)(struct binding *b, struct verdict v);
};

struct cycle *binding_cycle(struct binding *b);
struct podinfo *binding_pod(struct binding *b); /* as it was decided on, without a node */
struct str binding_node(struct binding *b);
/* The pod was deleted, or the scheduler stops: end soon, with any verdict. */
bool binding_cancelled(const struct binding *b);

/* The API server has no such pod any more, though no watch has told so yet. */
void binding_note_gone(struct binding *b);
/* It was noted, or the pod's deletion has cancelled the binding. */
bool binding_gone(const struct binding *b);

/* Ends the step that a plugin's pre_bind or bind began. May be called from within it. */
void binding_done(struct binding *b, struct verdict v);
/* The same by a failed request: its message becomes the reason. */
void binding_failed(struct binding *b, const struct error *why);

/*
 * For a plugin's cancel: called when it is cancelled while the step is under way, at most once; it
 * must still end by binding_done(). NULL: not wanted. Reset with every step.
 */
void binding_on_cancel(struct binding *b, void (*fn)(void *arg, struct binding *b), void *arg);

#endif
