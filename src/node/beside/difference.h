/*
 * beside_difference - differences between a kubelet's reports of device health and ours. Pure.
 *
 * Both are statuses with allocatedResourcesStatus (KEP-4680). Devices are compared by their id.
 * Devices that only one of them has do not count: a kubelet may have the feature off. Neither do
 * containers that have ended: ours is the health at their end (device_status.h). A difference
 * counts once it has lasted for a grace period, because a kubelet writes a pod's status some time
 * after a driver's report.
 */
#ifndef NODE_BESIDE_DIFFERENCE_H
#define NODE_BESIDE_DIFFERENCE_H

#include "base/core/str.h"
#include "base/json/json.h"
#include "node/assign/assign.h"

struct beside_difference {
	char *id;
	enum assign_health kubelet, driver;
	int64_t since_ms;
	bool counted;
	bool seen; /* in the last comparison */
};

/* Those of one pod. */
struct beside_differences {
	struct beside_difference *v;
	size_t n;
	size_t counted;
};

/* Reports a difference that counts, or one that counted and is over. Texts are borrowed. */
typedef void beside_difference_tell(void *arg, const struct beside_difference *d, bool over);

/* Compares. A new or other difference begins now. A missing status is NULL. */
void beside_differences_compare(struct beside_differences *d, const struct json *kubelet,
				const struct json *ours, int64_t now_ms,
				beside_difference_tell *tell, void *arg);
/* Counts those that are due. Returns when the next one is; INT64_MAX: none. */
int64_t beside_differences_due(struct beside_differences *d, int64_t grace_ms, int64_t now_ms,
			       beside_difference_tell *tell, void *arg);
void beside_differences_release(struct beside_differences *d);

#endif
