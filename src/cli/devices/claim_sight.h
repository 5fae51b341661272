/*
 * claim_sight - whether the user may see claims of a namespace, before they are named.
 *
 * The status of slices names claims of all namespaces. A user who may not get ResourceClaims in
 * one of them only sees their number: "Allocated (1 claim)". It sends a SelfSubjectAccessReview
 * for all namespaces and, if that is denied, one for each namespace in question. Answers are
 * cached for a minute. If a review fails, the answer is no, for a few seconds.
 */
#ifndef CLI_DEVICES_CLAIM_SIGHT_H
#define CLI_DEVICES_CLAIM_SIGHT_H

#include "base/core/arena.h"

struct clock;
struct kube;
struct claim_sight;

/* In the run's arena. Sends no request yet. */
struct claim_sight *claim_sight_new(struct kube *k);

/* Without requests: the claims of these namespaces, or of all, may be seen. */
struct claim_sight *claim_sight_known(struct arena *a, bool all, const struct str *namespaces,
				      size_t n);

/*
 * With a function that answers for a namespace, or for all if `ns` is empty. A negative return
 * value means unknown. The clock is borrowed.
 */
struct claim_sight *claim_sight_asking(struct arena *a, const struct clock *clock,
				       int (*ask)(void *arg, struct str ns, bool *ret_may),
				       void *arg);

bool claim_sight_may(struct claim_sight *s, struct str ns);

/* The same as a callback; `sight` is a struct claim_sight. */
bool claim_sight_may_name(void *sight, struct str ns);

/*
 * A message of a pool's status, "ResourceClaim ns/a references ..", without the claim's name if it
 * may not be named. If `may` is NULL, all may be. Borrowed from the text, or in the arena.
 */
struct str claim_sight_message(struct arena *a, bool (*may)(void *arg, struct str ns), void *arg,
			       struct str text);

#endif
