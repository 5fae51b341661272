/*
 * taint_eviction - deletes pods from devices that are tainted with effect NoExecute.
 *
 * It does the same as upstream's device taint eviction controller, with the same messages. When a
 * pod's time has come (taint_eviction/book.h), it gets the condition DisruptionTarget and an
 * event, and is deleted with its uid as precondition. The status of each DeviceTaintRule shows the
 * progress; it is written at most every ten seconds. Nothing has to survive a restart: all times
 * come from objects. Threads: the context's loop.
 */
#ifndef CONTROLLER_TAINT_EVICTION_TAINT_EVICTION_H
#define CONTROLLER_TAINT_EVICTION_TAINT_EVICTION_H

#include <stdbool.h>

struct context;
struct devices;
struct taint_eviction;

struct taint_eviction_opts {
	unsigned workers; /* pods and rules processed at once; 8 */
};

/* `devices` must outlive it, and follow rules if they are served. */
struct taint_eviction *taint_eviction_new(const struct context *ctx, struct devices *devices,
					  const struct taint_eviction_opts *opts);

/* The initial state was seen. */
bool taint_eviction_synced(const struct taint_eviction *t);

/* NULL allowed. */
void taint_eviction_free(struct taint_eviction *t);

#endif
