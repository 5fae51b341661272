/*
 * podres_make - parts of PodResources' messages, in an arena with their text. For podres_view.c.
 */
#ifndef NODE_PODRESOURCES_MAKE_H
#define NODE_PODRESOURCES_MAKE_H

#include "base/core/arena.h"
#include "base/core/vec.h"
#include "podresources.pb-c.h"

struct assign_claim_device;
struct cpu_set;
struct memory_block;

/* A list of devices that grows; begins with the arena and an empty vector. */
struct podres_devices {
	struct arena *a;
	VEC(Podresources__ContainerDevices *) v;
	struct str last; /* the resource of the last one, borrowed, and its copy */
	char *resource;
};

/* One entry per NUMA node; without nodes, one without a topology. */
void podres_add_device(struct podres_devices *d, struct str resource, struct str id,
		       const int64_t *nodes, size_t n);

/* The array in the arena; the vector is released. */
Podresources__ContainerDevices **podres_take_devices(struct podres_devices *d, size_t *ret_n);

int64_t *podres_make_cpus(const struct cpu_set *cpus, struct arena *a, size_t *ret_n);

/* Blocks without bytes are left out. */
Podresources__ContainerMemory **podres_make_memory(const struct memory_block *blocks, size_t n,
						   struct arena *a, size_t *ret_n);

Podresources__ClaimResource *podres_make_claim_resource(const struct assign_claim_device *d,
							struct arena *a);

#endif
