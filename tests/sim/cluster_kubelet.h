/*
 * cluster_kubelet - PodResources of a node's agent as a kubelet upstream would answer it. A kubelet
 * cannot run here, so this one is made up: it has the agent's state and a kubelet's manners.
 *
 *  - Answers have no revision, and their pods and devices are in another order each time.
 *  - Only pods that the kubelet knows from the API are listed. After a restart it knows none at
 *    first, and a pod that was deleted at once is gone from the list while it still runs.
 *  - A List is put together over some time, so that it may show a thing with two pods.
 *  - Calls are refused now and then by the rate limit. In some worlds there is no Get.
 */
#ifndef SIM_CLUSTER_KUBELET_H
#define SIM_CLUSTER_KUBELET_H

#include "cluster_role.h"

/* role->arg of it. */
struct cluster_kubelet {
	const struct cluster_role *node;
	char socket[256]; /* path */
	bool no_get;
};

extern const struct cluster_role_ops cluster_kubelet_ops;

#endif
