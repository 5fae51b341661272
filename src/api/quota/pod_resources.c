/*
 * While a pod is resized in place, a container has up to three values: those in the spec, those
 * that the node has allocated, and those in effect. Each is summed over the pod, and the largest
 * sum counts. The spec does not count if the node has declared the resize infeasible.
 *
 * Names are independent of each other. So the amounts of all containers are put into one array,
 * sorted by name and then by the start order of containers, and one walk computes the sums. This
 * also handles pods with thousands of containers, each with its own names.
 */
#include "api/quota/pod_resources.h"

#include <stdlib.h>

#include "base/core/map.h"
#include "base/json/json.h"

enum source { SOURCE_SPEC, SOURCE_ALLOCATED, SOURCE_ACTUATED };

struct sum {
	struct arena *arena;
	const struct json *spec, *status;
	struct map statuses; /* statuses of containers by name; filled when a source needs them */
	const char *list; /* "requests" or "limits" */
	bool infeasible;
};

static bool is_whole(struct str name)
{
	return str_eqz(name, "cpu") || str_eqz(name, "memory") ||
	       str_starts(name, STR("hugepages-"));
}

static bool has_whole(const struct json *list)
{
	JSON_FOREACH (v, list)
		if (is_whole(json_key(v)))
			return true;
	return false;
}

static const struct json *whole(const struct json *pod)
{
	return json_getz(json_getz(pod, "spec"), "resources");
}

bool pod_resources_whole(const struct json *pod)
{
	return has_whole(json_getz(whole(pod), "requests")) ||
	       has_whole(json_getz(whole(pod), "limits"));
}

static bool is_infeasible(const struct json *status)
{
	const struct json *c = json_find(json_getz(status, "conditions"), "type",
					 STR("PodResizePending"));

	return str_eqz(json_text_at(c, "reason"), "Infeasible");
}

/* Indexes the first status of each name; containers come before init containers. */
static void index_statuses(struct sum *s, const char *list)
{
	JSON_FOREACH (it, json_getz(s->status, list)) {
		struct str name = json_text_at(it, "name");

		if (!map_get(&s->statuses, name))
			(void)map_put(&s->statuses, name, it);
	}
}

/* Returns the list of one container from that source, or NULL. */
static const struct json *list_of(const struct sum *s, const struct json *container,
				  enum source source)
{
	const struct json *wanted = json_getz(json_getz(container, "resources"), s->list);
	const struct json *status, *list = NULL;

	if (source == SOURCE_SPEC)
		return wanted;
	status = map_get(&s->statuses, json_text_at(container, "name"));
	if (source == SOURCE_ACTUATED)
		list = json_getz(json_getz(status, "resources"), s->list);
	if (!list && str_eqz(str_from(s->list), "requests"))
		list = json_getz(status, "allocatedResources");
	if (list)
		return list;
	return s->infeasible ? NULL : wanted;
}

/* An amount of one container. */
struct part {
	struct amount amount;
	size_t at; /* index of the container in start order */
	enum { PART_MAIN, PART_INIT, PART_SIDECAR } role;
};

struct parts {
	struct part *v; /* NULL: only count */
	size_t n;
};

static void collect_list(struct parts *p, const struct json *list, struct part part)
{
	if (!json_is(list, JSON_OBJECT))
		return;
	if (!p->v) {
		p->n += list->n;
		return;
	}
	JSON_FOREACH (it, list) {
		part.amount.name = json_key(it);
		if (quantity_read(it, &part.amount.q))
			p->v[p->n++] = part;
	}
}

static void pod_resources_collect(const struct sum *s, enum source source, struct parts *p)
{
	struct part part = { .role = PART_MAIN };

	JSON_FOREACH (c, json_getz(s->spec, "containers")) {
		collect_list(p, list_of(s, c, source), part);
		part.at++;
	}
	JSON_FOREACH (c, json_getz(s->spec, "initContainers")) {
		bool always = str_eqz(json_text_at(c, "restartPolicy"), "Always");

		part.role = always ? PART_SIDECAR : PART_INIT;
		collect_list(p, list_of(s, c, source), part);
		part.at++;
	}
}

static int by_name_and_start(const void *x, const void *y)
{
	const struct part *a = x, *b = y;
	int c = str_cmp(a->amount.name, b->amount.name);

	return c ? c : (a->at > b->at) - (a->at < b->at);
}

/* Empty, or an amount; the first amount keeps its format. */
struct so_far {
	bool any;
	struct quantity q;
};

static void pod_resources_take(struct so_far *f, struct quantity q,
			       struct quantity (*join)(struct quantity a, struct quantity b))
{
	f->q = f->any ? join(f->q, q) : q;
	f->any = true;
}

/* Combines the n parts of one name. */
static struct quantity fold(const struct part *v, size_t n)
{
	struct so_far total = { 0 }, sidecars = { 0 }, most = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct quantity q = v[i].amount.q;

		if (v[i].role != PART_INIT)
			pod_resources_take(&total, q, amount_sum);
		if (v[i].role == PART_SIDECAR) {
			pod_resources_take(&sidecars, q, amount_sum);
			pod_resources_take(&most, sidecars.q, amount_most);
		} else if (v[i].role == PART_INIT) {
			pod_resources_take(&most, sidecars.any ? amount_sum(q, sidecars.q) : q,
					   amount_most);
		}
	}
	if (most.any)
		pod_resources_take(&total, most.q, amount_most);
	return total.q;
}

static struct amount_list sum_of(const struct sum *s, enum source source)
{
	struct amount_list total = amount_list_new(s->arena);
	struct parts p = { 0 };

	pod_resources_collect(s, source, &p);
	if (p.n)
		p.v = arena_try_alloc(s->arena, p.n * sizeof(*p.v));
	if (!p.v || !amount_list_reserve(&total, p.n))
		return total;
	p.n = 0;
	pod_resources_collect(s, source, &p);
	if (p.n)
		qsort(p.v, p.n, sizeof(*p.v), by_name_and_start);
	for (size_t i = 0, end; i < p.n; i = end) {
		struct str name = p.v[i].amount.name;

		for (end = i + 1; end < p.n && str_eq(p.v[end].amount.name, name);)
			end++;
		total.v[total.n++] = (struct amount){ name, fold(&p.v[i], end - i) };
	}
	return total;
}

static struct sum sum_init(const struct json *pod, const char *list, struct arena *a)
{
	const struct json *status = json_getz(pod, "status");

	struct sum s = { .arena = a,
			 .spec = json_getz(pod, "spec"),
			 .status = status,
			 .list = list,
			 .infeasible = is_infeasible(status) };

	map_init(&s.statuses);
	return s;
}

/* Returns the maximum over the sources. */
static struct amount_list most_of(struct sum *s, bool requests)
{
	struct amount_list total = amount_list_new(s->arena), one;

	if (!s->infeasible)
		total = sum_of(s, SOURCE_SPEC);
	if (!s->infeasible && !json_count(json_getz(s->status, "containerStatuses")) &&
	    !json_count(json_getz(s->status, "initContainerStatuses")))
		return total;
	index_statuses(s, "containerStatuses");
	index_statuses(s, "initContainerStatuses");
	one = sum_of(s, SOURCE_ACTUATED);
	amount_list_max(&total, &one);
	if (requests) {
		one = sum_of(s, SOURCE_ALLOCATED);
		amount_list_max(&total, &one);
	}
	return total;
}

/* Replaces the sum of the containers by the pod-level resources. */
static void put_whole(struct amount_list *l, const struct json *list, enum pod_resources how)
{
	struct amount_list read = amount_list_read(l->arena, list);
	size_t n = 0;

	for (size_t i = 0; i < read.n; i++) {
		struct str name = read.v[i].name;

		/* Limit ranges ignore pod-level huge pages. */
		if (is_whole(name) &&
		    (how == POD_RESOURCES_CHARGED || !str_starts(name, STR("hugepages-"))))
			read.v[n++] = read.v[i];
	}
	read.n = n;
	amount_list_put(l, &read);
}

struct amount_list pod_resources_requests(const struct json *pod, enum pod_resources how,
					  struct arena *a)
{
	struct sum s = sum_init(pod, "requests", a);
	struct amount_list total, overhead;

	total = how == POD_RESOURCES_SPEC ? sum_of(&s, SOURCE_SPEC) : most_of(&s, true);
	map_release(&s.statuses);
	put_whole(&total, json_getz(whole(pod), "requests"), how);
	if (how == POD_RESOURCES_CHARGED) {
		overhead = amount_list_read(a, json_getz(s.spec, "overhead"));
		amount_list_add(&total, &overhead);
	}
	return total;
}

struct amount_list pod_resources_limits(const struct json *pod, enum pod_resources how,
					struct arena *a)
{
	struct sum s = sum_init(pod, "limits", a);
	struct amount_list total, overhead;
	size_t n = 0;

	total = how == POD_RESOURCES_SPEC ? sum_of(&s, SOURCE_SPEC) : most_of(&s, false);
	map_release(&s.statuses);
	put_whole(&total, json_getz(whole(pod), "limits"), how);
	if (how == POD_RESOURCES_SPEC)
		return total;
	/* Overhead is added only to amounts that are limited. */
	overhead = amount_list_read(a, json_getz(s.spec, "overhead"));
	for (size_t i = 0; i < overhead.n; i++) {
		const struct quantity *q = amount_list_get(&total, overhead.v[i].name);

		if (q && quantity_sign(*q) != 0)
			overhead.v[n++] = overhead.v[i];
	}
	overhead.n = n;
	amount_list_add(&total, &overhead);
	return total;
}

/* --- QoS ---------------------------------------------------------------------------------- */

static bool is_zero(const struct json *resources, const char *name)
{
	struct quantity q;

	if (quantity_read(json_getz(json_getz(resources, "requests"), name), &q) && q.nano != 0)
		return false;
	return !quantity_read(json_getz(json_getz(resources, "limits"), name), &q) || q.nano == 0;
}

static bool asks_for_nothing(const struct json *resources)
{
	return is_zero(resources, "cpu") && is_zero(resources, "memory");
}

static bool all_ask_for_nothing(const struct json *containers)
{
	JSON_FOREACH (c, containers)
		if (!asks_for_nothing(json_getz(c, "resources")))
			return false;
	return true;
}

bool pod_resources_best_effort(const struct json *pod)
{
	struct str class = json_text_at(json_getz(pod, "status"), "qosClass");
	const struct json *spec = json_getz(pod, "spec");

	if (class.n)
		return str_eqz(class, "BestEffort");
	if (pod_resources_whole(pod))
		return asks_for_nothing(whole(pod));
	return all_ask_for_nothing(json_getz(spec, "containers")) &&
	       all_ask_for_nothing(json_getz(spec, "initContainers"));
}
