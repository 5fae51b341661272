/*
 * pod_state - what controllers ask of a pod: whether it is active, ready, available.
 *
 * Each function takes a pod's tree. Pure.
 */
#ifndef CONTROLLER_PODS_POD_STATE_H
#define CONTROLLER_PODS_POD_STATE_H

#include "base/json/json.h"

/* Neither Succeeded nor Failed, and not being deleted. */
bool pod_state_active(const struct json *pod);

/* Succeeded or Failed. */
bool pod_state_finished(const struct json *pod);

/* Being deleted, and neither Succeeded nor Failed. */
bool pod_state_terminating(const struct json *pod);

bool pod_state_ready(const struct json *pod);

/* The wall clock when it became ready; 0: not ready, or unknown. */
int64_t pod_state_ready_since_ns(const struct json *pod);

/*
 * Whether it has been ready for min_ready_s. If only time is missing, *ret_wait_ns (may be NULL) is
 * how long; otherwise it is 0.
 */
bool pod_state_available(const struct json *pod, int64_t min_ready_s, int64_t now_ns,
			 int64_t *ret_wait_ns);

/*
 * Orders pods so that those to delete come first, by upstream's rules: not scheduled, pending or
 * unknown, not ready, lower deletion cost (controller.kubernetes.io/pod-deletion-cost), more pods
 * of the owner on its node, ready for a shorter time, more restarts, created later. Times are
 * compared by the logarithm of their age; equal ones are ordered by uid, which is random.
 */
struct pod_rank {
	const struct json *pod;
	size_t beside; /* active pods of the owner on its node */
	int64_t now_ns; /* wall clock, the same for all; 0: compare times exactly */
};
int pod_rank_compare(const void *a, const void *b); /* struct pod_rank; for qsort() */

#endif
