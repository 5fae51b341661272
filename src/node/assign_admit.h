/*
 * assign_admit - what the parts of one admission share; for assign_*.c only.
 */
#ifndef NODE_ASSIGN_ADMIT_H
#define NODE_ASSIGN_ADMIT_H

#include "node/assign_impl.h"
#include "node/topology.h"

/* One pod on its way in. What is made for it lives in the arena. */
struct admitting {
	struct assign *s;
	const struct pod *pod;
	struct pod_rec *rec; /* not in the log yet, unless the pod uses claims already */
	struct arena *a;
	struct assign_admission *io;
	struct topology_hint affinity; /* of the container at hand */
};

struct device_list {
	struct device_rec **v;
	size_t n;
};

/* Devices by the container's affinity; each in one list, by id. */
struct device_split {
	struct device_list aligned, unaligned, anywhere;
};

/* What the pod's init containers that came before have, and no other container of it took. */
struct device_list assign_reusable(const struct admitting *in, const struct resource_rec *r);

/* Healthy and held by nobody; by id. */
struct device_list assign_available(const struct admitting *in, const struct resource_rec *r);

/*
 * Walks what a container asks plugins for: resources that are known here and that no claim stands
 * behind. *at begins with NULL.
 */
bool assign_request_next(const struct admitting *in, const struct json *container,
			 const struct json **at, struct resource_rec **ret_resource,
			 int64_t *ret_required);

void assign_split(const struct admitting *in, const struct resource_rec *r,
		  struct device_list available, struct device_split *ret_split);

#endif
