/*
 * disruption - whether a PodDisruptionBudget allows the eviction of a pod.
 *
 * A budget's controller counts how many of its pods may be evicted (status.disruptionsAllowed). An
 * eviction decrements it and records the pod, for the next eviction and for the controller.
 */
#ifndef API_QUOTA_DISRUPTION_H
#define API_QUOTA_DISRUPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/error.h"

struct arena;
struct json;

/* Whether no budget applies to this pod: it has not started, has ended, or is being deleted. */
bool disruption_is_free(const struct json *pod);

/* Whether the budget, of the pod's namespace, selects the pod. */
bool disruption_covers(const struct json *budget, const struct json *pod);

/* Details of a rejected eviction. */
struct disruption_refusal {
	const char *cause;
	/* Client libraries retry by themselves after this time; 0: no such hint. */
	int retry_after_s;
};

/*
 * Checks the budget. Returns 0 with a merge patch for the budget in *ret_patch, or NULL there if
 * this eviction does not count (the pod is not ready anyway). -ERR_TOO_MANY_REQUESTS or
 * -ERR_FORBIDDEN, with upstream's message and *ret_refusal.
 */
int disruption_check(struct arena *a, const struct json *budget, const struct json *pod,
		     int64_t now_ns, struct json **ret_patch,
		     struct disruption_refusal *ret_refusal, struct error *err);

/* Sets the pod's condition DisruptionTarget: it is being evicted. */
void disruption_mark(struct arena *a, struct json *pod, int64_t now_ns);

#endif
