/*
 * Computes a pod's requests like upstream's resource helper.
 *
 * Containers are summed. Init containers run one after the other, so the largest of them counts,
 * each together with the sidecars (restartable init containers) that were started before it.
 * Sidecars are part of the sum, too. While a pod is resized in place, the maximum of desired,
 * allocated and actual requests counts. Pod-level requests replace those of the containers.
 * Overhead is added.
 */
#include "scheduler/cache/podinfo_impl.h"
#include "scheduler/scheduler_limits.h"

enum source { SOURCE_SPEC, SOURCE_ALLOCATED, SOURCE_ACTUATED };

enum {
	DEFAULT_CPU_MILLI = 100,
	DEFAULT_MEMORY = 200 * 1024 * 1024,
};

struct sums {
	const struct podinfo_reader *r;
	bool infeasible; /* the node cannot resize it: the desired requests do not count */
	int64_t default_cpu, default_memory; /* of a container without requests */
	bool has_cpu, has_memory; /* something says */
	bool lacks; /* some container does not say */
	bool containers_only; /* what the pod says as a whole does not count */
	bool too_many; /* names of resources: the sums are not complete */
};

static void podinfo_requests_add_list(struct sums *s, struct amounts *to, const struct json *list)
{
	if (!amounts_add_list(to, s->r->names, list, POD_RESOURCES_MAX))
		s->too_many = true;
}

static void note_size(struct sums *s, const struct amounts *a)
{
	s->too_many |= a->scalars.n > POD_RESOURCES_MAX;
}

static bool resize_infeasible(const struct json *status)
{
	const struct json *c = json_find(json_getz(status, "conditions"), "type",
					 STR("PodResizePending"));

	return str_eqz(json_text_at(c, "reason"), "Infeasible");
}

static const struct json *podinfo_requests_status_of(const struct json *status,
						     const struct json *container)
{
	struct str name = json_text_at(container, "name");
	const struct json *s = json_find(json_getz(status, "containerStatuses"), "name", name);

	return s ? s : json_find(json_getz(status, "initContainerStatuses"), "name", name);
}

/* Returns a container's requests from `source`, or NULL. */
static const struct json *requests_of(const struct sums *s, const struct json *container,
				      enum source source)
{
	const struct json *wanted = json_getz(json_getz(container, "resources"), "requests");
	const struct json *status, *list;

	if (source == SOURCE_SPEC)
		return wanted;
	status = podinfo_requests_status_of(s->r->status, container);
	list = source == SOURCE_ACTUATED ? json_getz(json_getz(status, "resources"), "requests")
					 : NULL;
	if (!list)
		list = json_getz(status, "allocatedResources");
	if (list)
		return list;
	return s->infeasible ? NULL : wanted;
}

static void add_container(struct sums *s, const struct json *container, enum source source,
			  struct amounts *to)
{
	const struct json *list = requests_of(s, container, source);
	bool cpu = json_getz(list, "cpu") != NULL, memory = json_getz(list, "memory") != NULL;

	if (s->too_many)
		return;
	podinfo_requests_add_list(s, to, list);
	s->has_cpu |= cpu;
	s->has_memory |= memory;
	s->lacks |= !cpu || !memory;
	if (!cpu)
		to->cpu_milli = amount_sum(to->cpu_milli, s->default_cpu);
	if (!memory)
		to->memory = amount_sum(to->memory, s->default_memory);
}

static void add_containers(struct sums *s, enum source source, struct amounts *to)
{
	struct amounts one, most, sidecars;

	JSON_FOREACH (c, json_getz(s->r->spec, "containers"))
		add_container(s, c, source, to);
	if (json_count(json_getz(s->r->spec, "initContainers")) == 0)
		return;
	amounts_init(&one);
	amounts_init(&most);
	amounts_init(&sidecars);
	JSON_FOREACH (c, json_getz(s->r->spec, "initContainers")) {
		amounts_release(&one);
		amounts_init(&one);
		add_container(s, c, source, &one);
		if (str_eqz(json_text_at(c, "restartPolicy"), "Always")) {
			amounts_add(to, &one);
			amounts_add(&sidecars, &one);
			amounts_max(&most, &sidecars);
		} else {
			amounts_add(&one, &sidecars);
			amounts_max(&most, &one);
		}
		note_size(s, to);
		note_size(s, &most);
		if (s->too_many)
			break;
	}
	amounts_max(to, &most);
	amounts_release(&one);
	amounts_release(&most);
	amounts_release(&sidecars);
}

/*
 * Adds the pod-level resources of the status if the node reports them, else those of the
 * containers.
 */
static void add_from_status(struct sums *s, struct amounts *to)
{
	const struct json *allocated = json_getz(s->r->status, "allocatedResources");
	const struct json *actuated = json_getz(json_getz(s->r->status, "resources"), "requests");
	struct amounts one;

	for (enum source source = SOURCE_ALLOCATED; source <= SOURCE_ACTUATED; source++) {
		amounts_init(&one);
		if (allocated && actuated)
			podinfo_requests_add_list(
				s, &one, source == SOURCE_ALLOCATED ? allocated : actuated);
		else
			add_containers(s, source, &one);
		amounts_max(to, &one);
		amounts_release(&one);
	}
}

static bool is_pod_level(struct str name)
{
	return str_eqz(name, "cpu") || str_eqz(name, "memory") ||
	       str_starts(name, STR("hugepages-"));
}

static bool has_pod_level(const struct json *list)
{
	JSON_FOREACH (v, list)
		if (is_pod_level(json_key(v)))
			return true;
	return false;
}

static void set_pod_level(struct sums *s, struct amounts *to, const struct amounts *level,
			  const struct json *list)
{
	JSON_FOREACH (v, list) {
		struct str name = json_key(v);

		if (!is_pod_level(name))
			continue;
		if (str_eqz(name, "cpu")) {
			to->cpu_milli = level->cpu_milli;
			s->has_cpu = true;
		} else if (str_eqz(name, "memory")) {
			to->memory = level->memory;
			s->has_memory = true;
		} else {
			uint32_t id = amount_names_read(s->r->names, name);

			amounts_set_scalar(to, id, amounts_scalar(level, id));
		}
	}
}

static void apply_pod_level(struct sums *s, struct amounts *to)
{
	const struct json *status = json_getz(s->r->status, "resources");
	const struct json *lists[] = {
		json_getz(json_getz(s->r->spec, "resources"), "requests"),
		json_getz(status, "requests"),
		status ? json_getz(s->r->status, "allocatedResources") : NULL,
	};
	struct amounts level, one;

	if (!has_pod_level(lists[0]))
		return;
	if (status && s->infeasible)
		lists[0] = NULL;
	amounts_init(&level);
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
		amounts_init(&one);
		podinfo_requests_add_list(s, &one, lists[i]);
		amounts_max(&level, &one);
		amounts_release(&one);
	}
	for (size_t i = 0; i < ARRAY_SIZE(lists); i++)
		set_pod_level(s, to, &level, lists[i]);
	amounts_release(&level);
}

static void total(struct sums *s, struct amounts *to)
{
	const struct json *overhead = json_getz(s->r->spec, "overhead");

	if (!s->infeasible)
		add_containers(s, SOURCE_SPEC, to);
	if (s->infeasible || json_getz(s->r->status, "containerStatuses") ||
	    json_getz(s->r->status, "allocatedResources"))
		add_from_status(s, to);
	if (!s->containers_only)
		apply_pod_level(s, to);
	podinfo_requests_add_list(s, to, overhead);
	s->has_cpu |= json_getz(overhead, "cpu") != NULL;
	s->has_memory |= json_getz(overhead, "memory") != NULL;
}

/* Computes upstream's nonzero requests, with defaults for containers without requests. */
static void add_defaults(struct sums *s, struct podinfo *p)
{
	bool level = has_pod_level(json_getz(json_getz(s->r->spec, "resources"), "requests"));
	struct amounts nonzero;

	s->default_cpu = level && s->has_cpu ? 0 : DEFAULT_CPU_MILLI;
	s->default_memory = level && s->has_memory ? 0 : DEFAULT_MEMORY;
	amounts_init(&nonzero);
	total(s, &nonzero);
	p->nonzero_cpu_milli = amount_clamp(nonzero.cpu_milli);
	p->nonzero_memory = amount_clamp(nonzero.memory);
	amounts_release(&nonzero);
}

int podinfo_read_requests(struct podinfo_reader *r, struct error *err)
{
	struct podinfo *p = r->pod;
	struct sums s = { .r = r, .infeasible = resize_infeasible(r->status) };

	total(&s, &p->requests);
	note_size(&s, &p->requests);
	if (s.too_many)
		return error_set(err, ERR_INVALID, "it requests more than %d different resources",
				 POD_RESOURCES_MAX);
	amounts_clamp(&p->requests);
	p->nonzero_cpu_milli = p->requests.cpu_milli;
	p->nonzero_memory = p->requests.memory;
	if (s.lacks)
		add_defaults(&s, p);
	return 0;
}

void podinfo_nonzero_of_containers(const struct podinfo *p, struct amount_names *names,
				   int64_t *ret_cpu_milli, int64_t *ret_memory)
{
	struct podinfo_reader r = { .names = names,
				    .spec = json_getz(p->tree, "spec"),
				    .status = json_getz(p->tree, "status") };
	struct sums s = { .r = &r,
			  .infeasible = resize_infeasible(r.status),
			  .default_cpu = DEFAULT_CPU_MILLI,
			  .default_memory = DEFAULT_MEMORY,
			  .containers_only = true };
	struct amounts sum;

	*ret_cpu_milli = p->nonzero_cpu_milli;
	*ret_memory = p->nonzero_memory;
	if (!has_pod_level(json_getz(json_getz(r.spec, "resources"), "requests")))
		return;
	amounts_init(&sum);
	total(&s, &sum);
	*ret_cpu_milli = amount_clamp(sum.cpu_milli);
	*ret_memory = amount_clamp(sum.memory);
	amounts_release(&sum);
}
