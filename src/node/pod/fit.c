/*
 * As upstream sums up a pod, the larger of two sums counts: the sum at the end (containers and
 * sidecars), and the sum during each init container (itself and the sidecars before it).
 */
#include "node/pod/fit.h"

#include <inttypes.h>

#include "base/json/quantity.h"

struct amounts {
	int64_t cpu_milli, memory;
};

static bool quantity_at(const struct json *map, const char *key, struct quantity *ret_q)
{
	return quantity_parse(json_text_at(map, key), ret_q, NULL) == 0 &&
	       json_text_at(map, key).n > 0;
}

static struct amounts amounts_of(const struct json *resources)
{
	const struct json *requests = json_getz(resources, "requests");
	struct amounts m = { 0 };
	struct quantity q;

	if (quantity_at(requests, "cpu", &q))
		m.cpu_milli = quantity_milli(q);
	if (quantity_at(requests, "memory", &q))
		m.memory = quantity_value(q);
	return m;
}

static struct amounts plus(struct amounts a, struct amounts b)
{
	return (struct amounts){ a.cpu_milli + b.cpu_milli, a.memory + b.memory };
}

static struct amounts larger(struct amounts a, struct amounts b)
{
	return (struct amounts){ MAX(a.cpu_milli, b.cpu_milli), MAX(a.memory, b.memory) };
}

static struct amounts amounts_of_pod(const struct pod *pod)
{
	struct pod_containers c = pod_containers(pod);
	struct amounts main = { 0 }, sidecars = { 0 }, init = { 0 }, total;
	const struct json *overhead = json_getz(pod->spec, "overhead");
	struct quantity q;

	while (pod_containers_next(&c)) {
		struct amounts m = amounts_of(json_getz(c.container, "resources"));

		if (c.kind == POD_MAIN)
			main = plus(main, m);
		else if (c.kind == POD_SIDECAR)
			sidecars = plus(sidecars, m);
		if (c.kind == POD_INIT)
			init = larger(init, plus(sidecars, m));
	}
	total = larger(plus(main, sidecars), init);
	if (quantity_at(overhead, "cpu", &q))
		total.cpu_milli += quantity_milli(q);
	if (quantity_at(overhead, "memory", &q))
		total.memory += quantity_value(q);
	return larger(total, amounts_of(json_getz(pod->spec, "resources")));
}

void fit_add(struct fit_sum *sum, const struct pod *pod)
{
	struct amounts m = amounts_of_pod(pod);

	sum->cpu_milli += m.cpu_milli;
	sum->memory += m.memory;
	sum->pods++;
}

/* --- node selection --------------------------------------------------------------- */

static bool fit_has_value(const struct json *values, struct str v)
{
	return v.p && json_has_text(values, v);
}

static bool compares(const struct json *values, struct str v, bool greater)
{
	int64_t a, b;

	return v.p && str_to_i64(v, &a) && str_to_i64(json_str(json_first(values)), &b) &&
	       (greater ? a > b : a < b);
}

static bool requirement_holds(const struct json *r, struct str v)
{
	struct str op = json_text_at(r, "operator");
	const struct json *values = json_getz(r, "values");

	if (str_eqz(op, "In"))
		return fit_has_value(values, v);
	if (str_eqz(op, "NotIn"))
		return !fit_has_value(values, v);
	if (str_eqz(op, "Exists"))
		return v.p != NULL;
	if (str_eqz(op, "DoesNotExist"))
		return v.p == NULL;
	return compares(values, v, str_eqz(op, "Gt"));
}

static bool term_holds(const struct json *term, const struct json *labels, struct str name)
{
	const struct json *expressions = json_getz(term, "matchExpressions");
	const struct json *fields = json_getz(term, "matchFields");

	if (json_count(expressions) == 0 && json_count(fields) == 0)
		return false;
	JSON_FOREACH (r, expressions) {
		if (!requirement_holds(r, json_str(json_get(labels, json_text_at(r, "key")))))
			return false;
	}
	JSON_FOREACH (r, fields) {
		bool known = str_eqz(json_text_at(r, "key"), "metadata.name");

		if (!requirement_holds(r, known ? name : STR_NULL))
			return false;
	}
	return true;
}

static bool affinity_holds(const struct pod *pod, const struct json *labels, struct str name)
{
	const struct json *node = json_getz(json_getz(pod->spec, "affinity"), "nodeAffinity");
	const struct json *required = json_getz(node,
						"requiredDuringSchedulingIgnoredDuringExecution");

	JSON_FOREACH (it, json_getz(pod->spec, "nodeSelector")) {
		if (!str_eq(json_str(it), json_str(json_get(labels, json_key(it)))))
			return false;
	}
	if (!required)
		return true;
	JSON_FOREACH (term, json_getz(required, "nodeSelectorTerms")) {
		if (term_holds(term, labels, name))
			return true;
	}
	return false;
}

/* --- extended resources ----------------------------------------------------------- */

int64_t fit_extended(const struct pod *pod, struct str resource)
{
	struct pod_containers c = pod_containers(pod);
	int64_t sum = 0, init = 0;

	while (pod_containers_next(&c)) {
		int64_t n = pod_container_limit(c.container, resource);

		if (c.kind == POD_INIT)
			init = MAX(init, sum + n);
		else if (c.kind != POD_EPHEMERAL)
			sum += n;
	}
	return MAX(sum, init);
}

static bool is_extended(struct str name)
{
	return str_chr(name, '/') > 0 && str_find(name, STR("kubernetes.io/")) < 0;
}

/* Whether a claim made by the scheduler backs it. */
static bool is_claimed(const struct pod *pod, struct str name)
{
	const struct json *status = json_getz(pod->status, "extendedResourceClaimStatus");

	JSON_FOREACH (it, json_getz(status, "requestMappings")) {
		if (str_eq(json_text_at(it, "resourceName"), name))
			return true;
	}
	return false;
}

/* Returns the first resource of the container that the node lacks. */
static const struct json *lacking(const struct fit_node *node, const struct pod *pod,
				  const struct json *container, int64_t *ret_capacity)
{
	const struct json *allocatable = json_getz(json_getz(node->object, "status"),
						   "allocatable");
	const struct json *limits = json_getz(json_getz(container, "resources"), "limits");

	JSON_FOREACH (it, limits) {
		struct str name = json_key(it);
		struct quantity q = { 0 };

		if (!is_extended(name) || is_claimed(pod, name) || node->is_device(node->arg, name))
			continue;
		if (quantity_parse(json_str(json_get(allocatable, name)), &q, NULL) < 0)
			continue; /* counted for the whole cluster, not per node */
		*ret_capacity = quantity_value(q);
		if (node->used(node->arg, name) + fit_extended(pod, name) > *ret_capacity)
			return it;
	}
	return NULL;
}

static int lacks(char *reason, struct str name, int64_t asked, int64_t used, int64_t capacity,
		 struct error *err)
{
	(void)snprintf(reason, FIT_REASON_SIZE, "OutOf%.*s", STR_ARG(name));
	return error_set(err, ERR_INVALID,
			 "Node didn't have enough resource: %.*s, requested: %" PRId64
			 ", used: %" PRId64 ", capacity: %" PRId64,
			 STR_ARG(name), asked, used, capacity);
}

static int check_extended(const struct fit_node *node, const struct pod *pod, char *reason,
			  struct error *err)
{
	struct pod_containers c = pod_containers(pod);

	while (pod_containers_next(&c)) {
		int64_t capacity = 0;
		const struct json *it = lacking(node, pod, c.container, &capacity);

		if (!it)
			continue;
		return lacks(reason, json_key(it), fit_extended(pod, json_key(it)),
			     node->used(node->arg, json_key(it)), capacity, err);
	}
	return 0;
}

/* --- all checks ------------------------------------------------------------------- */

int fit_check(const struct fit_node *node, const struct fit_sum *used, const struct pod *pod,
	      char reason[static FIT_REASON_SIZE], struct error *err)
{
	struct str os = json_text_at(json_getz(pod->spec, "os"), "name");
	const struct json *labels = json_getz(json_getz(node->object, "metadata"), "labels");
	struct amounts m = amounts_of_pod(pod);

	if (os.n > 0 && !str_eqz(os, "linux")) {
		(void)snprintf(reason, FIT_REASON_SIZE, "PodOSNotSupported");
		return error_set(err, ERR_INVALID,
				 "Failed to admit pod as the OS field doesn't match node OS");
	}
	if (used->pods + 1 > node->max_pods)
		return lacks(reason, STR("pods"), 1, used->pods, node->max_pods, err);
	if (m.cpu_milli > 0 && used->cpu_milli + m.cpu_milli > node->cpu_milli)
		return lacks(reason, STR("cpu"), m.cpu_milli, used->cpu_milli, node->cpu_milli,
			     err);
	if (m.memory > 0 && used->memory + m.memory > node->memory)
		return lacks(reason, STR("memory"), m.memory, used->memory, node->memory, err);
	if (node->object && !affinity_holds(pod, labels, node->name)) {
		(void)snprintf(reason, FIT_REASON_SIZE, "NodeAffinity");
		return error_set(err, ERR_INVALID, "Predicate NodeAffinity failed");
	}
	return node->object ? check_extended(node, pod, reason, err) : 0;
}
