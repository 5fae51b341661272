/*
 * podres_make - builds parts of PodResources messages in an arena, text included. For view.c.
 */
#ifndef NODE_PODRESOURCES_MAKE_H
#define NODE_PODRESOURCES_MAKE_H

#include "base/core/arena.h"
#include "base/core/vec.h"
#include "podresources.pb-c.h"

struct assign_claim_device;
struct cpu_set;
struct memory_block;

/* A growing list of devices; initialize it with the arena and an empty vector. */
struct podres_devices {
	struct arena *a;
	VEC(Podresources__ContainerDevices *) v;
	struct str last; /* the resource of the last device, borrowed, and its copy */
	char *resource;
};

/* Adds one entry per NUMA node; without nodes, one entry without a topology. */
void podres_add_device(struct podres_devices *d, struct str resource, struct str id,
		       const int64_t *nodes, size_t n);

/* Returns the array, in the arena, and releases the vector. */
Podresources__ContainerDevices **podres_take_devices(struct podres_devices *d, size_t *ret_n);

int64_t *podres_make_cpus(const struct cpu_set *cpus, struct arena *a, size_t *ret_n);

/* Blocks of 0 bytes are left out. */
Podresources__ContainerMemory **podres_make_memory(const struct memory_block *blocks, size_t n,
						   struct arena *a, size_t *ret_n);

Podresources__ClaimResource *podres_make_claim_resource(const struct assign_claim_device *d,
							struct arena *a);

#endif
