/*
 * claim_sight - whether the user may know of claims in a namespace, before they are named.
 *
 * Statuses of slices name claims of all namespaces; who may not get ResourceClaims in one of them
 * is told only how many there are: "Allocated (1 claim)". Asks the server by
 * SelfSubjectAccessReview: once for all namespaces, and when that is denied once for each namespace
 * that is asked about. An answer holds for a minute. A server that cannot be asked counts as a no,
 * for a few seconds.
 */
#ifndef CLI_DEVICES_CLAIM_SIGHT_H
#define CLI_DEVICES_CLAIM_SIGHT_H

#include "base/core/arena.h"

struct clock;
struct kube;
struct claim_sight;

/* In the run's arena. Asks nothing yet. */
struct claim_sight *claim_sight_new(struct kube *k);

/* One that asks nobody: claims of these namespaces are to be seen, or of all. */
struct claim_sight *claim_sight_known(struct arena *a, bool all, const struct str *namespaces,
				      size_t n);

/*
 * One that asks a function: about a namespace, or, when it is empty, about all; a negative answer
 * means that it does not know. The clock is borrowed.
 */
struct claim_sight *claim_sight_asking(struct arena *a, const struct clock *clock,
				       int (*ask)(void *arg, struct str ns, bool *ret_may),
				       void *arg);

bool claim_sight_may(struct claim_sight *s, struct str ns);

/* The same for those who take any function; `sight` is a struct claim_sight. */
bool claim_sight_may_name(void *sight, struct str ns);

/*
 * A message of a pool's status: "ResourceClaim ns/a references ..", without the claim's name where
 * it may not be named. `may` NULL: all may be. Borrowed from the text, or in the arena.
 */
struct str claim_sight_message(struct arena *a, bool (*may)(void *arg, struct str ns), void *arg,
			       struct str text);

#endif
