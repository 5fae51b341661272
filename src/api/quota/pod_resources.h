/*
 * pod_resources - what a pod as a whole asks for, and what it is limited to.
 *
 * Containers are summed; init containers run one after the other, so that the largest of them
 * counts, beside the sidecars that were started before it. What the pod says as a whole takes the
 * place of what its containers say. Upstream's resource helper, for those who count: the server's
 * admission and the controller of quotas. Lists are in the arena and borrow from the pod; where its
 * limit leaves no room for them they lack amounts, and the arena says that it refused.
 */
#ifndef API_QUOTA_POD_RESOURCES_H
#define API_QUOTA_POD_RESOURCES_H

#include "api/quota/amount_list.h"

enum pod_resources {
	POD_RESOURCES_SPEC, /* as the spec has it, without overhead */
	/* With overhead; of a pod that is resized in place, the most of wanted and in force. */
	POD_RESOURCES_CHARGED,
};

struct amount_list pod_resources_requests(const struct json *pod, enum pod_resources how,
					  struct arena *a);
struct amount_list pod_resources_limits(const struct json *pod, enum pod_resources how,
					struct arena *a);

/* Whether the pod says something as a whole of processor, memory or huge pages. */
bool pod_resources_whole(const struct json *pod);

/* Whether it asks for nothing and is limited in nothing. */
bool pod_resources_best_effort(const struct json *pod);

#endif
