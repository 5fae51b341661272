/*
 * job_backoff - how long a Job waits until it replaces failed pods.
 *
 * 10 s after the first failure, then twice as long after each one, at most 10 minutes; a success
 * starts over. The time counts from the end of the pod that failed last. Pure: `now` is a
 * parameter; all times are wall clocks in nanoseconds.
 */
#ifndef CONTROLLER_JOB_BACKOFF_H
#define CONTROLLER_JOB_BACKOFF_H

#include "base/json/json.h"

enum { JOB_BACKOFF_BASE_S = 10, JOB_BACKOFF_MAX_S = 600 };

/* The failures since the last success. */
struct job_backoff {
	int64_t failures, last_ns;
};

/*
 * When the pod ended, by the first of these that is known: the end of its last container; when it
 * ceased to be ready; when its deletion began; its creation. 0: nothing is known.
 */
int64_t job_backoff_pod_end(const struct json *pod);

/* The record after pods that ended at these times have succeeded and failed. */
struct job_backoff job_backoff_after(struct job_backoff record, const int64_t *succeeded,
				     size_t nsucceeded, const int64_t *failed, size_t nfailed);

/* How long to wait; 0: not at all. */
int64_t job_backoff_wait_ns(struct job_backoff record, int64_t now_ns);

#endif
