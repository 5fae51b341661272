/*
 * allocate_impl - data of an allocation in progress, shared by the allocator's files.
 *
 *	allocate/plan.c      claims -> requests, constraints; errors that end the allocation
 *	allocate/match.c     does a device suit a request (selectors, node, taints, size)
 *	allocate/capacity.c  how much a request takes of a shared device
 *	allocate/place.c     taking a device and giving it back: counters, shares, constraints
 *	allocate/search.c    the order in which devices are tried
 *	allocate/classes.c   groups devices that are interchangeable for these claims
 *	allocate/outlook.c   can the remaining requests still be satisfied (allocate/outlook.h)
 *	allocate/supply.c    .. how many devices of each class are left
 *	allocate/flow.c      .. computed as a flow from requests to devices
 *	allocate/result.c    builds status.allocation of the claims
 *
 * Everything lives in one arena and is freed with it. Devices that the node can reach are numbered
 * (ordinals) in upstream's order, over all slices of usable pools.
 */
#ifndef DRA_ALLOCATE_ALLOCATE_IMPL_H
#define DRA_ALLOCATE_ALLOCATE_IMPL_H

#include "dra/allocate/allocate.h"
#include "dra/inventory/content.h"

enum {
	ALLOCATE_RESULTS_MAX = 32, /* per claim, upstream's limit */
	ALLOCATE_NONE = 0xffffffff, /* no index */
};

/* --- what is wanted ----------------------------------------------------------------- */

/* Whether a device suits a request, independent of the other choices. */
enum allocate_match {
	ALLOCATE_UNKNOWN, /* not checked yet, or the selector fails */
	ALLOCATE_NO, /* not selected, not on this node, or too small */
	ALLOCATE_REFUSED, /* selected, but tainted or using a disabled feature */
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
	struct str name; /* its own name */
	struct str full; /* "gpu", or "gpu/large" for an alternative */
	struct str class_name;
	const struct inventory_class *class;
	const struct json *spec; /* its `exactly`, or the alternative */
	const struct json *tolerations;
	const struct allocate_selector *selectors;
	const struct allocate_capacity *capacities; /* requested amounts */
	size_t nselectors, ncapacities;
	uint64_t constraints; /* bit i: constraint i of its claim applies */
	int64_t count; /* devices wanted */
	bool all, admin;
	uint32_t *devices; /* mode All: the ordinals, `count` of them */
	uint8_t *match; /* enum allocate_match by ordinal; NULL: nothing checked yet */
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

/* A device, with its pool and ordinal. */
struct allocate_at {
	const struct inventory_device *device;
	uint32_t pool;
	uint32_t ordinal;
};

struct allocate_pool {
	const struct inventory_node_pool *on_node;
	/* By counter: amount that this attempt takes; NULL: nothing so far. */
	struct quantity *taken;
};

/* --- an attempt --------------------------------------------------------------------- */

/* A device that this attempt has taken. */
struct allocate_place {
	struct allocate_at at;
	uint32_t request; /* in plan->requests */
	bool shared; /* only a share of the device */
	bool counted; /* its counters were charged */
	/* By constraint of the claim; NULL: the constraint does not apply. */
	const struct cel_value **values;
};

struct allocate_plan {
	struct inventory *inv;
	struct inventory_node node;
	struct inventory_features features;
	struct allocate_options options;
	struct arena *arena; /* of results */
	struct arena *work; /* of everything else */

	/*
	 * Set by allocate_prepare(). Claims that depend on the node are read again for each node.
	 */
	const struct json *const *objects;
	size_t nobjects;
	bool prepared; /* claims were read for all nodes */
	bool plain; /* the claims only want some devices of one class */
	int fault; /* result of reading the claims */
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
	uint32_t *chosen; /* by group: the chosen request, if the group has alternatives */

	bool ignore_counters; /* for explain: would the claims fit without counters? */
	uint64_t steps, steps_max;
	uint64_t spent; /* steps, plus the work of the outlook */
	bool costly; /* the selector budget is used up; the error is `too_costly` */
	struct error too_costly;
	struct cel_eval eval;
	struct arena scratch;
	char scratch_block[2048];
};

/* Resets the step count and sets its limit, before a search. */
void allocate_plan_steps(struct allocate_plan *plan);

/* Initializes a plan that is zero except for inv, options, arena and work. */
void allocate_plan_begin(struct allocate_plan *plan);

/*
 * Reads pools and claims. Returns -ERR_INVALID or another error, with upstream's message. `plan`
 * must be zero except for inv, node, options, arena and work. Release it on success and failure.
 */
int allocate_plan_read(struct allocate_plan *plan, const struct json *const *claims, size_t n,
		       struct error *err);
void allocate_plan_release(struct allocate_plan *plan);

/* The two parts of allocate_plan_read(): pools that the node can reach, and claims. */
void allocate_plan_pools(struct allocate_plan *plan);
int allocate_plan_claims(struct allocate_plan *plan, const struct json *const *claims, size_t n,
			 struct error *err);
/* Allocates plan->places, with room for the devices of so many claims. */
void allocate_plan_places(struct allocate_plan *plan, size_t nclaims);

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

/* A claim holds the device as a whole, and the request is not for admin access. */
static inline bool allocate_held(const struct allocate_request *r, const struct inventory_device *d)
{
	return !r->admin && inventory_device_in_use(d);
}

/* Several claims may each have a share of the device. */
static inline bool allocate_shareable(const struct allocate_plan *plan,
				      const struct inventory_device *d)
{
	return plan->features.consumable_capacity && d->view.allow_multiple;
}

/*
 * Returns the enum allocate_match of device and request, and caches it. Returns a negative error if
 * a selector fails or an amount is invalid, which ends the allocation.
 */
int allocate_match(struct allocate_plan *plan, struct allocate_request *r,
		   const struct allocate_at *at, struct error *err);

/* Returns the first taint that the request does not tolerate, or NULL. */
const struct inventory_taint *allocate_taint(const struct allocate_plan *plan,
					     const struct allocate_request *r,
					     const struct inventory_device *d);

/*
 * Returns 1 if all selectors match the device, 0 if one does not, negative if one fails. *ret_text
 * is the last selector that was evaluated.
 */
int allocate_selects(struct allocate_plan *plan, const struct allocate_request *r,
		     const struct inventory_device *d, struct str *ret_text, struct error *err);

/* Returns the device's value of the constraint's attribute, or NULL. */
const struct cel_value *allocate_attribute(const struct inventory_device *d,
					   const struct allocate_constraint *c);
/*
 * Whether the values have the same type and are equal, as upstream compares them. Lists match if
 * they have an element in common.
 */
bool allocate_values_meet(struct cel_eval *ev, const struct cel_value *a,
			  const struct cel_value *b);
/* Whether some element is in all of the n values. */
bool allocate_values_share(struct cel_eval *ev, const struct cel_value *const *values, size_t n);

/* --- capacity ----------------------------------------------------------------------- */

/*
 * Computes how much a request takes of a device's i-th capacity: the requested amount rounded up,
 * else the policy's default, else all of it. Returns -ERR_INVALID if the amount cannot be
 * represented or is negative.
 */
int allocate_consumption(const struct allocate_plan *plan, const struct allocate_request *r,
			 const struct inventory_device *d, size_t i, struct quantity *ret_amount,
			 struct error *err);

/*
 * Whether the request fits into the device if nobody else has a share: the device has all requested
 * capacities, the policy allows the amounts, and they do not exceed the value. Returns 1, 0, or a
 * negative error.
 */
int allocate_capacity_fits(const struct allocate_plan *plan, const struct allocate_request *r,
			   const struct inventory_device *d, struct error *err);

/* Returns the i-th capacity minus the shares of claims and of this attempt. */
struct quantity allocate_capacity_left(const struct allocate_plan *plan,
				       const struct allocate_at *at, size_t i);

/* Whether enough of each capacity is left for the request. allocate_match() must have matched. */
bool allocate_capacity_suffices(const struct allocate_plan *plan, const struct allocate_request *r,
				const struct allocate_at *at);

/* --- places ------------------------------------------------------------------------- */

/*
 * Takes the device. Returns 1 on success, 0 if it is not possible now, -ERR_INVALID if a constraint
 * rules out a device of a request of mode All.
 */
int allocate_take(struct allocate_plan *plan, uint32_t request, const struct allocate_at *at,
		  struct error *err);
/* Undoes the last successful allocate_take(). */
void allocate_untake(struct allocate_plan *plan);

/* Returns the index of the claim's first place. Its places continue up to nplaces. */
uint32_t allocate_claim_places(const struct allocate_plan *plan, uint32_t claim);

/* --- search ------------------------------------------------------------------------- */

/*
 * Returns 1 if plan->places is the result, 0 if the claims do not fit, negative if a limit was
 * exceeded or a selector or constraint failed.
 */
int allocate_search(struct allocate_plan *plan, struct error *err);

/* --- results ------------------------------------------------------------------------ */

int allocate_result(struct allocate_plan *plan, uint32_t claim, struct json **ret_result,
		    struct error *err);

#endif
