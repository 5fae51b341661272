/*
 * nodeobject - a Node as the scheduler reads it: parsed once, immutable, shared.
 */
#ifndef SCHEDULER_CACHE_NODEOBJECT_H
#define SCHEDULER_CACHE_NODEOBJECT_H

#include "base/core/error.h"
#include "scheduler/cache/amounts.h"
#include "scheduler/cache/podinfo.h"

struct cached;

struct node_taint {
	struct str key, value;
	enum taint_effect effect;
};

struct node_image {
	struct str name; /* an image has one entry per name */
	int64_t size;
};

struct nodeobject {
	unsigned refs;
	struct cached *object;
	struct str name, uid;
	struct str zone; /* "region:\0:zone" from its topology labels; empty without them */
	const struct json *labels, *annotations; /* objects; or NULL */
	bool unschedulable;
	bool ready; /* condition Ready is True; for hints only */
	struct amounts allocatable;
	struct amount_names *names; /* holds the names of allocatable */
	const struct node_taint *taints;
	const struct node_image *images;
	const struct str *features; /* status.declaredFeatures */
	size_t ntaints, nimages, nfeatures;
	uint64_t conditions_hash; /* of types and statuses */
	struct arena arena;
};

int nodeobject_new(struct cached *object, struct amount_names *names, struct nodeobject **ret_node,
		   struct error *err);
struct nodeobject *nodeobject_ref(struct nodeobject *n);
void nodeobject_unref(struct nodeobject *n);
DEFINE_CLEANUP(nodeobject_unref, struct nodeobject *);

/* Returns the EVENT_* bits (cluster_event.h) of the change; 0 if nothing relevant changed. */
unsigned nodeobject_changes(const struct nodeobject *old, const struct nodeobject *n);

#endif
