/*
 * deployments - rolls out Deployments, by way of their ReplicaSets.
 *
 * Upstream's Deployment controller: RollingUpdate and Recreate, pause, scaling in proportion,
 * revisions and their history, hash collisions, progress deadline, conditions and events. It
 * follows Deployments and ReplicaSets, and for Recreate the ends of pods. It never plans with
 * ReplicaSets that are older than its own last write to them, so a stale cache never makes more
 * pods than allowed. deployment/plan.h has the rules.
 */
#ifndef CONTROLLER_DEPLOYMENT_DEPLOYMENTS_H
#define CONTROLLER_DEPLOYMENT_DEPLOYMENTS_H

#include <stdbool.h>

struct context;
struct deployments;

/* Zero means the default. */
struct deployments_opts {
	unsigned workers; /* Deployments processed at once; 5 */
};

struct deployments *deployments_new(const struct context *ctx, const struct deployments_opts *opts);

/* The initial state was seen. */
bool deployments_synced(const struct deployments *c);

/* Cancels work in progress; the next controller starts from scratch. NULL allowed. */
void deployments_free(struct deployments *c);

#endif
