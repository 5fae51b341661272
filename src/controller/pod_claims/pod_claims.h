/*
 * pod_claims - creates, reserves and releases the ResourceClaims of pods.
 *
 * Upstream's resource claim controller:
 * - creates the claims that pods request from templates, and writes their names to the pods'
 *   status;
 * - reserves claims for pods that were bound to a node without the scheduler;
 * - removes deleted and finished pods from status.reservedFor, and the allocation with the last;
 * - removes its finalizer from claims that are being deleted;
 * - deletes claims whose pods are done with them. The rules are in pod_claims/decide.h.
 *
 * It follows pods, claims and templates. A change of a pod costs its claims, a change of a claim
 * its pods, and a change of a template the pods that name it. Indexes find each of them. If the
 * server does not serve resource.k8s.io/v1, the controller waits until it does.
 */
#ifndef CONTROLLER_POD_CLAIMS_POD_CLAIMS_H
#define CONTROLLER_POD_CLAIMS_POD_CLAIMS_H

#include <stdbool.h>

struct context;
struct pod_claims;

/* Zero means the default. */
struct pod_claims_opts {
	unsigned workers; /* pods and claims processed at once; 50 */
};

struct pod_claims *pod_claims_new(const struct context *ctx, const struct pod_claims_opts *opts);

/* The initial state was seen; also true if the server does not serve claims at all. */
bool pod_claims_synced(const struct pod_claims *c);

/* Cancels work in progress; the next controller starts from scratch. NULL allowed. */
void pod_claims_free(struct pod_claims *c);

#endif
