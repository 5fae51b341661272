/*
 * disruption - whether a PodDisruptionBudget lets a pod be evicted.
 *
 * A budget's controller counts how many of its pods may go (status.disruptionsAllowed). An
 * eviction takes one off and notes the pod, so that the next one, and the controller, know.
 */
#ifndef API_QUOTA_DISRUPTION_H
#define API_QUOTA_DISRUPTION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/error.h"

struct arena;
struct json;

/* Whether no budget matters to this pod: it has not begun, has ended, or goes already. */
bool disruption_is_free(const struct json *pod);

/* Whether the budget, of the pod's namespace, is about the pod. */
bool disruption_covers(const struct json *budget, const struct json *pod);

/* What a refusal tells along. */
struct disruption_refusal {
	const char *cause;
	/* Client libraries ask again by themselves when they are told when; 0: they are not. */
	int retry_after_s;
};

/*
 * Asks the budget. 0 with a merge patch for it in *ret_patch, or NULL when this eviction does not
 * count (a pod that is not ready anyway). -ERR_TOO_MANY_REQUESTS or -ERR_FORBIDDEN, with upstream's
 * words, and *ret_refusal.
 */
int disruption_check(struct arena *a, const struct json *budget, const struct json *pod,
		     int64_t now_ns, struct json **ret_patch,
		     struct disruption_refusal *ret_refusal, struct error *err);

/* Says in the status of a pod that it goes by an eviction: its condition DisruptionTarget. */
void disruption_mark(struct arena *a, struct json *pod, int64_t now_ns);

#endif
