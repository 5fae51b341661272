/*
 * cluster_attach - `devplane node --attach` in a simulated cluster: an agent beside each node's
 * kubelet. It calls the kubelet's PodResources socket and serves the watches on a socket of its
 * own. The node's own agent is the kubelet of the first node; on the others cluster_kubelet.h
 * answers for it, with a kubelet's manners.
 */
#ifndef SIM_CLUSTER_ATTACH_H
#define SIM_CLUSTER_ATTACH_H

#include "cluster_driver.h"
#include "cluster_role.h"

#define CLUSTER_ATTACH_SOCKET   "pod-resources/devplane.sock"
#define CLUSTER_KUBELET_SOCKET  "pod-resources/kubelet.sock"
#define CLUSTER_UPSTREAM_SOCKET "pod-resources/upstream.sock"

/* role->arg of an attached agent. */
struct cluster_attach {
	const struct cluster_hardware *hardware; /* of its node */
	const char *kubelet; /* path of the socket that it calls */
};

extern const struct cluster_role_ops cluster_attach_ops;

/* As /readyz: 0, or the reason why it is behind. */
int cluster_attach_ready(const struct cluster_role *role, struct error *err);

#endif
