/*
 * assign_admit - what the parts of one admission share; for assign_*.c only.
 */
#ifndef NODE_ASSIGN_ADMIT_H
#define NODE_ASSIGN_ADMIT_H

#include "node/assign/assign_impl.h"
#include "node/numa/topology.h"

/* One pod on its way in. What is made for it lives in the arena. */
struct admitting {
	struct assign *s;
	const struct pod *pod;
	struct pod_rec *rec; /* not in the log yet, unless the pod uses claims already */
	struct arena *a;
	struct assign_admission *io;
	struct topology_hint affinity; /* of the container at hand */
	bool guaranteed; /* its containers may get CPUs and memory of their own */
	/* What its init containers had and later ones may use again. */
	struct cpu_set again_cpus;
	VEC(struct memory_block) again;
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

/* The claim behind an extended resource of this container has the devices, not a plugin. */
bool assign_backed_by_claim(const struct pod *pod, struct str container, struct str resource);

/* --- assign/topology.c --------------------------------------------------------------- */

/*
 * Finds the NUMA nodes for a container, or for the whole pod (NULL), by the policy.
 * -ERR_INVALID with the admission's reason when the policy does not admit it.
 */
int assign_find_affinity(struct admitting *in, const struct json *container, struct error *err);

/* Devices by the affinity that was found. */
void assign_split(const struct admitting *in, const struct resource_rec *r,
		  struct device_list available, struct device_split *ret_split);

/* --- assign/amounts.c ---------------------------------------------------------------- */

/* How much of something a pod needs while it runs: init containers run before the others. */
struct pod_amount {
	int64_t init, sidecars, mains;
};

void pod_amount_add(struct pod_amount *sum, enum pod_container_kind kind, int64_t amount);
int64_t pod_amount_total(const struct pod_amount *sum);

/* Whether QoS and the pod's form allow for CPUs and memory of its own. */
bool assign_is_guaranteed(const struct pod *pod);

/* CPUs that the container gets for itself; 0: it shares. */
int64_t assign_cpus_wanted(const struct admitting *in, const struct json *container);

/* Memory of all kinds that the container gets for itself; in the arena. */
size_t assign_memory_wanted(const struct admitting *in, const struct json *container,
			    const struct memory_amount **ret_amounts);

/* --- assign/exclusive.c -------------------------------------------------------------- */

/* CPUs that could be given to a container for itself. */
void assign_available_cpus(const struct assign *s, struct cpu_set *ret_cpus);

int assign_take_cpus(struct admitting *in, const struct json *container, struct container_rec *rec,
		     struct error *err);
int assign_take_memory(struct admitting *in, const struct json *container,
		       struct container_rec *rec, struct error *err);

#endif
