/*
 * attach_things - who has which device and CPU, among pods that a kubelet has told of. Pure.
 *
 * A device of a plugin and a CPU are with one pod at a time, whatever number of that pod's
 * containers show them: two pods that do are a contradiction. Devices of claims may be shared and
 * do not count. Memory has no identity: of it only the sums can be wrong.
 */
#ifndef NODE_ATTACH_THINGS_H
#define NODE_ATTACH_THINGS_H

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/map.h"
#include "podresources.pb-c.h"

struct attach_things {
	struct map owners; /* of things, by their names */
	struct arena arena;
	struct buf key;
};

/* A thing with two owners. */
struct attach_clash {
	const char *thing; /* for people; lives as long as the things */
	const void *owner; /* who was there first */
};

void attach_things_init(struct attach_things *t);
void attach_things_release(struct attach_things *t);

/*
 * Notes all that `pod` has as `owner`'s. False when another has a part of it already: *ret_clash
 * says what, that part stays the other's, and the rest is noted.
 */
bool attach_things_add(struct attach_things *t, const Podresources__PodResources *pod,
		       const void *owner, struct attach_clash *ret_clash);

/* The same of all devices and CPUs that a node could hand out. */
void attach_things_add_room(struct attach_things *t, const Podresources__AllocatableResponse *room,
			    const void *owner);

/* Whether all that the pod has was noted, whoever's it is. */
bool attach_things_cover(struct attach_things *t, const Podresources__PodResources *pod);

/* Takes what is another's out of `pod`. True when there was any. */
bool attach_things_strip(struct attach_things *t, Podresources__PodResources *pod,
			 const void *owner);

/*
 * Whether the memory of so many pods fits into `room`: each kind in all, and each NUMA node for
 * blocks of that node alone. A kind that the room does not have is not looked at.
 */
bool attach_things_memory_fits(const Podresources__AllocatableResponse *room,
			       const Podresources__PodResources *const *pods, size_t n);

static inline void attach_things_release_cleanup(struct attach_things *t)
{
	attach_things_release(t);
}

#endif
