/*
 * node_taints - deletes pods from nodes that have taints of effect NoExecute.
 *
 * It does the same as upstream's taint eviction controller: a pod that does not tolerate a taint is
 * deleted at once, others when the shortest tolerationSeconds are over (node_taints/decide.h).
 * Before, the pod gets the condition DisruptionTarget and an event. If the taint goes first, an
 * event says that nothing happens. All times come from objects, so nothing has to survive a
 * restart. Evictions are not limited in rate: the node lifecycle controller limits the taints.
 *
 * Costs: an event of a pod whose node has no such taint costs one field and one lookup. A change of
 * a node's taints costs the pods of that node; other changes of nodes cost a comparison of texts.
 * Threads: the context's loop.
 */
#ifndef CONTROLLER_NODE_TAINTS_NODE_TAINTS_H
#define CONTROLLER_NODE_TAINTS_NODE_TAINTS_H

#include <stdbool.h>

struct context;
struct node_taints;

struct node_taints *node_taints_new(const struct context *ctx, unsigned workers /* 0: 8 */);

/* The initial state was seen. */
bool node_taints_synced(const struct node_taints *t);

/* NULL allowed. */
void node_taints_free(struct node_taints *t);

#endif
