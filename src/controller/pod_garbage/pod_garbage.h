/*
 * pod_garbage - deletes pods that nobody else will delete.
 *
 * It does the same as upstream's pod garbage collector, for the same pods: orphans, whose node does
 * not exist (40 s after that was first seen, and if the server confirms it then); pods that were
 * deleted before they came to a node; deleted pods on a node that is out of service and not ready;
 * and the oldest finished pods above a threshold. A pod that has not finished becomes Failed
 * first, an orphan with condition DisruptionTarget. The deletion has no grace period.
 *
 * Upstream looks at all pods every 20 s. Here, an event of a pod costs a few fields and lookups; an
 * event of a node costs the pods of that node if it appears, goes, or changes its taints or
 * readiness. Finished pods are kept in order and counted after `period_ms`, while there are too
 * many. Threads: the context's loop.
 */
#ifndef CONTROLLER_POD_GARBAGE_POD_GARBAGE_H
#define CONTROLLER_POD_GARBAGE_POD_GARBAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct context;
struct pod_garbage;

/* Zero means the default. */
struct pod_garbage_opts {
	int64_t threshold; /* finished pods to keep; 12500; negative: all */
	int64_t period_ms; /* 20 s */
	int64_t quarantine_ms; /* 40 s */
	unsigned workers; /* pods and nodes processed at once; 20 */
};

struct pod_garbage *pod_garbage_new(const struct context *ctx, const struct pod_garbage_opts *opts);

/* The initial state was seen. */
bool pod_garbage_synced(const struct pod_garbage *g);

/* NULL allowed. */
void pod_garbage_free(struct pod_garbage *g);

#endif
