/*
 * podres_leaf - the single things that a pod or a node has: devices, CPUs, blocks of memory,
 * devices of claims. Pure.
 *
 * Things are the same when they are named the same, whichever container of the pod has them: a
 * device by resource and id, a CPU by its number, memory by type, size and NUMA nodes, a device of
 * a claim by claim, driver, pool, device and share. A pod can have several of one name (a device
 * near two NUMA nodes, two equal blocks of memory); then they are counted.
 *
 * The things of a message are numbered from 0 in the order in which they stand in it.
 */
#ifndef NODE_BOOK_LEAF_H
#define NODE_BOOK_LEAF_H

#include "base/core/arena.h"
#include "podresources.pb-c.h"

/* What had been held before is lost or kept; what is there now is kept or gained. */
struct podres_diff {
	size_t lost, gained;
	/* Of each thing of the new message: held since; PODRES_NEW: gained. In the arena. */
	int64_t *since;
	size_t n;
};

#define PODRES_NEW INT64_MAX

/* `since` is of the old message; NULL: that is of no interest. Of equal things the oldest stay. */
struct podres_diff podres_diff_pods(Podresources__PodResources *old, const int64_t *since,
				    Podresources__PodResources *now, struct arena *a);
struct podres_diff podres_diff_allocatable(Podresources__AllocatableResponse *old,
					   Podresources__AllocatableResponse *now, struct arena *a);

/*
 * Takes what is held since later than `limit` out of the message, and entries that are left without
 * anything; containers stay. `since` is of each of its things.
 */
void podres_keep_older(Podresources__PodResources *pod, const int64_t *since, int64_t limit);

#endif
