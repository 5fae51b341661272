/*
 * dra_plugin - state of an attempt, shared by the files of the DynamicResources plugin.
 *
 *	dra/dynamic_resources.c  the table of points; reserve, unreserve, scores
 *	dra/prefilter.c          finds the pod's claims and reads their requests
 *	dra/filter.c             filters one node
 *	dra/extended.c           extended resources backed by devices: creates a special claim
 *	dra/ready.c              reads a claim's status
 *	dra/bind.c               pre_bind: writes the decision
 *	dra/write.c              background writes
 *	dra/hints.c              events that may help a rejected pod
 */
#ifndef SCHEDULER_DRA_PLUGIN_H
#define SCHEDULER_DRA_PLUGIN_H

#include "base/json/json.h"
#include "client/api/resource.h"
#include "dra/allocate/allocate.h"
#include "dra/claims/pod_claims.h"
#include "scheduler/cache/podinfo.h"
#include "scheduler/cycle/cycle.h"
#include "scheduler/dra/state.h"
#include "scheduler/framework/binding.h"
#include "scheduler/framework/plugin.h"

struct dra_bind;
struct metrics_counter;
struct node_selector;

/* Placeholder for the claim that is not created yet. */
#define DRA_SPECIAL_NAME "<extended-resources>"

/* Configuration of the plugin: plugin->state. */
struct dra_plugin {
	int64_t binding_timeout_ns;
	/* Rejected writes, because another claim holds the device; or NULL. */
	struct metrics_counter *conflicts;
};

/* One of the pod's claims. */
struct dra_pod_claim {
	struct str key; /* "namespace/name" */
	struct str uid;
	struct cached *object; /* held by the cycle; NULL: not created yet */
	struct json *tree; /* the claim as JSON; replaced when we write it */
	const struct node_selector *nodes; /* nodes that can use the allocated devices; NULL: all */
	struct json *allocation; /* set by reserve, or NULL */
	bool allocated; /* allocated when the attempt began */
	bool hopeless; /* allocated, but its binding conditions failed or timed out */
	/* Some of its devices need a node that supports optional operations. */
	bool optional_operations;
	bool unavailable; /* for post_filter: some node cannot use it */
};

/*
 * The special claim for nodes that must satisfy these extended resources of the pod with devices.
 */
struct dra_variant {
	uint64_t resources; /* bits of dra_cycle->resources */
	struct json *claim; /* NULL: not needed */
	struct json *mappings; /* requestMappings of the pod's status */
	struct allocate_plan *plan; /* for all claims; NULL: nothing to allocate */
	const struct json **wanted; /* by index in the plan */
	size_t nwanted;
	struct dra_variant *next;
};

struct dra_cycle {
	struct arena *arena; /* of the attempt, not of a what-if */
	struct dra_pod_claim *claims; /* the pod's, then the special one */
	size_t n;
	struct dra_pod_claim *special; /* the last of them, or NULL */
	struct str pod_uid;
	/* The pod's extended resources, sorted by name. Device classes offer some of them. */
	struct dra_resource {
		struct str name;
		uint32_t id; /* amounts.h */
		bool backed; /* by a device class */
		struct str class_name;
	} * resources;
	size_t nresources;
	struct dra_variant *variants;
	struct dra_variant *chosen; /* for the reserved node */
	struct allocate_report report; /* of the last allocate_on() */
	uint64_t steps_left; /* step budget for the searches on all nodes */
	struct allocate_effort effort; /* remaining budget for selectors */
	int64_t preference; /* of allocated claims */
	/* Some unallocated claim has alternatives, so nodes may differ in preference. */
	bool alternatives;
	struct dra_bind *bind; /* the pre_bind in progress, or NULL */
	struct binding *binding; /* set when pre_bind begins; lives as long as the attempt */
};

static inline struct dra_cycle *dra_cycle_of(struct cycle *c, const struct plugin *p)
{
	return *cycle_state(c, p);
}

/* --- claims of a pod ----------------------------------------------------------------------- */

/*
 * Whether all claims of the pod exist and belong to it. If not, sets the reason, in the arena. `a`
 * NULL: no reason is returned.
 */
bool dra_claims_exist(const struct dra_state *s, const struct podinfo *pod, struct arena *a,
		      struct str *ret_why);
/* Builds "namespace/name" in `out`. */
enum { DRA_KEY_MAX = 512 };
struct str dra_claim_key(struct str ns, struct str name, char out[static DRA_KEY_MAX]);

struct verdict dra_pre_filter(struct plugin *p, struct cycle *c);

/* --- nodes ------------------------------------------------------------------------------------ */

struct verdict dra_filter(struct plugin *p, struct cycle *c, const struct nodeinfo *n);
/*
 * Decides like the filter, and also returns the results by index in (*ret_variant)->wanted, in the
 * attempt's memory. Returns 1 if the claims fit or nothing has to be allocated, 0 if not, or
 * -ERR_*.
 */
int dra_allocate(struct plugin *p, struct cycle *c, const struct nodeinfo *n,
		 struct dra_variant **ret_variant, struct json ***ret_results, struct error *err);
/*
 * Returns the sum of 8 minus the index of each alternative that the node would use; 0 if nothing
 * has to be allocated.
 */
int64_t dra_preference(struct plugin *p, struct cycle *c, const struct nodeinfo *n);

/* --- extended resources ---------------------------------------------------------------------- */

/*
 * Sets the resources and, if one is backed by devices, the special claim. Returns false with a
 * verdict if the pod has too many.
 */
bool dra_extended_begin(struct plugin *p, struct cycle *c, struct dra_cycle *d,
			struct verdict *ret_verdict);
/*
 * Finds the resources that the node must satisfy with devices. Returns false with a verdict if it
 * cannot.
 */
bool dra_extended_on(const struct dra_cycle *d, const struct nodeinfo *n, uint64_t *ret_resources,
		     struct verdict *ret_verdict);
/* Sets claim and mappings of a variant. */
void dra_extended_claim(const struct dra_cycle *d, const struct podinfo *pod,
			struct dra_variant *v);

/* --- status of a claim ------------------------------------------------------------------------ */

/*
 * Returns 1 if all binding conditions are met (or the claim has none), 0 if not yet, -ERR_INVALID
 * if one has failed.
 */
int dra_ready(const struct json *claim, struct error *err);
/* Whether some result has binding conditions. */
bool dra_has_conditions(const struct json *claim);
/* Returns the time when its conditions time out, in wall-clock ns; INT64_MAX without a timeout. */
int64_t dra_ready_until(const struct json *claim, int64_t timeout_ns);
bool dra_reserved_for(const struct json *claim, struct str pod_uid);
int64_t dra_wall_ns(const struct services *s);

/* --- writing ---------------------------------------------------------------------------------- */

extern const struct resource dra_claims_resource;

void dra_pre_bind(struct plugin *p, struct binding *b);
/* Cancels a pre_bind in progress, without a result. */
void dra_bind_cancel(struct dra_bind *b);

/* Write in the background. Failures are logged. */
void dra_write_unreserve(struct plugin *p, const struct dra_pod_claim *claim, struct str pod_uid);
void dra_write_deallocate(struct plugin *p, const struct dra_pod_claim *claim);
/* Removes our finalizer and deletes the claim. */
void dra_write_delete(struct plugin *p, const struct dra_pod_claim *claim);

/* --- hints ------------------------------------------------------------------------------------ */

extern const struct plugin_event dra_events[];

/* Wakes waiting pods when devices became free without a change of an object. */
void dra_tell_freed(struct plugin *p, struct str key);
/* Wakes waiting pods when a claim is gone that the watch may never report. */
void dra_tell_deleted(struct plugin *p, struct cached *last);

extern const struct plugin_kind plugin_dynamic_resources;

#endif
