/*
 * dra_plugin - between the files of the DynamicResources plugin: what an attempt holds.
 *
 *	dra/dynamic_resources.c  the table of points; reserve, unreserve, scores
 *	dra/prefilter.c             which claims, and what they want
 *	dra/filter.c                a node
 *	dra/extended.c              extended resources that are devices: a claim of our own
 *	dra/ready.c                 what a claim's status says
 *	dra/bind.c                  writes the decision: pre_bind
 *	dra/write.c                 writes that nobody waits for
 *	dra/hints.c                 what a pod that was rejected waits for
 */
#ifndef SCHEDULER_DRA_PLUGIN_H
#define SCHEDULER_DRA_PLUGIN_H

#include "base/json/json.h"
#include "client/api/resource.h"
#include "dra/allocate/allocate.h"
#include "scheduler/cache/podinfo.h"
#include "scheduler/cycle/cycle.h"
#include "scheduler/dra/state.h"
#include "scheduler/framework/binding.h"
#include "scheduler/framework/plugin.h"

struct dra_bind;
struct metrics_counter;
struct node_selector;

#define DRA_FINALIZER    "resource.kubernetes.io/delete-protection"
#define DRA_SPECIAL_NAME "<extended-resources>" /* of the claim that is only in memory yet */

/* What is configured: plugin->state. */
struct dra_plugin {
	int64_t binding_timeout_ns;
	struct metrics_counter *conflicts; /* devices that another claim held; or NULL */
};

/* One of the pod's claims. */
struct dra_pod_claim {
	struct str key; /* "namespace/name" */
	struct str uid;
	struct cached *object; /* held by the cycle; NULL: it is only in memory yet */
	struct json *tree; /* of it; replaced when we write it */
	const struct node_selector
		*nodes; /* where an allocated one can be used; NULL: everywhere */
	struct json *allocation; /* decided by reserve; or NULL */
	bool allocated; /* when the attempt began */
	bool hopeless; /* allocated, and binding failed or takes too long */
	bool optional_operations; /* some of its devices need nodes that know these */
	bool unavailable; /* for post_filter: some node could not use it */
};

/* The special claim for nodes that must serve these of the pod's extended resources by devices. */
struct dra_variant {
	uint64_t resources; /* bits of dra_cycle->resources */
	struct json *claim; /* NULL: none is needed */
	struct json *mappings; /* requestMappings of the pod's status */
	struct allocate_plan *plan; /* of all claims; NULL: nothing is to be allocated */
	const struct json **wanted; /* by place in the plan */
	size_t nwanted;
	struct dra_variant *next;
};

struct dra_cycle {
	struct arena *arena; /* the attempt's, not a what-if's */
	struct dra_pod_claim *claims; /* the pod's, then the special one */
	size_t n;
	struct dra_pod_claim *special; /* the last of them; NULL: none */
	struct str pod_uid;
	/* The pod's extended resources, by name; some are offered by a class. */
	struct dra_resource {
		struct str name;
		uint32_t id; /* amounts.h */
		bool backed; /* by a class */
		struct str class_name;
	} * resources;
	size_t nresources;
	struct dra_variant *variants;
	struct dra_variant *chosen; /* of the node that was reserved */
	struct allocate_report report; /* of the last allocate_on() */
	uint64_t steps_left; /* of searches on all nodes together */
	struct allocate_effort effort; /* left for their selectors */
	int64_t preference; /* of claims that are allocated */
	bool alternatives; /* some claim that is not has alternatives: nodes differ in them */
	struct dra_bind *bind; /* under way; NULL: not */
	struct binding *binding; /* once it began; lives as long as the attempt */
};

static inline struct dra_cycle *dra_cycle_of(struct cycle *c, const struct plugin *p)
{
	return *cycle_state(c, p);
}

/* --- claims of a pod ----------------------------------------------------------------------- */

/*
 * All claims that the pod names are there and are its own; else why not, in the arena. `a` NULL:
 * the reason is not wanted.
 */
bool dra_claims_exist(const struct dra_state *s, const struct podinfo *pod, struct arena *a,
		      struct str *ret_why);
/* "namespace/name" of one; in `out`. */
enum { DRA_KEY_MAX = 512 };
struct str dra_claim_key(struct str ns, struct str name, char out[static DRA_KEY_MAX]);

struct verdict dra_pre_filter(struct plugin *p, struct cycle *c);

/* --- nodes ------------------------------------------------------------------------------------ */

struct verdict dra_filter(struct plugin *p, struct cycle *c, const struct nodeinfo *n);
/*
 * The same decision as filter's, with the results by place in (*ret_variant)->wanted, in the
 * attempt's memory: 1; 0; -ERR_*. The variant may have nothing to allocate: 1 as well.
 */
int dra_allocate(struct plugin *p, struct cycle *c, const struct nodeinfo *n,
		 struct dra_variant **ret_variant, struct json ***ret_results, struct error *err);
/* 8 less its place for each alternative that the node would take; 0 when nothing is allocated. */
int64_t dra_preference(struct plugin *p, struct cycle *c, const struct nodeinfo *n);

/* --- extended resources ---------------------------------------------------------------------- */

/*
 * Fills in resources and, when one is backed by devices, the special claim. False, with a
 * verdict: the pod wants too many.
 */
bool dra_extended_begin(struct plugin *p, struct cycle *c, struct dra_cycle *d,
			struct verdict *ret_verdict);
/* Which resources the node must serve by devices; false, with a verdict: it cannot. */
bool dra_extended_on(const struct dra_cycle *d, const struct nodeinfo *n, uint64_t *ret_resources,
		     struct verdict *ret_verdict);
/* Fills in claim and mappings of a variant. */
void dra_extended_claim(const struct dra_cycle *d, const struct podinfo *pod,
			struct dra_variant *v);

/* --- status of a claim ------------------------------------------------------------------------ */

/* 1: all conditions are met, or there are none; 0: not yet; -ERR_INVALID: one has failed. */
int dra_ready(const struct json *claim, struct error *err);
/* Some result has binding conditions. */
bool dra_has_conditions(const struct json *claim);
/* When waiting for its conditions is over: wall ns; INT64_MAX: it is not waited for. */
int64_t dra_ready_until(const struct json *claim, int64_t timeout_ns);
bool dra_reserved_for(const struct json *claim, struct str pod_uid);
int64_t dra_wall_ns(const struct services *s);

/* --- writing ---------------------------------------------------------------------------------- */

extern const struct resource dra_claims_resource;

void dra_pre_bind(struct plugin *p, struct binding *b);
/* Gives up what is under way, without an answer. */
void dra_bind_cancel(struct dra_bind *b);

/* Writes that nobody waits for; what fails is logged. */
void dra_write_unreserve(struct plugin *p, const struct dra_pod_claim *claim, struct str pod_uid);
void dra_write_deallocate(struct plugin *p, const struct dra_pod_claim *claim);
/* Takes our finalizer off, and deletes it. */
void dra_write_delete(struct plugin *p, const struct dra_pod_claim *claim);

/* --- hints ------------------------------------------------------------------------------------ */

extern const struct plugin_event dra_events[];

/* Devices became free without a change of any object: waiting pods are told. */
void dra_tell_freed(struct plugin *p, struct str key);
/* A claim is gone that the watch may never tell of. */
void dra_tell_deleted(struct plugin *p, struct cached *last);

extern const struct plugin_kind plugin_dynamic_resources;

#endif
