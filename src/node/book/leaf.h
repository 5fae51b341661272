/*
 * podres_leaf - the single things that a pod or a node has: devices, CPUs, memory blocks, claim
 * devices. Pure.
 *
 * Two things are the same if they have the same name, whichever container of the pod has them. A
 * device is named by resource and id, a CPU by its number, memory by type, size and NUMA nodes, a
 * claim device by claim, driver, pool, device and share. A pod can have several things of one name
 * (a device near two NUMA nodes, two equal memory blocks); then they are counted.
 *
 * The things of a message are numbered from 0, in the order of the message.
 */
#ifndef NODE_BOOK_LEAF_H
#define NODE_BOOK_LEAF_H

#include "base/core/arena.h"
#include "podresources.pb-c.h"

/*
 * The difference of two messages: things of the old one that are gone, things of the new one that
 * are new.
 */
struct podres_diff {
	size_t lost, gained;
	/* For each thing of the new message: held since; PODRES_NEW: gained. In the arena. */
	int64_t *since;
	size_t n;
};

#define PODRES_NEW INT64_MAX

/* `since` belongs to the old message; NULL if not needed. Among equal things the oldest stay. */
struct podres_diff podres_diff_pods(Podresources__PodResources *old, const int64_t *since,
				    Podresources__PodResources *now, struct arena *a);
struct podres_diff podres_diff_allocatable(Podresources__AllocatableResponse *old,
					   Podresources__AllocatableResponse *now, struct arena *a);

/*
 * Removes things that are held since a revision above `limit`, and entries that become empty.
 * Containers stay. `since` has an element for each thing of the message.
 */
void podres_keep_older(Podresources__PodResources *pod, const int64_t *since, int64_t limit);

#endif
