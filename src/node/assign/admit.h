/*
 * assign_admit - shared by the parts of one admission; for the files of src/node/assign only.
 */
#ifndef NODE_ASSIGN_ADMIT_H
#define NODE_ASSIGN_ADMIT_H

#include "node/assign/assign_impl.h"
#include "node/numa/topology.h"

/* The admission of one pod. Its data lives in the arena. */
struct admitting {
	struct assign *s;
	const struct pod *pod;
	struct pod_rec *rec; /* not in the log yet, unless the pod uses claims already */
	struct arena *a;
	struct assign_admission *io;
	struct topology_hint affinity; /* of the current container */
	bool guaranteed; /* its containers may get exclusive CPUs and memory */
	/* CPUs and memory of its init containers that later containers may reuse. */
	struct cpu_set again_cpus;
	VEC(struct memory_block) again;
};

struct device_list {
	struct device_rec **v;
	size_t n;
};

/* Devices by the container's affinity; each device is in one list, sorted by id. */
struct device_split {
	struct device_list aligned, unaligned, anywhere;
};

/*
 * Devices of the pod's earlier init containers that no other container of the pod has taken over.
 */
struct device_list assign_reusable(const struct admitting *in, const struct resource_rec *r);

/* Devices that are healthy and not held; by id. */
struct device_list assign_available(const struct admitting *in, const struct resource_rec *r);

/*
 * Walks a container's requests to plugins: resources that are known here and not backed by a claim.
 * Start with *at = NULL.
 */
bool assign_request_next(const struct admitting *in, const struct json *container,
			 const struct json **at, struct resource_rec **ret_resource,
			 int64_t *ret_required);

/* Whether a claim, not a plugin, provides the devices of this container's extended resource. */
bool assign_backed_by_claim(const struct pod *pod, struct str container, struct str resource);

/* --- assign/topology.c --------------------------------------------------------------- */

/*
 * Finds the NUMA nodes for a container, or for the whole pod (NULL), by the policy. If the policy
 * does not admit it, returns -ERR_INVALID and sets the admission's reason.
 */
int assign_find_affinity(struct admitting *in, const struct json *container, struct error *err);

/* Splits devices by the affinity that was found. */
void assign_split(const struct admitting *in, const struct resource_rec *r,
		  struct device_list available, struct device_split *ret_split);

/* --- assign/amounts.c ---------------------------------------------------------------- */

/* The amount that a pod needs while it runs: init containers run before the others. */
struct pod_amount {
	int64_t init, sidecars, mains;
};

void pod_amount_add(struct pod_amount *sum, enum pod_container_kind kind, int64_t amount);
int64_t pod_amount_total(const struct pod_amount *sum);

/* Whether the pod's QoS class and form allow exclusive CPUs and memory. */
bool assign_is_guaranteed(const struct pod *pod);

/* Number of exclusive CPUs that the container gets; 0: it shares CPUs. */
int64_t assign_cpus_wanted(const struct admitting *in, const struct json *container);

/* Exclusive memory of all kinds that the container gets; in the arena. */
size_t assign_memory_wanted(const struct admitting *in, const struct json *container,
			    const struct memory_amount **ret_amounts);

/* --- assign/exclusive.c -------------------------------------------------------------- */

/* CPUs that could be assigned exclusively. */
void assign_available_cpus(const struct assign *s, struct cpu_set *ret_cpus);

int assign_take_cpus(struct admitting *in, const struct json *container, struct container_rec *rec,
		     struct error *err);
int assign_take_memory(struct admitting *in, const struct json *container,
		       struct container_rec *rec, struct error *err);

#endif
