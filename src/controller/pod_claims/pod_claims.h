/*
 * pod_claims - ResourceClaims of pods: made, kept reserved, and let go.
 *
 * Upstream's resource claim controller. Makes the claims that pods want from templates and tells
 * their names in the pods' status; reserves claims for pods that came to a node without the
 * scheduler; takes pods that are gone or finished out of status.reservedFor, and the allocation
 * with the last of them; lets claims under deletion go; deletes claims of pods that are done
 * with them. The rules are in pod_claims_decide.h.
 *
 * Follows pods, claims and templates. What happens to a pod costs its claims, what happens to a
 * claim its pods, what happens to a template the pods that name it; each is found by an index.
 * Where the server does not serve resource.k8s.io/v1 it waits until it does.
 */
#ifndef CONTROLLER_POD_CLAIMS_POD_CLAIMS_H
#define CONTROLLER_POD_CLAIMS_POD_CLAIMS_H

#include <stdbool.h>

struct context;
struct pod_claims;

/* Zero means the default. */
struct pod_claims_opts {
	unsigned workers; /* pods and claims worked on at once; 50 */
};

struct pod_claims *pod_claims_new(const struct context *ctx, const struct pod_claims_opts *opts);

/* What there is has been seen; also when the server has no such claims at all. */
bool pod_claims_synced(const struct pod_claims *c);

/* Gives up what is under way; the next controller begins anew. NULL allowed. */
void pod_claims_free(struct pod_claims *c);

#endif
