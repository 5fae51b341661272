/*
 * evict - an eviction and the disruption budget of its pod.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_VERBS_EVICT_H
#define SERVER_VERBS_EVICT_H

#include "base/core/error.h"

struct json;
struct admission_request;

/*
 * Whether the pod, as it is stored, may be evicted. Where its budget must be told first, that is
 * written and the write is parked; it is then decided anew, and this says 0.
 * -ERR_TOO_MANY_REQUESTS when the budget is used up.
 */
int evict_ask_budget(struct admission_request *req, const struct json *pod, struct error *err);

#endif
