/*
 * Subresources that are commands: bind a pod to a node, evict a pod, finalize a namespace.
 */
#include "api/write/write_impl.h"

static const struct json *meta_of(const struct json *object)
{
	return json_getz(object, "metadata");
}

/* --- binding ------------------------------------------------------------------------------- */

static int check_binding(struct write *w, const struct json *binding, struct error *err)
{
	static const struct str kinds[] = { STR("Node"), STR("<empty>") };
	const struct json *target = json_getz(binding, "target");
	struct field_path path = field_path_name(NULL, "target");
	struct field_path kind = field_path_name(&path, "kind");
	struct field_path name = field_path_name(&path, "name");
	struct str given = json_text_at(target, "kind");

	if (!str_eq(json_text_at(meta_of(binding), "name"), w->name))
		return error_set(err, ERR_BAD_REQUEST,
				 "name in URL does not match name in Binding object");
	if (given.n && !str_eq(given, kinds[0]))
		field_errors_not_supported(&w->errs, &kind, FIELD_STR(given), kinds,
					   ARRAY_SIZE(kinds));
	if (json_text_at(target, "name").n == 0)
		field_errors_required(&w->errs, &name, "");
	return write_result(w, err);
}

/* The uid and resourceVersion of a binding are preconditions. */
static int check_bound_pod(const struct json *pod, const struct json *binding, struct error *err)
{
	static const struct {
		const char *key, *name;
	} conditions[] = { { "uid", "UID" }, { "resourceVersion", "ResourceVersion" } };

	for (size_t i = 0; i < ARRAY_SIZE(conditions); i++) {
		struct str want = json_text_at(meta_of(binding), conditions[i].key);
		struct str is = json_text_at(meta_of(pod), conditions[i].key);

		if (want.n && !str_eq(want, is))
			return error_set(err, ERR_CONFLICT,
					 "Precondition failed: %s in precondition: %.*s, %s in "
					 "object meta: %.*s",
					 conditions[i].name, STR_ARG(want), conditions[i].name,
					 STR_ARG(is));
	}
	return 0;
}

static int check_free(const struct json *pod, struct error *err)
{
	const struct json *spec = json_getz(pod, "spec");
	struct str name = json_text_at(meta_of(pod), "name");
	struct str node = json_text_at(spec, "nodeName");

	if (json_getz(meta_of(pod), "deletionTimestamp"))
		return error_set(err, ERR_CONFLICT,
				 "pod %.*s is being deleted, cannot be assigned to a host",
				 STR_ARG(name));
	if (node.n)
		return error_set(err, ERR_CONFLICT, "pod %.*s is already assigned to node \"%.*s\"",
				 STR_ARG(name), STR_ARG(node));
	if (json_count(json_getz(spec, "schedulingGates")))
		return error_set(err, ERR_CONFLICT, "pod %.*s has non-empty .spec.schedulingGates",
				 STR_ARG(name));
	return 0;
}

static void merge_map(struct write *w, struct json *meta, const struct json *from, const char *key)
{
	const struct json *entries = json_getz(from, key);
	struct json *into;

	if (json_count(entries) == 0)
		return;
	into = json_need_object(w->arena, meta, key);
	JSON_FOREACH (entry, entries)
		json_set(into, json_key(entry), tree_copy(w->arena, entry));
}

/* Returns the condition of that type; creates it if missing. */
static struct json *subresource_condition(struct write *w, struct json *status, struct str type)
{
	struct json *list = json_getz(status, "conditions"), *made;

	JSON_FOREACH (item, list)
		if (str_eq(json_text_at(item, "type"), type))
			return item;
	if (!list) {
		list = json_make_array(w->arena);
		json_setz(status, "conditions", list);
	}
	made = json_make_object(w->arena);
	json_append(list, made);
	json_put_str(w->arena, made, "type", type);
	return made;
}

static void set_scheduled(struct write *w, struct json *pod)
{
	struct json *status = json_need_object(w->arena, pod, "status");
	struct json *c = subresource_condition(w, status, STR("PodScheduled"));

	json_remove(c, STR("reason"));
	json_remove(c, STR("message"));
	json_setz(c, "lastProbeTime", json_make_null(w->arena));
	if (str_eq(json_text_at(c, "status"), STR("True")))
		return;
	json_put_str(w->arena, c, "status", STR("True"));
	tree_set_time(w->arena, c, "lastTransitionTime", w->now_ns);
}

int write_bind(struct write *w, const struct json *pod, const struct json *binding,
	       struct json **ret_object, struct error *err)
{
	struct str node = json_text_at(json_getz(binding, "target"), "name");
	struct json *object, *meta;
	int r;

	r = check_binding(w, binding, err);
	if (r == 0)
		r = check_bound_pod(pod, binding, err);
	if (r == 0)
		r = check_free(pod, err);
	if (r < 0)
		return r;

	object = tree_copy(w->arena, pod);
	meta = json_getz(object, "metadata");
	json_put_str(w->arena, json_need_object(w->arena, object, "spec"), "nodeName",
		     arena_str(w->arena, node));
	json_remove(json_need_object(w->arena, object, "status"), STR("nominatedNodeName"));
	merge_map(w, meta, meta_of(binding), "annotations");
	merge_map(w, meta, meta_of(binding), "labels");
	set_scheduled(w, object);
	write_order_meta(w->arena, object);
	*ret_object = object;
	return 0;
}

/* --- eviction ------------------------------------------------------------------------------ */

int write_evict(struct write *w, const struct json *pod, const struct json *eviction,
		struct delete_options *ret_options, struct error *err)
{
	struct str name = json_text_at(meta_of(eviction), "name");

	if (!str_eq(name, w->name))
		return error_set(err, ERR_BAD_REQUEST,
				 "name in URL does not match name in Eviction object");
	return write_delete_options(w, json_getz(eviction, "deleteOptions"), ret_options, err);
}

/* --- finalizers of namespaces ---------------------------------------------------------------- */

int write_finalize(struct write *w, const struct json *ns, struct json *body,
		   struct json **ret_object, struct error *err)
{
	w->subresource = STR("finalize");
	return write_update(w, ns, body, ret_object, err);
}
