/*
 * There are few classes: the default one is searched among all of them when an object without a
 * class arrives.
 */
#include "server/admission/request.h"
#include "server/plugins/defaults.h"

bool admit_defaults_concerns(const struct admission_request *req)
{
	return !req->write->subresource.n;
}

static struct json *need_list(struct arena *a, struct json *object, const char *name)
{
	struct json *list = json_getz(object, name);

	if (!json_is(list, JSON_ARRAY)) {
		list = json_make_array(a);
		json_setz(object, name, list);
	}
	return list;
}

/* --- tolerations ---------------------------------------------------------------------------- */

static bool tolerates(const struct json *list, const char *key)
{
	JSON_FOREACH (it, list) {
		struct str name = json_text_at(it, "key"), effect = json_text_at(it, "effect");

		if ((!name.n || str_eqz(name, key)) && (!effect.n || str_eqz(effect, "NoExecute")))
			return true;
	}
	return false;
}

int admit_toleration_seconds(struct admission_request *req, const struct json *old UNUSED,
			     struct json *pod, struct error *err UNUSED)
{
	static const char *const keys[] = { "node.kubernetes.io/not-ready",
					    "node.kubernetes.io/unreachable" };
	struct arena *a = req->write->arena;
	struct json *spec = json_need_object(a, pod, "spec");
	bool has[ARRAY_SIZE(keys)];

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		has[i] = tolerates(json_getz(spec, "tolerations"), keys[i]);
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct json *one = json_make_object(a);

		if (has[i])
			continue;
		json_put_str(a, one, "key", str_from(keys[i]));
		json_put_str(a, one, "operator", STR("Exists"));
		json_put_str(a, one, "effect", STR("NoExecute"));
		json_put_i64(a, one, "tolerationSeconds", 300);
		json_append(need_list(a, spec, "tolerations"), one);
	}
	return 0;
}

/* --- classes -------------------------------------------------------------------------------- */

/* `marks`: annotations that mark a default. */
static bool is_marked(struct admission_request *req, const struct object *o,
		      const char *const *marks)
{
	const struct json *notes;
	struct json *tree = NULL;

	(void)object_tree(o, req->write->arena, &tree, NULL);
	notes = json_getz(json_getz(tree, "metadata"), "annotations");
	for (const char *const *mark = marks; *mark; mark++)
		if (str_eqz(json_text_at(notes, *mark), "true"))
			return true;
	return false;
}

/* The name of the default class, or empty: the newest; among equal times the first by name. */
static struct str default_class(struct admission_request *req, const char *group,
				const char *resource, const char *const *marks)
{
	const struct schema_kind *kind = schema_find_resource(str_from(group), STR("v1"),
							      str_from(resource));
	const struct object *found = NULL;
	struct object *const *v;
	size_t n = admission_objects(req, kind, STR(""), &v);

	for (size_t i = 0; i < n; i++)
		if (is_marked(req, v[i], marks) && (!found || v[i]->created_s > found->created_s))
			found = v[i];
	return found ? arena_str(req->write->arena, found->key) : STR_NULL;
}

int admit_storage_class(struct admission_request *req, const struct json *old UNUSED,
			struct json *claim, struct error *err UNUSED)
{
	static const char *const marks[] = { "storageclass.kubernetes.io/is-default-class",
					     "storageclass.beta.kubernetes.io/is-default-class",
					     NULL };
	struct json *spec = json_need_object(req->write->arena, claim, "spec");
	const struct json *notes = json_getz(json_getz(claim, "metadata"), "annotations");
	struct str name;

	if (json_getz(spec, "storageClassName") ||
	    json_getz(notes, "volume.beta.kubernetes.io/storage-class"))
		return 0;
	name = default_class(req, "storage.k8s.io", "storageclasses", marks);
	if (name.n)
		json_put_str(req->write->arena, spec, "storageClassName", name);
	return 0;
}

int admit_ingress_class(struct admission_request *req, const struct json *old UNUSED,
			struct json *ingress, struct error *err UNUSED)
{
	static const char *const marks[] = { "ingressclass.kubernetes.io/is-default-class", NULL };
	struct json *spec = json_need_object(req->write->arena, ingress, "spec");
	const struct json *notes = json_getz(json_getz(ingress, "metadata"), "annotations");
	struct str name;

	if (json_getz(spec, "ingressClassName") || json_getz(notes, "kubernetes.io/ingress.class"))
		return 0;
	name = default_class(req, "networking.k8s.io", "ingressclasses", marks);
	if (name.n)
		json_put_str(req->write->arena, spec, "ingressClassName", name);
	return 0;
}

/* --- fields that controllers remove --------------------------------------------------------- */

int admit_not_ready_taint(struct admission_request *req, const struct json *old UNUSED,
			  struct json *node, struct error *err UNUSED)
{
	static const char key[] = "node.kubernetes.io/not-ready";
	struct arena *a = req->write->arena;
	struct json *list = need_list(a, json_need_object(a, node, "spec"), "taints"), *taint;

	JSON_FOREACH (it, list)
		if (str_eqz(json_text_at(it, "key"), key) &&
		    str_eqz(json_text_at(it, "effect"), "NoSchedule"))
			return 0;
	taint = json_make_object(a);
	json_put_str(a, taint, "key", STR("node.kubernetes.io/not-ready"));
	json_put_str(a, taint, "effect", STR("NoSchedule"));
	json_append(list, taint);
	return 0;
}

int admit_volume_finalizer(struct admission_request *req, const struct json *old UNUSED,
			   struct json *object, struct error *err UNUSED)
{
	struct arena *a = req->write->arena;
	struct json *list = need_list(a, json_need_object(a, object, "metadata"), "finalizers");
	struct str name = str_eq(req->write->kind->resource, STR("persistentvolumes"))
				  ? STR("kubernetes.io/pv-protection")
				  : STR("kubernetes.io/pvc-protection");

	if (!json_has_text(list, name))
		json_append(list, json_make_str(a, name));
	return 0;
}
