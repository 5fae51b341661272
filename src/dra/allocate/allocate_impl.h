/*
 * allocate_impl - what an allocation in the making consists of, for its parts.
 *
 *	allocate/plan.c      claims -> requests, constraints; faults that end it
 *	allocate/match.c     does a device suit a request at all (selectors, node, taints, size)
 *	allocate/capacity.c  what a request takes of a device that is shared
 *	allocate/place.c     taking a device and giving it back: counters, shares, constraints
 *	allocate/search.c    the order in which devices are tried
 *	allocate/classes.c   devices that are the same for all that matters
 *	allocate/outlook.c   can what is still wanted be had at all (allocate/outlook.h)
 *	allocate/supply.c    .. what is left of each class
 *	allocate/flow.c      .. as a flow from requests to devices
 *	allocate/result.c    what is written into the claims
 *
 * Everything lives in one arena and is gone with it. Devices that the node reaches have
 * ordinals: in upstream's order, over all slices of pools that may be used.
 */
#ifndef DRA_ALLOCATE_ALLOCATE_IMPL_H
#define DRA_ALLOCATE_ALLOCATE_IMPL_H

#include "dra/allocate/allocate.h"
#include "dra/inventory/inventory_impl.h"

enum {
	ALLOCATE_RESULTS_MAX = 32, /* of one claim, as upstream bounds it */
	ALLOCATE_NONE = 0xffffffff, /* no index */
};

/* --- what is wanted ----------------------------------------------------------------- */

/* What is known about a device and a request, whatever else is chosen. */
enum allocate_match {
	ALLOCATE_UNKNOWN, /* not looked at, or its selector fails */
	ALLOCATE_NO, /* not selected, not on this node, or too small */
	ALLOCATE_REFUSED, /* selected, yet tainted or of a feature that is off */
	ALLOCATE_YES,
};

struct allocate_selector {
	struct str text;
	const struct cel_program *program; /* NULL: it does not compile */
	struct str fault;
	uint64_t id; /* of the program; see inventory_answer() */
};

struct allocate_capacity {
	struct str name;
	struct quantity value;
};

/* A request, or one alternative of a firstAvailable list. */
struct allocate_request {
	uint32_t claim; /* index of its claim */
	uint32_t group; /* index in plan->groups */
	struct str name; /* its own */
	struct str full; /* "gpu", or "gpu/large" of an alternative */
	struct str class_name;
	const struct inventory_class *class;
	const struct json *spec; /* its `exactly`, or the alternative */
	const struct json *tolerations;
	const struct allocate_selector *selectors;
	const struct allocate_capacity *capacities; /* asked for */
	size_t nselectors, ncapacities;
	uint64_t constraints; /* bit i: constraint i of its claim applies */
	int64_t count; /* devices wanted */
	bool all, admin;
	uint32_t *devices; /* mode All: the ordinals, `count` of them */
	uint8_t *match; /* enum allocate_match by ordinal; NULL: nothing is known yet */
};

/* An entry of a claim's spec.devices.requests: one request, or the alternatives in order. */
struct allocate_group {
	uint32_t first, n; /* in plan->requests */
	uint32_t claim;
	bool alternatives;
};

struct allocate_constraint {
	bool distinct; /* else: match */
	struct str domain, id; /* of the attribute */
};

struct allocate_claim {
	const struct json *object;
	struct str text; /* "namespace/name" */
	uint32_t first, n; /* of plan->groups */
	const struct allocate_constraint *constraints;
	uint32_t nconstraints;
};

/* --- what there is ------------------------------------------------------------------ */

struct allocate_slice {
	struct inventory_slice *slice;
	uint32_t pool; /* in plan->pools */
	uint32_t first; /* ordinal of its first device */
};

/* A device and where it stands. */
struct allocate_at {
	const struct inventory_device *device;
	uint32_t pool;
	uint32_t ordinal;
};

struct allocate_pool {
	const struct inventory_node_pool *on_node;
	struct quantity *taken; /* by counter: what this attempt takes; NULL: nothing so far */
};

/* --- an attempt --------------------------------------------------------------------- */

/* A device that is taken in this attempt. */
struct allocate_place {
	struct allocate_at at;
	uint32_t request; /* in plan->requests */
	bool shared; /* a share of it */
	bool counted; /* its counters were charged */
	const struct cel_value **values; /* by constraint of the claim; NULL: not under it */
};

struct allocate_plan {
	struct inventory *inv;
	struct inventory_node node;
	struct inventory_features features;
	struct allocate_options options;
	struct arena *arena; /* of results */
	struct arena *work; /* of everything else */

	/* Of allocate_prepare(): what to read for each node anew, since it depends on that. */
	const struct json *const *objects;
	size_t nobjects;
	bool prepared; /* claims were read for all nodes */
	bool plain; /* nothing but some devices of a class is wanted */
	int fault; /* what came of that */
	struct error why;

	struct allocate_claim *claims;
	struct allocate_group *groups;
	struct allocate_request *requests;
	uint32_t nclaims, ngroups, nrequests;
	uint32_t nconstraints_max; /* of one claim */

	struct allocate_pool *pools;
	struct allocate_slice *slices;
	uint32_t npools, nslices, ndevices;
	bool faulty_pool; /* one is invalid or incomplete */
	bool rules; /* there are taint rules */

	uint16_t *taken; /* by ordinal: places that hold it */
	struct allocate_place *places; /* in the order of the search: by claim, request, slot */
	uint32_t nplaces;
	uint32_t *chosen; /* by group: the request, when alternatives */

	bool ignore_counters; /* to find out whether they are what is missing */
	uint64_t steps, steps_max;
	uint64_t spent; /* steps, and what the outlook took besides */
	bool costly; /* selectors cost too much: nothing can be said, but `too_costly` */
	struct error too_costly;
	struct cel_eval eval;
	struct arena scratch;
	char scratch_block[2048];
};

/* A search begins: no steps were taken; how many may be. */
void allocate_plan_steps(struct allocate_plan *plan);

/* Begins a plan that is zero but for inv, options, arena and work. */
void allocate_plan_begin(struct allocate_plan *plan);

/*
 * Reads pools and claims. -ERR_INVALID and such in upstream's words. `plan` is zero but for
 * inv, node, options, arena and work; release it in any case.
 */
int allocate_plan_read(struct allocate_plan *plan, const struct json *const *claims, size_t n,
		       struct error *err);
void allocate_plan_release(struct allocate_plan *plan);

/* Reads the pools that the node reaches, and the claims: parts of the above. */
void allocate_plan_pools(struct allocate_plan *plan);
int allocate_plan_claims(struct allocate_plan *plan, const struct json *const *claims, size_t n,
			 struct error *err);
/* Room for what is taken. */
void allocate_plan_places(struct allocate_plan *plan, size_t nclaims);

/* Whether the constraint with that list of requests concerns the request. */
bool allocate_plan_concerns(const struct json *names, const struct allocate_plan *plan,
			    const struct allocate_request *r);

/* --- devices ------------------------------------------------------------------------ */

/* Walks the devices from an ordinal on: begin, then next until false. */
struct allocate_walk {
	uint32_t slice, index;
};
struct allocate_walk allocate_walk_from(const struct allocate_plan *plan, uint32_t ordinal);
bool allocate_walk_next(const struct allocate_plan *plan, struct allocate_walk *w,
			struct allocate_at *ret_at);
/* The device of an ordinal. */
struct allocate_at allocate_at(const struct allocate_plan *plan, uint32_t ordinal);

/* Someone holds it already, and the request does not merely look on. */
static inline bool allocate_held(const struct allocate_request *r, const struct inventory_device *d)
{
	return !r->admin && inventory_device_in_use(d);
}

/* A device that several may have a share of. */
static inline bool allocate_shareable(const struct allocate_plan *plan,
				      const struct inventory_device *d)
{
	return plan->features.consumable_capacity && d->view.allow_multiple;
}

/*
 * What of the device and the request goes together for good; remembered. Negative: a selector
 * or an amount is at fault, which ends the allocation.
 */
int allocate_match(struct allocate_plan *plan, struct allocate_request *r,
		   const struct allocate_at *at, struct error *err);

/* The first taint that the request does not tolerate; or NULL. */
const struct inventory_taint *allocate_taint(const struct allocate_plan *plan,
					     const struct allocate_request *r,
					     const struct inventory_device *d);

/* 1, 0: selectors select the device; negative: one is at fault. *ret_text is the last one asked. */
int allocate_selects(struct allocate_plan *plan, const struct allocate_request *r,
		     const struct inventory_device *d, struct str *ret_text, struct error *err);

/* The device's value of an attribute; or NULL. */
const struct cel_value *allocate_attribute(const struct inventory_device *d,
					   const struct allocate_constraint *c);
/* Of one type and equal, as upstream compares; lists: have an element in common. */
bool allocate_values_meet(struct cel_eval *ev, const struct cel_value *a,
			  const struct cel_value *b);
/* Some element is in all of the n values. */
bool allocate_values_share(struct cel_eval *ev, const struct cel_value *const *values, size_t n);

/* --- capacity ----------------------------------------------------------------------- */

/*
 * What a request takes of a device's i-th capacity: asked for and rounded up, the policy's default,
 * or all of it. -ERR_INVALID when the amount cannot be represented or is negative.
 */
int allocate_consumption(const struct allocate_plan *plan, const struct allocate_request *r,
			 const struct inventory_device *d, size_t i, struct quantity *ret_amount,
			 struct error *err);

/*
 * Whether the request fits into the device when nobody else has a share: all capacities that it
 * names are there, amounts are such as the policy allows, and within the value. 1, 0, negative.
 */
int allocate_capacity_fits(const struct allocate_plan *plan, const struct allocate_request *r,
			   const struct inventory_device *d, struct error *err);

/* What is left of the i-th capacity beside shares of claims and of this attempt. */
struct quantity allocate_capacity_left(const struct allocate_plan *plan,
				       const struct allocate_at *at, size_t i);

/* As much of each capacity is left as the request takes. The device itself suits it. */
bool allocate_capacity_suffices(const struct allocate_plan *plan, const struct allocate_request *r,
				const struct allocate_at *at);

/* --- places ------------------------------------------------------------------------- */

/* Takes the device, when it can be: 1; 0: not now; -ERR_INVALID: mode All, and a constraint. */
int allocate_take(struct allocate_plan *plan, uint32_t request, const struct allocate_at *at,
		  struct error *err);
/* Gives back what was taken last. */
void allocate_untake(struct allocate_plan *plan);

/* Index of the claim's first place; those up to nplaces are its. */
uint32_t allocate_claim_places(const struct allocate_plan *plan, uint32_t claim);

/* --- search ------------------------------------------------------------------------- */

/* 1: plan->places is the result; 0: there is none; negative: given up, or at fault. */
int allocate_search(struct allocate_plan *plan, struct error *err);

/* --- results ------------------------------------------------------------------------ */

int allocate_result(struct allocate_plan *plan, uint32_t claim, struct json **ret_result,
		    struct error *err);

#endif
