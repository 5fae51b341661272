/*
 * node_pods - the pods of each node, and the objects that they refer to.
 *
 * The index is updated as pods change. References are read from a pod's text only when needed,
 * and most pods are skipped without parsing because the name in question does not occur in their
 * text.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_AUTHZ_NODE_PODS_H
#define SERVER_AUTHZ_NODE_PODS_H

#include "api/check/pod_refs.h"
#include "base/core/str.h"

struct node_pods;
struct object;

struct node_pods *node_pods_new(void);
void node_pods_free(struct node_pods *p);
void node_pods_reset(struct node_pods *p);

/* For an observer of pods; the arguments are those of state_observer.changed. */
void node_pods_change(struct node_pods *p, struct object *now, struct object *before);

/* Whether a pod of the node, in `ns`, refers to that object. Mirror pods do not count. */
bool node_pods_refer(struct node_pods *p, struct str node, enum pod_refs_what what, struct str ns,
		     struct str name);

/* Whether the pod is bound to the node. */
bool node_pods_has(struct node_pods *p, struct str node, struct str ns, struct str name);

/*
 * Calls `fn` for each volume claim of the node's pods, except mirror pods, until it returns true.
 * Returns whether it did.
 */
bool node_pods_each_volume_claim(struct node_pods *p, struct str node,
				 bool (*fn)(void *arg, struct str ns, struct str claim), void *arg);

#endif
