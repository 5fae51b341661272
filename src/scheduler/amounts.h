/*
 * amounts - quantities of resources: processor, memory, local storage, and whatever else has a name.
 *
 * Names other than the three that every node has ("example.com/gpu", "hugepages-2Mi",
 * "attachable-volumes-..") are turned into small numbers once, so that adding and comparing
 * amounts compares integers.
 */
#ifndef SCHEDULER_AMOUNTS_H
#define SCHEDULER_AMOUNTS_H

#include "base/map.h"
#include "base/vec.h"

struct json;

/* All names of resources that were ever seen; a number stays the name's for good. */
struct amount_names {
	struct map by_name;
	VEC(struct amount_name *) names;
};
struct amount_name {
	uint32_t id;
	struct str name;
};

void amount_names_init(struct amount_names *n);
void amount_names_release(struct amount_names *n);
uint32_t amount_names_id(struct amount_names *n, struct str name);
struct str amount_names_text(const struct amount_names *n, uint32_t id);

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
void amounts_sub(struct amounts *a, const struct amounts *b);
void amounts_max(struct amounts *a, const struct amounts *b); /* each the larger one */
int64_t amounts_scalar(const struct amounts *a, uint32_t name); /* 0 when absent */
void amounts_set_scalar(struct amounts *a, uint32_t name, int64_t value);

/* Adds a ResourceList: an object of quantities. Processor in thousandths, the rest in whole units. */
void amounts_add_list(struct amounts *a, struct amount_names *names, const struct json *list);

#endif
