/*
 * cluster_node - the node agents of a simulated cluster: the real one, with the hollow runtime, on
 * a real folder whose state files are written in the turns of its loop.
 */
#ifndef SIM_CLUSTER_NODE_H
#define SIM_CLUSTER_NODE_H

#include "base/core/str.h"
#include "cluster_role.h"

struct arena;
struct podres;

/* role->arg of a node; NULL: all is false. */
struct cluster_node_config {
	bool static_cpus; /* Guaranteed containers have CPUs of their own */
};

extern const struct cluster_role_ops cluster_node_ops;

/* A claim in the agent's log of assignments. */
struct cluster_node_claim {
	struct str uid, driver, pool, device; /* one of its devices */
};

/* Calls `fn` for every device of every claim in the log; text is borrowed until return. */
void cluster_node_each(const struct cluster_role *role, struct arena *a,
		       void (*fn)(void *arg, const struct cluster_node_claim *c), void *arg);

/* Calls `fn` with the pod's uid for every card of a device plugin that a pod holds. */
void cluster_node_each_card(const struct cluster_role *role, struct arena *a,
			    void (*fn)(void *arg, struct str pod, struct str id), void *arg);

/* Pods that have not ended, in the log of assignments. */
size_t cluster_node_pods(const struct cluster_role *role);

/* Whether the agent knows this pod from the API. */
bool cluster_node_knows(const struct cluster_role *role, struct str ns, struct str name,
			struct str uid);

/* Its PodResources list; NULL: it does not run. */
struct podres *cluster_node_book(const struct cluster_role *role);

#endif
