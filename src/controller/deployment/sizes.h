/*
 * deployment_sizes - arithmetic of a rollout: how large each ReplicaSet of a Deployment should be.
 *
 * The rules are upstream's. Pure: numbers in, numbers out. All numbers are within 0 and INT32_MAX;
 * deployment_bounded() makes them so.
 */
#ifndef CONTROLLER_DEPLOYMENT_SIZES_H
#define CONTROLLER_DEPLOYMENT_SIZES_H

#include "base/json/json.h"

/* A member of an object within 0 and INT32_MAX; `absent` if it is not an integer. */
int64_t deployment_bounded(const struct json *object, const char *key, int64_t absent);

/* The limits of a rollout, from spec.strategy.rollingUpdate. */
struct deployment_limits {
	int64_t replicas;
	int64_t surge; /* pods more than replicas */
	int64_t unavailable; /* pods less than replicas that may be unavailable */
	bool rolling; /* false: Recreate; surge and unavailable are 0 */
};

/*
 * Percentages are of spec.replicas: surge is rounded up, unavailable down. If both are 0, one pod
 * may be unavailable. Values that are not valid count as 0.
 */
struct deployment_limits deployment_limits(const struct json *spec);

/* One ReplicaSet, as far as sizes depend on it. */
struct deployment_size {
	int64_t replicas; /* of its spec; changed in place */
	int64_t available; /* of its status */
	bool lagging; /* its status is older than its spec, so nothing is sure about `available` */
	int64_t max; /* replicas and surge when it was scaled last; 0: unknown */
};

/* How large the new ReplicaSet should be, given the replicas of all, including itself. */
int64_t deployment_new_size(const struct deployment_limits *l, int64_t all, int64_t now);

/*
 * Shrinks old ReplicaSets, ordered from old to new: first their replicas that are not available,
 * then as many as availability allows. `now` is the new ReplicaSet. Returns by how many.
 */
int64_t deployment_shrink_old(const struct deployment_limits *l, const struct deployment_size *now,
			      struct deployment_size **old, size_t n);

/*
 * Spreads a change of spec.replicas over all active ReplicaSets in proportion to their sizes. They
 * are ordered from large to small. `was` is status.replicas of the Deployment, for ReplicaSets that
 * do not know their `max`.
 */
void deployment_scale_proportionally(const struct deployment_limits *l,
				     struct deployment_size **active, size_t n, int64_t was);

#endif
