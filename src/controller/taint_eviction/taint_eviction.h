/*
 * taint_eviction - deletes pods from devices that are tainted with effect NoExecute.
 *
 * What upstream's device taint eviction controller does, with its words: at its time
 * (taint_eviction/book.h) a pod gets the condition DisruptionTarget and an event, and is deleted
 * with its uid as precondition. DeviceTaintRules are told in their status how far it is, at most
 * every ten seconds each. Nothing has to be remembered: all times come from objects. Threads: the
 * context's loop.
 */
#ifndef CONTROLLER_TAINT_EVICTION_TAINT_EVICTION_H
#define CONTROLLER_TAINT_EVICTION_TAINT_EVICTION_H

#include <stdbool.h>

struct context;
struct devices;
struct taint_eviction;

struct taint_eviction_opts {
	unsigned workers; /* pods and rules at work at once; 8 */
};

/* The devices must outlive it, and follow rules where they are served. */
struct taint_eviction *taint_eviction_new(const struct context *ctx, struct devices *devices,
					  const struct taint_eviction_opts *opts);

/* All that there is has been seen. */
bool taint_eviction_synced(const struct taint_eviction *t);

/* NULL allowed. */
void taint_eviction_free(struct taint_eviction *t);

#endif
