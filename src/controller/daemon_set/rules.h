/*
 * daemon_rules - which nodes a DaemonSet's template wants, and the pod for one node.
 *
 * The rules are upstream's. A pod runs on a node if the template's nodeName, nodeSelector and
 * required node affinity match it and the pod tolerates the node's taints with effect NoSchedule
 * and NoExecute. A pod that is there already stays unless a taint NoExecute is not tolerated or the
 * node no longer matches. Every pod tolerates the conditions of a node that is in trouble. The
 * scheduler binds the pod, because its required affinity names the node.
 *
 * Pure.
 */
#ifndef CONTROLLER_DAEMON_SET_RULES_H
#define CONTROLLER_DAEMON_SET_RULES_H

#include "api/selector/node_selector.h"

struct owner;

#define DAEMON_HASH_LABEL STR("controller-revision-hash")

/* The members of a node that count; borrowed. */
struct daemon_node {
	struct str name;
	const struct json *labels, *taints; /* or NULL */
};

/* Made from a template; lives in the arena and borrows from the template. */
struct daemon_rules {
	struct str node_name;
	const struct json *labels; /* the template's nodeSelector */
	struct node_selector affinity;
	bool has_affinity, broken; /* broken: the affinity cannot be read, so it matches no node */
	const struct json *tolerations; /* the template's and our own */
};

void daemon_rules_read(struct arena *a, const struct json *template, struct daemon_rules *ret);

enum daemon_fit {
	DAEMON_UNFIT, /* no pod may be there */
	DAEMON_STAYS, /* a pod that is there stays; none is created */
	DAEMON_RUNS, /* a pod should be there */
};
enum daemon_fit daemon_rules_fit(const struct daemon_rules *r, const struct daemon_node *node);

/*
 * The tolerations of the pods: the template's and our own. One of ours replaces an equal one of the
 * template that has a time limit.
 */
struct json *daemon_tolerations(struct arena *a, const struct json *template);

/*
 * The pod for this node. `revision` is the value of the label controller-revision-hash. The name is
 * made from the owner, the node, the revision and `attempt` alone. So a creation that is repeated,
 * even by another process that does not know of the first one, never makes a second pod. After a
 * failed pod another attempt begins: its name is not used again.
 */
struct json *daemon_pod_make(struct arena *a, const struct json *template,
			     const struct owner *owner, struct str node, struct str revision);
struct str daemon_pod_name(struct arena *a, const struct owner *owner, struct str node,
			   struct str revision, unsigned attempt);

/* The node that the spec of a pod names: where it is bound, or by its affinity; or empty. */
struct str daemon_pod_node(const struct json *pod_spec);

#endif
