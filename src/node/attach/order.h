/*
 * attach_order - sorts a kubelet's replies. Pure.
 *
 * A kubelet walks hash maps to build its replies, so devices, CPUs, memory and claims come in
 * another order each time. They are sets: once sorted, equal sets have equal bytes, so a different
 * order alone is not a change. Containers keep their order, which is the pod's.
 *
 * Sorts in place: arrays are reordered, the messages in them stay the same.
 */
#ifndef NODE_ATTACH_ORDER_H
#define NODE_ATTACH_ORDER_H

#include "podresources.pb-c.h"

void attach_order_pod(const Podresources__PodResources *pod);
void attach_order_list(const Podresources__ListResponse *list);
void attach_order_allocatable(const Podresources__AllocatableResponse *state);

#endif
