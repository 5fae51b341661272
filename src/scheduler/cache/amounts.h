/*
 * amounts - quantities of resources: CPU, memory, ephemeral storage and named (scalar) resources.
 *
 * Names of scalar resources ("example.com/gpu", "hugepages-2Mi", "attachable-volumes-..") are
 * mapped to small numbers once, so that adding and comparing amounts only compares integers.
 */
#ifndef SCHEDULER_CACHE_AMOUNTS_H
#define SCHEDULER_CACHE_AMOUNTS_H

#include "base/core/map.h"
#include "base/core/vec.h"

struct json;

/*
 * A pod's request of any resource is capped at this. Thousands of such pods on a node can be summed
 * without saturating, so subtracting a pod undoes its addition. A pod that requests this much fits
 * on no node.
 */
#define AMOUNT_MAX (INT64_MAX >> 12)

/* Adds and saturates at 64 bits, as upstream. */
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
 * Names of resources. A name keeps its number while some amounts hold it (amounts_hold());
 * afterwards the number may be reused. So the number of names is bounded by the pods and nodes that
 * exist. This struct must outlive all amounts that hold names.
 */
struct amount_names {
	struct map by_name;
	VEC(struct amount_name *) names; /* by number; NULL: the number is free */
	VEC(uint32_t) free;
	VEC(uint32_t) unheld; /* numbers that were read but are not held yet */
};
struct amount_name {
	uint32_t id;
	size_t holds;
	struct str name;
};

void amount_names_init(struct amount_names *n);
void amount_names_release(struct amount_names *n);
/* Returns the name's number, and keeps it for ever. For names in the configuration. */
uint32_t amount_names_id(struct amount_names *n, struct str name);
/*
 * Returns the name's number. It is valid until the next amounts_hold() of amounts without the name.
 */
uint32_t amount_names_read(struct amount_names *n, struct str name);
struct str amount_names_text(const struct amount_names *n, uint32_t id); /* or STR_NULL */

struct amount_scalar {
	uint32_t name;
	int64_t value;
};

/* Scalars are sorted by number; there may be entries of 0. */
struct amounts {
	int64_t cpu_milli;
	int64_t memory, ephemeral; /* bytes */
	int64_t pods; /* in a node's allocatable: the maximum number of pods */
	VEC(struct amount_scalar) scalars;
};

void amounts_init(struct amounts *a);
void amounts_release(struct amounts *a);
void amounts_copy(struct amounts *to, const struct amounts *from); /* `to` is initialised */
void amounts_add(struct amounts *a, const struct amounts *b);
void amounts_sub(struct amounts *a, const struct amounts *b); /* scalars of 0 are dropped */
void amounts_max(struct amounts *a, const struct amounts *b); /* the maximum of each */
int64_t amounts_scalar(const struct amounts *a, uint32_t name); /* 0 when absent */
void amounts_set_scalar(struct amounts *a, uint32_t name, int64_t value);

/* Limits each amount to 0..AMOUNT_MAX. */
void amounts_clamp(struct amounts *a);

/*
 * Holds the numbers of the names in `a` until amounts_drop(), which must be called before `a`
 * changes or is released. Frees all numbers that were read earlier and are not held.
 */
void amounts_hold(const struct amounts *a, struct amount_names *names);
void amounts_drop(const struct amounts *a, struct amount_names *names);

/*
 * Adds a ResourceList: an object of quantities. CPU is in thousandths, the rest in whole units.
 * Stops and returns false if there would be more than `max` scalars.
 */
bool amounts_add_list(struct amounts *a, struct amount_names *names, const struct json *list,
		      size_t max);

#endif
