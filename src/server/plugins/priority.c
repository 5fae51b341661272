/*
 * There are few classes: the default ones are searched among all of them.
 */
#include "server/admission/request.h"
#include "server/plugins/priority.h"

static const struct schema_kind *class_kind(void)
{
	return schema_find_resource(STR("scheduling.k8s.io"), STR("v1"), STR("priorityclasses"));
}

/* The tree of a class that is marked as default; else NULL. Other classes are not parsed. */
static const struct json *if_default(struct admission_request *req, const struct object *o)
{
	struct json *class = NULL;

	if (str_find(bytes_str(o->json), STR("\"globalDefault\":true")) >= 0)
		(void)object_tree(o, req->write->arena, &class, NULL);
	return json_true_at(class, "globalDefault") ? class : NULL;
}

/*
 * The default class, or NULL. There can be two if two servers created them at the same time: the
 * one with the lower value counts.
 */
static const struct json *default_class(struct admission_request *req)
{
	const struct json *found = NULL;
	struct object *const *v;
	size_t n = admission_objects(req, class_kind(), STR(""), &v);

	for (size_t i = 0; i < n; i++) {
		const struct json *class = if_default(req, v[i]);

		if (class &&
		    (!found || json_i64_at(class, "value", 0) < json_i64_at(found, "value", 0)))
			found = class;
	}
	return found;
}

static int find_class(struct admission_request *req, struct str name, const struct json **ret_class,
		      struct error *err)
{
	struct object *o;
	struct json *class = NULL;
	int r;

	if (!name.n) {
		*ret_class = default_class(req);
		return 0;
	}
	o = admission_object(req, class_kind(), STR(""), name);
	if (!o)
		return error_set(err, ERR_FORBIDDEN, "no PriorityClass with name %.*s was found",
				 STR_ARG(name));
	r = object_tree(o, req->write->arena, &class, err);
	*ret_class = class;
	return r;
}

static int set_priority(struct admission_request *req, struct json *spec, const struct json *class,
			struct error *err)
{
	int64_t value = json_i64_at(class, "value", 0), given;

	if (json_i64(json_getz(spec, "priority"), &given) && given != value)
		return error_set(err, ERR_FORBIDDEN,
				 "the integer value of priority (%lld) must not be provided in "
				 "pod spec; priority admission controller computed %lld from the "
				 "given PriorityClass name",
				 (long long)given, (long long)value);
	json_put_i64(req->write->arena, spec, "priority", value);
	return 0;
}

static int set_policy(struct admission_request *req, struct json *spec, const struct json *class,
		      struct error *err)
{
	struct str policy = class ? json_text_at(class, "preemptionPolicy")
				  : STR("PreemptLowerPriority");
	struct str given = json_text_at(spec, "preemptionPolicy");

	if (!policy.n)
		return 0;
	if (given.n && !str_eq(given, policy))
		return error_set(err, ERR_FORBIDDEN,
				 "the string value of PreemptionPolicy (%.*s) must not be provided "
				 "in pod spec; priority admission controller computed %.*s from "
				 "the given PriorityClass name",
				 STR_ARG(given), STR_ARG(policy));
	json_put_str(req->write->arena, spec, "preemptionPolicy", policy);
	return 0;
}

static void priority_keep(struct admission_request *req, struct json *spec, const struct json *old,
			  const char *name)
{
	struct json *copy;

	if (json_getz(spec, name) || !json_getz(old, name))
		return;
	if (json_copy(req->write->arena, json_getz(old, name), &copy, NULL) == 0)
		json_setz(spec, name, copy);
}

bool admit_priority_concerns(const struct admission_request *req)
{
	return !req->write->subresource.n;
}

int admit_priority(struct admission_request *req, const struct json *old, struct json *pod,
		   struct error *err)
{
	struct json *spec = json_need_object(req->write->arena, pod, "spec");
	const struct json *class = NULL;
	int r;

	if (old) {
		priority_keep(req, spec, json_getz(old, "spec"), "priority");
		priority_keep(req, spec, json_getz(old, "spec"), "preemptionPolicy");
		return 0;
	}
	r = find_class(req, json_text_at(spec, "priorityClassName"), &class, err);
	if (r == 0 && class)
		json_put_str(req->write->arena, spec, "priorityClassName",
			     json_text_at(json_getz(class, "metadata"), "name"));
	if (r == 0)
		r = set_priority(req, spec, class, err);
	if (r == 0)
		r = set_policy(req, spec, class, err);
	/* Upstream generates the name after admission. */
	if (r < 0 && req->write->generated_from.n)
		req->about.name = req->write->generated_from;
	return r;
}

int admit_priority_class(struct admission_request *req, const struct json *old UNUSED,
			 struct json *class, struct error *err)
{
	const struct json *other;
	struct str name;

	if (!class || !json_true_at(class, "globalDefault"))
		return 0;
	other = default_class(req);
	name = json_text_at(json_getz(other, "metadata"), "name");
	if (!other || (req->op == ADMIT_UPDATE && str_eq(name, req->name)))
		return 0;
	return error_set(err, ERR_FORBIDDEN,
			 "PriorityClass %.*s is already marked as default. Only one default can "
			 "exist",
			 STR_ARG(name));
}
