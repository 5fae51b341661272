/*
 * nodeinfo - a node and what is on it: the unit of cache and snapshot.
 *
 * Counted and copied on write: cache and snapshot share one until the cache changes it, so a
 * snapshot costs a pointer per changed node and nobody sees half a change. Whoever wants to
 * change one calls nodeinfo_own() first. Preemption's what-if works on a clone.
 *
 * Extended resources (include/devplane/scheduler.h) live in here, by the number of their type.
 * They are told of a pod in the same call that counts the pod, and cloned with the rest, so what
 * resources-fit sees and what a plugin sees are one state.
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
	/* uids of pods that add_pod refused: they are not removed from it; almost always empty. */
	VEC(struct podinfo *) refused;
};

struct nodeinfo_pvc {
	struct str key; /* "ns/name", borrowed from a pod that is here */
	uint32_t pods;
};

struct nodeinfo {
	unsigned refs;
	struct str name; /* in its own memory */
	struct nodeobject *node; /* NULL: pods or resources came before it, or it is gone */
	VEC(struct podinfo *) pods;
	VEC(struct podinfo *) with_affinity; /* any inter-pod term, preferred ones too */
	VEC(struct podinfo *) with_required_anti_affinity;
	VEC(struct pod_port) ports;
	VEC(struct nodeinfo_pvc) pvcs; /* in the order of keys */
	struct amounts requested;
	int64_t nonzero_cpu_milli, nonzero_memory;
	VEC(struct nodeinfo_extended) extended;
	uint64_t generation; /* of the last change; of all nodes no two are equal */
};

struct nodeinfo *nodeinfo_new(struct str name);
struct nodeinfo *nodeinfo_ref(struct nodeinfo *n);
void nodeinfo_unref(struct nodeinfo *n);
DEFINE_CLEANUP(nodeinfo_unref, struct nodeinfo *);

/* A copy of its own, extended resources cloned. */
struct nodeinfo *nodeinfo_clone(const struct nodeinfo *n);

/* Makes *n the only reference, by a clone when it is shared. Returns it. */
struct nodeinfo *nodeinfo_own(struct nodeinfo **n);

/* The caller owns it. Sums, lists, ports, claims of volumes, extended resources: all at once. */
void nodeinfo_add_pod(struct nodeinfo *n, struct podinfo *p);
/* By uid; false when it is not there. */
bool nodeinfo_remove_pod(struct nodeinfo *n, const struct podinfo *p);
void nodeinfo_set_node(struct nodeinfo *n, struct nodeobject *node); /* NULL: gone */

/* The plugin's value for a type; NULL: none. */
void *nodeinfo_extended(const struct nodeinfo *n, uint32_t type);
/*
 * Sets, replaces (the old value is freed) or, with NULL, takes away. A `fresh` value knows of no
 * pod and is told of those that are here; else it is a changed copy of the one that was there.
 */
void nodeinfo_set_extended(struct nodeinfo *n, const struct extended_type *type, void *value,
			   bool fresh);

bool nodeinfo_port_taken(const struct nodeinfo *n, const struct pod_port *port);

#endif
