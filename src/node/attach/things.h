/*
 * attach_things - which pod has which device and CPU, among the pods of a kubelet's replies. Pure.
 *
 * A plugin device and a CPU belong to one pod at a time, however many containers of that pod list
 * them. If two pods list one, the reply contradicts itself. Claim devices may be shared and do not
 * count. Memory has no identity, so only its sums can be wrong.
 */
#ifndef NODE_ATTACH_THINGS_H
#define NODE_ATTACH_THINGS_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/map.h"
#include "podresources.pb-c.h"

struct attach_things {
	struct map owners; /* by name of the thing */
	struct arena arena;
	struct buf key;
};

/* A thing with two owners. */
struct attach_clash {
	const char *thing; /* for messages; lives as long as the struct attach_things */
	const void *owner; /* the first owner */
};

void attach_things_init(struct attach_things *t);
void attach_things_release(struct attach_things *t);

/*
 * Records everything in `pod` for `owner`. Returns false if another owner has a part of it already:
 * *ret_clash describes it, that part stays with the other owner, and the rest is recorded.
 */
bool attach_things_add(struct attach_things *t, const Podresources__PodResources *pod,
		       const void *owner, struct attach_clash *ret_clash);

/* The same for all devices and CPUs of the node's allocatable. */
void attach_things_add_room(struct attach_things *t, const Podresources__AllocatableResponse *room,
			    const void *owner);

/* Whether everything in the pod is recorded, for any owner. */
bool attach_things_cover(struct attach_things *t, const Podresources__PodResources *pod);

/* Removes things of other owners from `pod`. Returns true if there were any. */
bool attach_things_strip(struct attach_things *t, Podresources__PodResources *pod,
			 const void *owner);

/*
 * Whether the memory of these pods fits into `room`: each kind in total, and each NUMA node for
 * blocks of that node alone. Kinds that `room` does not have are ignored.
 */
bool attach_things_memory_fits(const Podresources__AllocatableResponse *room,
			       const Podresources__PodResources *const *pods, size_t n);

static inline void attach_things_release_cleanup(struct attach_things *t)
{
	attach_things_release(t);
}

#endif
