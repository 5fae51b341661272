/*
 * allocate_outlook - what is known about all devices at once, to cut the search short.
 *
 * Devices that do not differ in anything that matters to these claims form a class: if one of them
 * led nowhere, so will the others. The outlook asks whether what is still wanted could be had if
 * each request took its devices without regard to some of the rules: where not even that is
 * possible, the search need not go on.
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
	uint32_t shares; /* of a shareable one: how many more it can bear at most */
	uint32_t crowd; /* of classes that draw on one counter; ALLOCATE_NONE */
};

/* Classes that draw on one counter: together they are bounded by it. */
struct allocate_crowd {
	uint32_t pool, counter;
	__int128 least; /* the smallest amount that one of them takes */
};

/* A counter's name, over all counter sets: what is left of them together bounds the rest. */
struct allocate_family {
	struct str name;
	__int128 *least; /* by request: the smallest amount that any of its devices takes */
};

struct allocate_outlook {
	struct allocate_plan *plan;
	/*
	 * Nothing that the search comes to can be at fault: what is hopeless may be skipped. And:
	 * no constraint is on all devices, which are tried in a fixed order: alike is alike.
	 */
	bool sure, alike;
	uint32_t *class_of; /* by ordinal */
	struct allocate_class *classes;
	uint32_t n;
	uint32_t **candidates; /* by request: ordinals, ascending */
	uint32_t *ncandidates;
	uint8_t *fits; /* by request, then class: its devices may serve the request */
	/* By constraint of all claims, then class: id of the value; 0: it has none. */
	uint32_t *values;
	uint32_t nvalues; /* the largest id */
	uint32_t *first_constraint; /* by claim */
	struct allocate_crowd *crowds;
	uint32_t ncrowds;
	struct allocate_family *families;
	uint32_t nfamilies;
	uint32_t *shares; /* by ordinal of a shareable device: what its class counts it with */
	uint64_t work; /* so far, in visits of a class by a request */
	struct allocate_demand *demands; /* room for one per group */
};

/* Looks at all devices and all requests. */
void allocate_outlook_init(struct allocate_outlook *o, struct allocate_plan *plan);

/* To be told of each device taken, and given back. */
void allocate_outlook_taken(struct allocate_outlook *o, uint32_t ordinal);
void allocate_outlook_untaken(struct allocate_outlook *o, uint32_t ordinal);

/*
 * Whether the rest may still be had: of `request` as many as `missing`, from the ordinal on, and
 * all groups from `group` on. ALLOCATE_NONE: no request is under way. True when in doubt.
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

/* Sets plan-wide tables up to first_constraint; a part of allocate_outlook_init(). */
void allocate_classes_init(struct allocate_outlook *o);

/* --- allocate/supply.c -------------------------------------------------------------- */

/* Amounts above this are not counted: 10^21 units. No sum of them overflows. */
#define ALLOCATE_AMOUNT_MAX ((__int128)1 << 100)

/* Crowds, families and shares; a part of allocate_outlook_init(). */
void allocate_supply_init(struct allocate_outlook *o);

/* How many devices, or shares, requests can still have of a class, or of a crowd; at most. */
uint32_t allocate_supply_class(const struct allocate_outlook *o, const struct allocate_class *c);
uint32_t allocate_supply_crowd(const struct allocate_outlook *o, const struct allocate_crowd *c);

/* What is left of all counters of that name. */
__int128 allocate_supply_family(const struct allocate_plan *plan, struct str name);

/* --- allocate/flow.c ---------------------------------------------------------------- */

/*
 * Units from sources through sinks, sinks in crowds: does everything that sources need get
 * through? limit[s * nsinks + k] bounds what source s gives to sink k, room[k] the sink,
 * crowd_room[c] all sinks of a crowd.
 */
struct allocate_flow {
	uint32_t nsources, nsinks, ncrowds;
	const uint32_t *need; /* by source */
	const uint32_t *limit;
	const uint32_t *room;
	const uint32_t *crowd; /* by sink: ALLOCATE_NONE, or which */
	const uint32_t *crowd_room;
};

/* Counts its visits in *work. */
bool allocate_flow_fits(const struct allocate_flow *f, struct arena *a, uint64_t *work);

#endif
