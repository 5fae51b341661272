/*
 * claim_sight - whether the user may know of claims in a namespace, before they are named.
 *
 * Statuses of slices name claims of all namespaces; who may not get ResourceClaims in one of them
 * is told only how many there are: "Allocated (1 claim)". Asks the server by
 * SelfSubjectAccessReview: once for all namespaces, and when that is denied once for each namespace
 * that is asked about. A server that cannot be asked counts as a no.
 */
#ifndef CLI_CLAIM_SIGHT_H
#define CLI_CLAIM_SIGHT_H

#include "base/arena.h"

struct kube;
struct claim_sight;

/* In the run's arena. Asks nothing yet. */
struct claim_sight *claim_sight_new(struct kube *k);

/* One that asks nobody: claims of these namespaces are to be seen, or of all. */
struct claim_sight *claim_sight_known(struct arena *a, bool all, const struct str *namespaces,
				      size_t n);

bool claim_sight_may(struct claim_sight *s, struct str ns);

#endif
