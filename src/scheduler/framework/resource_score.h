/*
 * node_resources_score - scores a node by its requested resources: least, most, by a shape function
 * of the utilization, or balanced.
 *
 * Uses integer arithmetic like upstream. Scratch memory is part of the struct, so scoring a node
 * allocates nothing.
 */
#ifndef SCHEDULER_FRAMEWORK_RESOURCE_SCORE_H
#define SCHEDULER_FRAMEWORK_RESOURCE_SCORE_H

#include "base/core/arena.h"
#include "base/json/json.h"
#include "base/report/field_errors.h"
#include "scheduler/cache/nodeinfo.h"

struct resource_scores;

typedef int64_t resource_score_fn(const struct resource_scores *s);

/*
 * Usage of the resource with the same index in `resources`. If allocatable is 0, it does not count.
 */
struct resource_usage {
	int64_t requested; /* including the pod's */
	int64_t allocated; /* without the pod */
	int64_t allocatable;
};

struct resource_weight {
	enum { SCORED_CPU, SCORED_MEMORY, SCORED_EPHEMERAL, SCORED_SCALAR } what;
	uint32_t name; /* of a scalar */
	int64_t weight;
};

struct resource_point {
	int64_t used; /* per cent */
	int64_t score; /* 0..100 */
};

struct resource_scores {
	struct resource_weight *resources;
	struct resource_usage *usage;
	size_t n;
	bool exact; /* containers without requests count as 0, else as 100m and 200Mi */
	resource_score_fn *score;
	struct resource_point *shape;
	size_t nshape;
};

/* Reads a list of {name, weight}. If it is empty, uses cpu and memory. */
void resource_scores_read(struct resource_scores *s, struct arena *a, struct amount_names *names,
			  const struct json *list);
/* Adds the faults of such a list: weights outside 1..100. */
void resource_scores_check(const struct json *list, const struct field_path *path,
			   struct field_errors *faults);
/* Returns the weight, which defaults to 1. */
int64_t resource_scores_weight(const struct json *resource);

/* Reads and checks points of {utilization, score}. Faults have upstream's words. */
void resource_shape_read(struct resource_scores *s, struct arena *a, const struct json *shape);
void resource_shape_check(const struct json *shape, const struct field_path *path,
			  struct field_errors *faults);
/* Interpolates linearly between the points; constant outside. */
int64_t resource_shape_at(const struct resource_scores *s, int64_t percent);

/* Returns the pod's request of each resource: s->n numbers in `a`. */
int64_t *resource_scores_requests(const struct resource_scores *s, struct arena *a,
				  struct amount_names *names, const struct podinfo *pod);

int64_t resource_scores_of(const struct resource_scores *s, const int64_t *requests,
			   const struct nodeinfo *n);

resource_score_fn resource_score_least, resource_score_most, resource_score_shaped,
	resource_score_balanced;

#endif
