/*
 * The largest of two sums counts: what runs at the end (containers and sidecars), and at each init container's
 * time (itself and the sidecars before it), as upstream adds a pod up.
 */
#include "node/admission.h"

#include <inttypes.h>

#include "api/quantity.h"

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

void admission_add(struct admission_sum *sum, const struct pod *pod)
{
	struct amounts m = amounts_of_pod(pod);

	sum->cpu_milli += m.cpu_milli;
	sum->memory += m.memory;
	sum->pods++;
}

/* --- where it may run ------------------------------------------------------------------------------ */

static bool has_value(const struct json *values, struct str v)
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
		return has_value(values, v);
	if (str_eqz(op, "NotIn"))
		return !has_value(values, v);
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

/* --- the whole ------------------------------------------------------------------------------------- */

static int lacks(const char **ret_reason, const char *reason, int64_t asked, int64_t used,
		 int64_t capacity, struct error *err)
{
	*ret_reason = reason;
	return error_set(err, ERR_INVALID,
			 "Node didn't have enough resource: %s, requested: %" PRId64
			 ", used: %" PRId64 ", capacity: %" PRId64,
			 reason + strlen("OutOf"), asked, used, capacity);
}

int admission_check(const struct admission_node *node, const struct admission_sum *used,
		    const struct pod *pod, const char **ret_reason, struct error *err)
{
	struct str os = json_text_at(json_getz(pod->spec, "os"), "name");
	const struct json *labels = json_getz(json_getz(node->object, "metadata"), "labels");
	struct amounts m = amounts_of_pod(pod);

	if (os.n > 0 && !str_eqz(os, "linux")) {
		*ret_reason = "PodOSNotSupported";
		return error_set(err, ERR_INVALID,
				 "Failed to admit pod as the OS field doesn't match node OS");
	}
	if (used->pods + 1 > node->max_pods)
		return lacks(ret_reason, "OutOfpods", 1, used->pods, node->max_pods, err);
	if (m.cpu_milli > 0 && used->cpu_milli + m.cpu_milli > node->cpu_milli)
		return lacks(ret_reason, "OutOfcpu", m.cpu_milli, used->cpu_milli, node->cpu_milli,
			     err);
	if (m.memory > 0 && used->memory + m.memory > node->memory)
		return lacks(ret_reason, "OutOfmemory", m.memory, used->memory, node->memory, err);
	if (node->object && !affinity_holds(pod, labels, node->name)) {
		*ret_reason = "NodeAffinity";
		return error_set(err, ERR_INVALID, "Predicate NodeAffinity failed");
	}
	return 0;
}
