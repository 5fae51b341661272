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
 * Returns 0 if the stored pod may be evicted. If its disruption budget must record the eviction
 * first, writes the budget and parks the request; when the request is decided again, this returns
 * 0. -ERR_TOO_MANY_REQUESTS if the budget allows no disruption.
 */
int evict_ask_budget(struct admission_request *req, const struct json *pod, struct error *err);

#endif
