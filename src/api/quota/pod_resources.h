/*
 * pod_resources - the requests and limits of a pod as a whole.
 *
 * Containers are summed. Init containers run one after the other, so the largest of them counts,
 * plus the sidecars started before it. Pod-level resources replace those of the containers. This is
 * upstream's resource helper, for the server's admission and the controller of quotas. Lists are in
 * the arena and borrow from the pod. If the arena's limit is reached, they lack amounts, and the
 * arena records that it refused memory.
 */
#ifndef API_QUOTA_POD_RESOURCES_H
#define API_QUOTA_POD_RESOURCES_H

#include "api/quota/amount_list.h"

enum pod_resources {
	POD_RESOURCES_SPEC, /* as in the spec, without overhead */
	/*
	 * With overhead. For a pod that is resized in place: the larger of wanted and actual
	 * resources.
	 */
	POD_RESOURCES_CHARGED,
};

struct amount_list pod_resources_requests(const struct json *pod, enum pod_resources how,
					  struct arena *a);
struct amount_list pod_resources_limits(const struct json *pod, enum pod_resources how,
					struct arena *a);

/* Whether the pod sets pod-level CPU, memory or huge pages. */
bool pod_resources_whole(const struct json *pod);

/* Whether it has neither requests nor limits. */
bool pod_resources_best_effort(const struct json *pod);

#endif
