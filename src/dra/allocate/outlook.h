/*
 * allocate_outlook - prunes the search by looking at all devices at once.
 *
 * Devices that are interchangeable for these claims form a class: if one of them fails, so will the
 * others. The outlook checks whether the remaining requests could be satisfied if some of the rules
 * were dropped. If not even that is possible, the search abandons the branch.
 */
#ifndef DRA_ALLOCATE_OUTLOOK_H
#define DRA_ALLOCATE_OUTLOOK_H

#include "dra/allocate/allocate_impl.h"

struct allocate_class {
	uint32_t *members; /* ordinals, ascending */
	uint32_t n;
	uint32_t free; /* members that this attempt has not taken */
	const struct inventory_device *device; /* any one of them */
	uint32_t pool;
	bool shareable, held;
	uint32_t shares; /* for a shareable device: upper bound on the further shares it can have */
	uint32_t crowd; /* index of its crowd, or ALLOCATE_NONE */
};

/* A crowd: the classes that draw on one counter, which bounds them together. */
struct allocate_crowd {
	uint32_t pool, counter;
	__int128 least; /* the smallest amount that one of them takes */
};

/*
 * A family: all counters of one name, in any counter set. Their remaining sum bounds the requests.
 */
struct allocate_family {
	struct str name;
	__int128 *least; /* by request: the smallest amount that any of its devices takes */
};

struct allocate_outlook {
	struct allocate_plan *plan;
	/*
	 * sure: no selector that the search may evaluate fails, so hopeless branches may be
	 * skipped. alike: no constraint applies to a request of mode All, whose devices are tried
	 * in a fixed order, so devices of one class are interchangeable.
	 */
	bool sure, alike;
	uint32_t *class_of; /* by ordinal */
	struct allocate_class *classes;
	uint32_t n;
	uint32_t **candidates; /* by request: ordinals, ascending */
	uint32_t *ncandidates;
	uint8_t *fits; /* by request, then class: its devices may serve the request */
	/* By constraint of all claims, then class: ID of the attribute's value; 0: no value. */
	uint32_t *values;
	uint32_t nvalues; /* the largest id */
	uint32_t *first_constraint; /* by claim */
	struct allocate_crowd *crowds;
	uint32_t ncrowds;
	struct allocate_family *families;
	uint32_t nfamilies;
	/* By ordinal of a shareable device: the shares that it adds to its class. */
	uint32_t *shares;
	uint64_t work; /* so far, in visits of a class by a request */
	struct allocate_demand *demands; /* room for one per group */
};

/* Evaluates all requests against all devices. */
void allocate_outlook_init(struct allocate_outlook *o, struct allocate_plan *plan);

/* Call these whenever the search takes a device, or gives it back. */
void allocate_outlook_taken(struct allocate_outlook *o, uint32_t ordinal);
void allocate_outlook_untaken(struct allocate_outlook *o, uint32_t ordinal);

/*
 * Whether the remaining requests may still be satisfied: `missing` more devices for `request` (from
 * the ordinal on), and all groups from `group` on. `request` is ALLOCATE_NONE between requests.
 * Returns true if in doubt.
 */
bool allocate_outlook_open(struct allocate_outlook *o, uint32_t request, uint32_t missing,
			   uint32_t ordinal, uint32_t group);

static inline uint32_t allocate_outlook_value(const struct allocate_outlook *o, uint32_t claim,
					      uint32_t constraint, uint32_t class)
{
	return o->values[(size_t)(o->first_constraint[claim] + constraint) * o->n + class];
}

static inline bool allocate_outlook_fits(const struct allocate_outlook *o, uint32_t request,
					 uint32_t class)
{
	return o->fits[(size_t)request * o->n + class];
}

/* --- allocate/classes.c ------------------------------------------------------------- */

/* Fills the fields of the outlook up to first_constraint. Part of allocate_outlook_init(). */
void allocate_classes_init(struct allocate_outlook *o);

/* --- allocate/supply.c -------------------------------------------------------------- */

/* Larger amounts (above about 10^21 units) are not counted, so that no sum overflows. */
#define ALLOCATE_AMOUNT_MAX ((__int128)1 << 100)

/* Fills crowds, families and shares. Part of allocate_outlook_init(). */
void allocate_supply_init(struct allocate_outlook *o);

/* Upper bound on the devices (or shares) of a class or crowd that requests can still get. */
uint32_t allocate_supply_class(const struct allocate_outlook *o, const struct allocate_class *c);
uint32_t allocate_supply_crowd(const struct allocate_outlook *o, const struct allocate_crowd *c);

/* The remaining sum of all counters of that name. */
__int128 allocate_supply_family(const struct allocate_plan *plan, struct str name);

/* --- allocate/flow.c ---------------------------------------------------------------- */

/*
 * A flow from sources to sinks, with sinks grouped in crowds. limit[s * nsinks + k] bounds the flow
 * from source s to sink k, room[k] bounds the sink, and crowd_room[c] bounds all sinks of a crowd
 * together.
 */
struct allocate_flow {
	uint32_t nsources, nsinks, ncrowds;
	const uint32_t *need; /* by source */
	const uint32_t *limit;
	const uint32_t *room;
	const uint32_t *crowd; /* by sink: index of its crowd, or ALLOCATE_NONE */
	const uint32_t *crowd_room;
};

/* Whether every source can send its need. Adds the number of visited edges to *work. */
bool allocate_flow_fits(const struct allocate_flow *f, struct arena *a, uint64_t *work);

#endif
