/*
 * replica_sets - keeps as many pods as each ReplicaSet asks for.
 *
 * Upstream's ReplicaSet controller: it adopts and releases pods, creates them slowly at first,
 * deletes those that are worth least, and keeps the status with the condition ReplicaFailure. It
 * follows ReplicaSets and pods; indexes find the pods of a ReplicaSet and the ReplicaSets that may
 * adopt an orphan. A pod's text is parsed once per version, not at each sync.
 */
#ifndef CONTROLLER_REPLICA_SET_REPLICA_SETS_H
#define CONTROLLER_REPLICA_SET_REPLICA_SETS_H

#include <stdbool.h>

struct context;
struct replica_sets;

/* Zero means the default. */
struct replica_sets_opts {
	unsigned workers; /* ReplicaSets processed at once; 5 */
};

struct replica_sets *replica_sets_new(const struct context *ctx,
				      const struct replica_sets_opts *opts);

/* The initial state was seen. */
bool replica_sets_synced(const struct replica_sets *c);

/* Cancels work in progress; the next controller starts from scratch. NULL allowed. */
void replica_sets_free(struct replica_sets *c);

#endif
