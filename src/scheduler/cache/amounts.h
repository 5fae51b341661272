/*
 * amounts - quantities of resources: processor, memory, local storage, and whatever has a name.
 *
 * Names other than the three that every node has ("example.com/gpu", "hugepages-2Mi",
 * "attachable-volumes-..") are turned into small numbers once, so that adding and comparing
 * amounts compares integers.
 */
#ifndef SCHEDULER_CACHE_AMOUNTS_H
#define SCHEDULER_CACHE_AMOUNTS_H

#include "base/core/map.h"
#include "base/core/vec.h"

struct json;

/*
 * The most that one pod is said to take of anything: thousands of such pods on a node have a sum,
 * so that taking one away undoes its adding. Who wants as much fits nowhere.
 */
#define AMOUNT_MAX (INT64_MAX >> 12)

/* Quantities end at 64 bits as upstream's do; sums stop there. */
static inline int64_t amount_sum(int64_t a, int64_t b)
{
	int64_t r;

	if (__builtin_add_overflow(a, b, &r))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return r;
}

static inline int64_t amount_clamp(int64_t v)
{
	return MIN(MAX(v, 0), AMOUNT_MAX);
}

static inline bool amount_exceeds(int64_t want, int64_t room)
{
	return want > room || want >= AMOUNT_MAX;
}

/*
 * Names of resources. A name has its number while anything has it that was read and held
 * (amounts_hold()), so all names together are bounded by what there is of pods and nodes; the
 * number is another name's afterwards. It must outlive all that holds.
 */
struct amount_names {
	struct map by_name;
	VEC(struct amount_name *) names; /* by number; NULL: the number is free */
	VEC(uint32_t) free;
	VEC(uint32_t) unheld; /* read, and not held yet */
};
struct amount_name {
	uint32_t id;
	size_t holds;
	struct str name;
};

void amount_names_init(struct amount_names *n);
void amount_names_release(struct amount_names *n);
/* The name's number for good; for what a configuration names. */
uint32_t amount_names_id(struct amount_names *n, struct str name);
/* Its number until the next amounts_hold() of something that does not have it. */
uint32_t amount_names_read(struct amount_names *n, struct str name);
struct str amount_names_text(const struct amount_names *n, uint32_t id); /* or STR_NULL */

struct amount_scalar {
	uint32_t name;
	int64_t value;
};

/* Scalars are in the order of their numbers; entries of 0 may be there. */
struct amounts {
	int64_t cpu_milli;
	int64_t memory, ephemeral; /* bytes */
	int64_t pods; /* of a node's allocatable: how many it takes */
	VEC(struct amount_scalar) scalars;
};

void amounts_init(struct amounts *a);
void amounts_release(struct amounts *a);
void amounts_copy(struct amounts *to, const struct amounts *from); /* `to` is initialised */
void amounts_add(struct amounts *a, const struct amounts *b);
void amounts_sub(struct amounts *a, const struct amounts *b); /* scalars of 0 are dropped */
void amounts_max(struct amounts *a, const struct amounts *b); /* each the larger one */
int64_t amounts_scalar(const struct amounts *a, uint32_t name); /* 0 when absent */
void amounts_set_scalar(struct amounts *a, uint32_t name, int64_t value);

/* Each at least 0 and at most AMOUNT_MAX. */
void amounts_clamp(struct amounts *a);

/*
 * Keeps the numbers of its names for it until amounts_drop(), which comes before it changes or is
 * released. Numbers that were read before and that nobody holds by now are given up.
 */
void amounts_hold(const struct amounts *a, struct amount_names *names);
void amounts_drop(const struct amounts *a, struct amount_names *names);

/*
 * Adds a ResourceList: an object of quantities. Processor in thousandths, the rest in whole units.
 * Stops and returns false when there would be more than `max` scalars.
 */
bool amounts_add_list(struct amounts *a, struct amount_names *names, const struct json *list,
		      size_t max);

#endif
