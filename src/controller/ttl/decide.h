/*
 * ttl_decide - when a finished Job is to be deleted (spec.ttlSecondsAfterFinished).
 *
 * Pure: `now` is a parameter.
 */
#ifndef CONTROLLER_TTL_DECIDE_H
#define CONTROLLER_TTL_DECIDE_H

#include <stdbool.h>
#include <stdint.h>

struct json;

/*
 * Whether the Job has finished, has a TTL and is not being deleted. Then *ret_left_ns is the time
 * until its deletion, at most 0 if it is due. A Job without a valid time of its end is kept.
 */
bool ttl_decide(const struct json *job, int64_t now_ns, int64_t *ret_left_ns);

#endif
