/*
 * binding - a pod's way from the decision to the node: permit, pre_bind, bind, post_bind.
 *
 * Begins after the pod was assumed and reserved. Each step may take its time; other pods are
 * scheduled meanwhile. Whatever fails is undone: plugins unreserve in reverse order, the pod
 * is forgotten by the cache, and it goes back to the queue. A pod that is deleted on the way is
 * cancelled at its next step.
 * Threads: the scheduler's.
 */
#ifndef SCHEDULER_BINDING_H
#define SCHEDULER_BINDING_H

#include "scheduler/cycle.h"
#include "scheduler/verdict.h"

struct binding;

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
