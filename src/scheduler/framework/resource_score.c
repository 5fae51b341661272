/*
 * Each resource is looked up once per node into `usage`; the strategies then work on numbers.
 */
#include "scheduler/framework/resource_score.h"

#include <math.h>

#include "scheduler/framework/plugin.h"

enum { CUSTOM_SCORE_MAX = 10 }; /* of points in arguments */

/* --- arguments ------------------------------------------------------------------------------ */

int64_t resource_scores_weight(const struct json *resource)
{
	int64_t weight = json_i64_at(resource, "weight", 0);

	return weight ? weight : 1;
}

static struct resource_weight read_resource(struct amount_names *names, const struct json *v)
{
	struct resource_weight w = { .what = SCORED_SCALAR, .weight = resource_scores_weight(v) };
	struct str name = json_text_at(v, "name");

	if (str_eqz(name, "cpu"))
		w.what = SCORED_CPU;
	else if (str_eqz(name, "memory"))
		w.what = SCORED_MEMORY;
	else if (str_eqz(name, "ephemeral-storage"))
		w.what = SCORED_EPHEMERAL;
	else
		w.name = amount_names_id(names, name);
	return w;
}

void resource_scores_read(struct resource_scores *s, struct arena *a, struct amount_names *names,
			  const struct json *list)
{
	size_t n = MAX(json_count(list), 2);

	s->resources = ARENA_ARRAY(a, struct resource_weight, n);
	s->usage = ARENA_ARRAY(a, struct resource_usage, n);
	s->n = 0;
	JSON_FOREACH (v, list)
		s->resources[s->n++] = read_resource(names, v);
	if (s->n > 0)
		return;
	s->resources[s->n++] = (struct resource_weight){ .what = SCORED_CPU, .weight = 1 };
	s->resources[s->n++] = (struct resource_weight){ .what = SCORED_MEMORY, .weight = 1 };
}

void resource_scores_check(const struct json *list, const struct field_path *path,
			   struct field_errors *faults)
{
	size_t i = 0;

	JSON_FOREACH (v, list) {
		struct field_path item = field_path_index(path, i++);
		struct field_path field = field_path_name(&item, "weight");
		int64_t weight = resource_scores_weight(v);

		if (weight <= 0 || weight > 100)
			field_errors_addf(faults, FIELD_INVALID, &field, FIELD_I64(weight),
					  "resource weight of %.*s not in valid range (0, 100]",
					  STR_ARG(json_text_at(v, "name")));
	}
}

void resource_shape_read(struct resource_scores *s, struct arena *a, const struct json *shape)
{
	s->shape = ARENA_ARRAY(a, struct resource_point, json_count(shape));
	s->nshape = 0;
	JSON_FOREACH (v, shape)
		s->shape[s->nshape++] = (struct resource_point){
			.used = json_i64_at(v, "utilization", 0),
			.score = json_i64_at(v, "score", 0) * (SCORE_MAX / CUSTOM_SCORE_MAX)
		};
}

static void resource_score_check_range(const struct json *point, const char *name, int64_t most,
				       const struct field_path *path, struct field_errors *faults)
{
	struct field_path field = field_path_name(path, name);
	int64_t value = json_i64_at(point, name, 0);

	if (value < 0 || value > most)
		field_errors_addf(faults, FIELD_INVALID, &field, FIELD_I64(value),
				  "not in valid range [0, %d]", (int)most);
}

void resource_shape_check(const struct json *shape, const struct field_path *path,
			  struct field_errors *faults)
{
	const struct json *last = NULL;
	size_t i = 0;

	if (json_count(shape) == 0) {
		field_errors_required(faults, path, "at least one point must be specified");
		return;
	}
	JSON_FOREACH (v, shape) {
		struct field_path item = field_path_index(path, i++);
		struct field_path field = field_path_name(&item, "utilization");
		int64_t used = json_i64_at(v, "utilization", 0);

		if (last && json_i64_at(last, "utilization", 0) >= used) {
			field_errors_invalid(faults, &field, FIELD_I64(used),
					     "values must be sorted in increasing order");
			break;
		}
		last = v;
	}
	i = 0;
	JSON_FOREACH (v, shape) {
		struct field_path item = field_path_index(path, i++);

		resource_score_check_range(v, "utilization", 100, &item, faults);
		resource_score_check_range(v, "score", CUSTOM_SCORE_MAX, &item, faults);
	}
}

/* --- a node --------------------------------------------------------------------------------- */

static int64_t request_of(const struct resource_weight *w, const struct podinfo *pod)
{
	switch (w->what) {
	case SCORED_CPU:
		return pod->requests.cpu_milli;
	case SCORED_MEMORY:
		return pod->requests.memory;
	case SCORED_EPHEMERAL:
		return pod->requests.ephemeral;
	case SCORED_SCALAR:
		break;
	}
	return amounts_scalar(&pod->requests, w->name);
}

int64_t *resource_scores_requests(const struct resource_scores *s, struct arena *a,
				  struct amount_names *names, const struct podinfo *pod)
{
	int64_t *requests = ARENA_ARRAY(a, int64_t, s->n);

	int64_t cpu = 0, memory = 0;

	for (size_t i = 0; i < s->n; i++)
		requests[i] = request_of(&s->resources[i], pod);
	if (s->exact)
		return requests;
	podinfo_nonzero_of_containers(pod, names, &cpu, &memory);
	for (size_t i = 0; i < s->n; i++) {
		if (s->resources[i].what == SCORED_CPU)
			requests[i] = cpu;
		else if (s->resources[i].what == SCORED_MEMORY)
			requests[i] = memory;
	}
	return requests;
}

static struct resource_usage usage_of(const struct resource_scores *s,
				      const struct resource_weight *w, const struct nodeinfo *n)
{
	const struct amounts *all = &n->node->allocatable;

	switch (w->what) {
	case SCORED_CPU:
		return (struct resource_usage){ .allocatable = all->cpu_milli,
						.allocated = s->exact ? n->requested.cpu_milli
								      : n->nonzero_cpu_milli };
	case SCORED_MEMORY:
		return (struct resource_usage){ .allocatable = all->memory,
						.allocated = s->exact ? n->requested.memory
								      : n->nonzero_memory };
	case SCORED_EPHEMERAL:
		return (struct resource_usage){ .allocatable = all->ephemeral,
						.allocated = n->requested.ephemeral };
	case SCORED_SCALAR:
		break;
	}
	return (struct resource_usage){ .allocatable = amounts_scalar(all, w->name),
					.allocated = amounts_scalar(&n->requested, w->name) };
}

int64_t resource_scores_of(const struct resource_scores *s, const int64_t *requests,
			   const struct nodeinfo *n)
{
	for (size_t i = 0; i < s->n; i++) {
		struct resource_usage *u = &s->usage[i];

		/* A scalar that the pod does not request does not affect the score. */
		*u = (struct resource_usage){ 0 };
		if (requests[i] != 0 || s->resources[i].what != SCORED_SCALAR)
			*u = usage_of(s, &s->resources[i], n);
		if (u->allocatable == 0)
			*u = (struct resource_usage){ 0 };
		else
			u->requested = amount_sum(u->allocated, requests[i]);
	}
	return s->score(s);
}

/* --- strategies ----------------------------------------------------------------------------- */

static int64_t weighted(const struct resource_scores *s,
			int64_t (*score)(const struct resource_usage *u))
{
	int64_t sum = 0, weights = 0;

	for (size_t i = 0; i < s->n; i++) {
		if (s->usage[i].allocatable == 0)
			continue;
		sum += score(&s->usage[i]) * s->resources[i].weight;
		weights += s->resources[i].weight;
	}
	return weights ? sum / weights : 0;
}

/* Of 100; the whole is no smaller, and not 0. */
static int64_t percent(int64_t part, int64_t whole)
{
	return (int64_t)((__int128)part * 100 / whole);
}

static int64_t unused(const struct resource_usage *u)
{
	if (u->requested > u->allocatable)
		return 0;
	return percent(u->allocatable - u->requested, u->allocatable);
}

static int64_t used(const struct resource_usage *u)
{
	return percent(MIN(u->requested, u->allocatable), u->allocatable);
}

int64_t resource_score_least(const struct resource_scores *s)
{
	return weighted(s, unused);
}

int64_t resource_score_most(const struct resource_scores *s)
{
	return weighted(s, used);
}

int64_t resource_shape_at(const struct resource_scores *s, int64_t percent)
{
	for (size_t i = 0; i < s->nshape; i++) {
		const struct resource_point *b = &s->shape[i];

		if (percent > b->used)
			continue;
		if (i == 0)
			return b->score;
		return b[-1].score +
		       (b->score - b[-1].score) * (percent - b[-1].used) / (b->used - b[-1].used);
	}
	return s->shape[s->nshape - 1].score;
}

int64_t resource_score_shaped(const struct resource_scores *s)
{
	int64_t sum = 0, weights = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct resource_usage *u = &s->usage[i];
		int64_t score;

		if (u->allocatable == 0)
			continue;
		score = resource_shape_at(s, u->requested > u->allocatable
						     ? 100
						     : percent(u->requested, u->allocatable));
		if (score <= 0)
			continue;
		sum += score * s->resources[i].weight;
		weights += s->resources[i].weight;
	}
	return weights ? (int64_t)round((double)sum / (double)weights) : 0;
}

static double fraction_of(const struct resource_usage *u, bool with_pod)
{
	double fraction = (double)(with_pod ? u->requested : u->allocated) / (double)u->allocatable;

	return fraction > 1 ? 1 : fraction;
}

/* Returns 100 minus the standard deviation of the used fractions. */
static int64_t balance(const struct resource_scores *s, bool with_pod)
{
	double total = 0, sum = 0, deviation = 0, first[2] = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++) {
		double fraction;

		if (s->usage[i].allocatable == 0)
			continue;
		fraction = fraction_of(&s->usage[i], with_pod);
		total += fraction;
		if (n < 2)
			first[n] = fraction;
		n++;
	}
	if (n == 2)
		deviation = fabs((first[0] - first[1]) / 2);
	for (size_t i = 0; n > 2 && i < s->n; i++) {
		double off;

		if (s->usage[i].allocatable == 0)
			continue;
		off = fraction_of(&s->usage[i], with_pod) - total / (double)n;
		sum += off * off;
	}
	if (n > 2)
		deviation = sqrt(sum / (double)n);
	return (int64_t)((1 - deviation) * (double)SCORE_MAX);
}

/* Scores how much the pod improves the balance; 75 if it does not change it. */
int64_t resource_score_balanced(const struct resource_scores *s)
{
	return SCORE_MAX / 2 + (SCORE_MAX / 2 + balance(s, true) - balance(s, false)) / 2;
}
