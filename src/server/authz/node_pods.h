/*
 * node_pods - which pods a node has, and what they refer to.
 *
 * The index is kept as pods change; what a pod refers to is read from its text only
 * when somebody asks, and most pods are passed by without being parsed because the
 * name that is asked for does not occur in them.
 * Threads: the state's loop.
 */
#ifndef SERVER_AUTHZ_NODE_PODS_H
#define SERVER_AUTHZ_NODE_PODS_H

#include "base/core/str.h"

struct node_pods;
struct object;

enum node_pods_what {
	NODE_PODS_SECRET,
	NODE_PODS_CONFIG_MAP,
	NODE_PODS_VOLUME_CLAIM,
	NODE_PODS_RESOURCE_CLAIM,
	NODE_PODS_ACCOUNT,
};

struct node_pods *node_pods_new(void);
void node_pods_free(struct node_pods *p);
void node_pods_reset(struct node_pods *p);

/* As an observer of pods is told. */
void node_pods_change(struct node_pods *p, struct object *now, struct object *before);

/* Whether a pod of the node, in `ns`, refers to such an object. Mirror pods do not count. */
bool node_pods_refer(struct node_pods *p, struct str node, enum node_pods_what what, struct str ns,
		     struct str name);

/* Whether the pod is bound to the node. */
bool node_pods_has(struct node_pods *p, struct str node, struct str ns, struct str name);

/*
 * Calls for each claim of a volume that a pod of the node has, mirror pods left out, until
 * `fn` returns true; then it is true.
 */
bool node_pods_each_volume_claim(struct node_pods *p, struct str node,
				 bool (*fn)(void *arg, struct str ns, struct str claim), void *arg);

#endif
