/*
 * nodeinfo - a node with its pods and resources: the unit of cache and snapshot.
 *
 * Reference-counted and copied on write: cache and snapshot share a nodeinfo until the cache
 * changes it. So a snapshot costs one pointer per changed node, and readers never see half a
 * change. Call nodeinfo_own() before you change one. Preemption's what-if works on a clone.
 *
 * Extended resources (KEP-4187, include/devplane/scheduler.h) are stored here by the number of
 * their type. The call that adds a pod to the sums also adds it to the extended resources, and a
 * clone copies them. So NodeResourcesFit and the plugin always see the same state.
 * Threads: the scheduler's.
 */
#ifndef SCHEDULER_CACHE_NODEINFO_H
#define SCHEDULER_CACHE_NODEINFO_H

#include "base/core/vec.h"
#include "scheduler/cache/amounts.h"
#include "scheduler/cache/nodeobject.h"
#include "scheduler/cache/podinfo.h"

struct extended_type;

/* One extended resource on one node; `value` is the plugin's. */
struct nodeinfo_extended {
	const struct extended_type *type; /* extended.h */
	void *value;
	/*
	 * Pods that add_pod rejected, which are not removed from the value later. Almost always
	 * empty.
	 */
	VEC(struct podinfo *) refused;
};

struct nodeinfo_pvc {
	struct str key; /* "ns/name", borrowed from a pod on this node */
	uint32_t pods;
};

struct nodeinfo {
	unsigned refs;
	struct str name; /* in its own memory */
	struct nodeobject *node; /* NULL: a ghost, whose Node does not exist (yet or any longer) */
	VEC(struct podinfo *) pods;
	/* Pods with any inter-pod affinity term, including preferred ones. */
	VEC(struct podinfo *) with_affinity;
	VEC(struct podinfo *) with_required_anti_affinity;
	VEC(struct pod_port) ports;
	VEC(struct nodeinfo_pvc) pvcs; /* sorted by key */
	struct amounts requested;
	int64_t nonzero_cpu_milli, nonzero_memory;
	VEC(struct nodeinfo_extended) extended;
	uint64_t generation; /* set by the last change; unique among all nodes */
};

struct nodeinfo *nodeinfo_new(struct str name);
struct nodeinfo *nodeinfo_ref(struct nodeinfo *n);
void nodeinfo_unref(struct nodeinfo *n);
DEFINE_CLEANUP(nodeinfo_unref, struct nodeinfo *);

/* Returns a deep copy, with cloned extended resources. */
struct nodeinfo *nodeinfo_clone(const struct nodeinfo *n);

/* Makes *n the only reference, by cloning it if it is shared. Returns it. */
struct nodeinfo *nodeinfo_own(struct nodeinfo **n);

/*
 * The caller must own `n`. Updates sums, lists, ports, volume claims and extended resources
 * together.
 */
void nodeinfo_add_pod(struct nodeinfo *n, struct podinfo *p);
/* Removes the pod with the same uid; false if not found. */
bool nodeinfo_remove_pod(struct nodeinfo *n, const struct podinfo *p);
void nodeinfo_set_node(struct nodeinfo *n, struct nodeobject *node); /* NULL: gone */

/* Returns the plugin's value for a type, or NULL. */
void *nodeinfo_extended(const struct nodeinfo *n, uint32_t type);
/*
 * Sets a value. Frees the old one. NULL removes it. If `fresh`, the value has no pods yet, and the
 * pods of this node are added to it; otherwise it is a changed copy of the old value.
 */
void nodeinfo_set_extended(struct nodeinfo *n, const struct extended_type *type, void *value,
			   bool fresh);

bool nodeinfo_port_taken(const struct nodeinfo *n, const struct pod_port *port);

#endif
