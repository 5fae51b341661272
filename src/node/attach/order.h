/*
 * attach_order - a kubelet's answers, in one order. Pure.
 *
 * A kubelet walks hash maps to make its answers, so devices, CPUs, memory and claims come in
 * another order each time. They are sets: in order, what is the same has the same bytes, and what
 * was told by another order alone is no change. Containers keep their order, which is the pod's.
 *
 * Sorted in place: the messages themselves stay as they are, their arrays do not.
 */
#ifndef NODE_ATTACH_ORDER_H
#define NODE_ATTACH_ORDER_H

#include "podresources.pb-c.h"

void attach_order_pod(const Podresources__PodResources *pod);
void attach_order_list(const Podresources__ListResponse *list);
void attach_order_allocatable(const Podresources__AllocatableResponse *state);

#endif
