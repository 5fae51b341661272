/*
 * Merge patches work for every kind, including custom ones. They replace a whole list, so each
 * carries the resourceVersion it was made from; after a conflict, read again.
 */
#include "base/json/json.h"
#include "controller/garbage/garbage_impl.h"

struct str garbage_meta(const struct json *object, const char *name)
{
	return json_text_at(json_getz(object, "metadata"), name);
}

bool garbage_has_finalizer(const struct json *object, struct str name)
{
	return json_has_text(json_getz(json_getz(object, "metadata"), "finalizers"), name);
}

static struct json *patch_copy(struct arena *a, const struct json *v)
{
	struct json *c = NULL;

	/*
	 * Cannot fail in practice: the arena holds the original, so it has room for a part of it.
	 */
	if (json_copy(a, v, &c, NULL) < 0)
		c = json_make_null(a);
	return c;
}

static struct json *patch_of(struct arena *a, const struct json *object, const char *name,
			     struct json *list)
{
	struct json *patch = json_make_object(a), *meta = json_make_object(a);

	json_setz(patch, "metadata", meta);
	json_put_str(a, meta, "uid", garbage_meta(object, "uid"));
	json_put_str(a, meta, "resourceVersion", garbage_meta(object, "resourceVersion"));
	json_setz(meta, name, list);
	return patch;
}

struct json *garbage_patch_finalizer(struct arena *a, const struct json *object, struct str name)
{
	struct json *list = json_make_array(a);

	if (!garbage_has_finalizer(object, name))
		return NULL;
	JSON_FOREACH (f, json_getz(json_getz(object, "metadata"), "finalizers")) {
		if (!str_eq(json_str(f), name))
			json_append(list, patch_copy(a, f));
	}
	return patch_of(a, object, "finalizers", list);
}

struct json *garbage_patch_owners(struct arena *a, const struct json *object,
				  bool (*keep)(void *arg, const struct json *reference), void *arg)
{
	const struct json *owners = json_getz(json_getz(object, "metadata"), "ownerReferences");
	struct json *list = json_make_array(a);

	JSON_FOREACH (o, owners) {
		if (keep(arg, o))
			json_append(list, patch_copy(a, o));
	}
	if (json_count(list) == json_count(owners))
		return NULL;
	return patch_of(a, object, "ownerReferences", list);
}

struct json *garbage_patch_unblock(struct arena *a, const struct json *object)
{
	const struct json *owners = json_getz(json_getz(object, "metadata"), "ownerReferences");
	struct json *list = json_make_array(a);
	bool any = false;

	JSON_FOREACH (o, owners) {
		struct json *c = patch_copy(a, o);

		if (json_true_at(c, "blockOwnerDeletion")) {
			json_put_bool(a, c, "blockOwnerDeletion", false);
			any = true;
		}
		json_append(list, c);
	}
	return any ? patch_of(a, object, "ownerReferences", list) : NULL;
}
