/*
 * Upstream's RuntimeClass plugin: the overhead and placement that a class adds to its pods.
 */
#include "base/json/quantity.h"
#include "server/admission/request.h"
#include "server/plugins/defaults.h"

/* *ret_class is NULL if the pod names none. */
static int find_class(struct admission_request *req, const struct json *pod,
		      const struct json **ret_class, struct error *err)
{
	const struct schema_kind *kind = schema_find_resource(STR("node.k8s.io"), STR("v1"),
							      STR("runtimeclasses"));
	struct str name = json_text_at(json_getz(pod, "spec"), "runtimeClassName");
	struct object *o;
	struct json *class = NULL;
	int r;

	*ret_class = NULL;
	if (!name.p)
		return 0;
	o = admission_object(req, kind, STR(""), name);
	if (!o)
		return error_set(err, ERR_FORBIDDEN,
				 "pod rejected: RuntimeClass \"%.*s\" not found", STR_ARG(name));
	r = object_tree(o, req->write->arena, &class, err);
	*ret_class = class;
	return r;
}

static struct json *runtime_class_copy(struct admission_request *req, const struct json *tree)
{
	struct json *c = NULL;

	(void)json_copy(req->write->arena, tree, &c, NULL);
	return c;
}

static bool same_amounts(const struct json *a, const struct json *b)
{
	if (json_count(a) != json_count(b))
		return false;
	JSON_FOREACH (it, a) {
		struct quantity x, y;

		if (quantity_parse(json_str(it), &x, NULL) < 0 ||
		    quantity_parse(json_str(json_get(b, json_key(it))), &y, NULL) < 0 ||
		    quantity_cmp(x, y) != 0)
			return false;
	}
	return true;
}

static const struct json *overhead_of(const struct json *class)
{
	return json_getz(json_getz(class, "overhead"), "podFixed");
}

static int refuse_overhead(struct error *err)
{
	return error_set(err, ERR_FORBIDDEN,
			 "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined "
			 "Overhead");
}

static int set_overhead(struct admission_request *req, struct json *spec, const struct json *class,
			struct error *err)
{
	const struct json *fixed = overhead_of(class);

	if (!json_getz(class, "overhead"))
		return 0;
	if (json_count(json_getz(spec, "overhead")) &&
	    !same_amounts(fixed, json_getz(spec, "overhead")))
		return refuse_overhead(err);
	if (fixed)
		json_setz(spec, "overhead", runtime_class_copy(req, fixed));
	return 0;
}

static int add_selector(struct admission_request *req, struct json *spec,
			const struct json *selector, struct error *err)
{
	struct json *own = json_getz(spec, "nodeSelector");

	if (json_count(selector) == 0)
		return 0;
	if (!json_is(own, JSON_OBJECT)) {
		json_setz(spec, "nodeSelector", runtime_class_copy(req, selector));
		return 0;
	}
	JSON_FOREACH (it, selector) {
		struct str key = json_key(it), value = json_str(json_get(own, key));

		if (value.p && !str_eq(value, json_str(it)))
			return error_set(err, ERR_FORBIDDEN,
					 "conflict: runtimeClass.scheduling.nodeSelector[%.*s] = "
					 "%.*s; pod.spec.nodeSelector[%.*s] = %.*s",
					 STR_ARG(key), STR_ARG(json_str(it)), STR_ARG(key),
					 STR_ARG(value));
		json_set(own, arena_str(req->write->arena, key), runtime_class_copy(req, it));
	}
	return 0;
}

/* Skips tolerations that the pod already has. */
static void add_tolerations(struct admission_request *req, struct json *spec,
			    const struct json *more)
{
	struct json *list = json_getz(spec, "tolerations");

	if (json_count(more) == 0)
		return;
	if (!json_is(list, JSON_ARRAY)) {
		list = json_make_array(req->write->arena);
		json_setz(spec, "tolerations", list);
	}
	JSON_FOREACH (it, more) {
		bool has = false;

		JSON_FOREACH (other, list)
			has |= json_equal(it, other);
		if (!has)
			json_append(list, runtime_class_copy(req, it));
	}
}

int admit_runtime_class(struct admission_request *req, const struct json *old UNUSED,
			struct json *pod, struct error *err)
{
	struct json *spec = json_getz(pod, "spec");
	const struct json *class, *scheduling;
	int r;

	r = find_class(req, pod, &class, err);
	if (r < 0 || !class)
		return r;
	r = set_overhead(req, spec, class, err);
	scheduling = json_getz(class, "scheduling");
	if (r == 0)
		r = add_selector(req, spec, json_getz(scheduling, "nodeSelector"), err);
	if (r == 0)
		add_tolerations(req, spec, json_getz(scheduling, "tolerations"));
	return r;
}

int admit_overhead(struct admission_request *req, const struct json *old UNUSED, struct json *pod,
		   struct error *err)
{
	const struct json *overhead = json_getz(json_getz(pod, "spec"), "overhead"), *class;
	int r;

	r = find_class(req, pod, &class, err);
	if (r < 0)
		return r;
	if (class && json_getz(class, "overhead"))
		return same_amounts(overhead_of(class), overhead) ? 0 : refuse_overhead(err);
	if (overhead)
		return error_set(err, ERR_FORBIDDEN,
				 "pod rejected: Pod Overhead set without corresponding "
				 "RuntimeClass defined Overhead");
	return 0;
}
