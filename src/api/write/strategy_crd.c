/*
 * Definitions: records the versions in which objects may be stored. Names that the client left out
 * are defaults (fill_crd_names).
 */
#include "api/write/strategies.h"

#include "api/crd/crd.h"
#include "api/write/write_impl.h"

/* Adds the storage version to status.storedVersions. */
static void note_stored(struct write *w, struct json *object)
{
	struct json *status = json_need_object(w->arena, object, "status");
	struct json *list = json_getz(status, "storedVersions");

	JSON_FOREACH (version, json_getz(json_getz(object, "spec"), "versions")) {
		struct str name = json_text_at(version, "name");

		if (!json_true_at(version, "storage"))
			continue;
		if (json_has_text(list, name))
			return;
		if (!json_is(list, JSON_ARRAY)) {
			list = json_make_array(w->arena);
			json_setz(status, "storedVersions", list);
		}
		json_append(list, json_make_str(w->arena, name));
		return;
	}
}

void strategy_crd_create(struct write *w, struct json *object)
{
	note_stored(w, object);
}

void strategy_crd_update(struct write *w, struct json *object, const struct json *old)
{
	const struct json *status = json_getz(object, "status");

	/*
	 * A status write may remove versions, once objects were stored again; but not all of them.
	 */
	if (w->subresource.n == 0 || json_count(json_getz(status, "storedVersions")) == 0)
		note_stored(w, object);
}

bool strategy_crd_delete(struct write *w, struct json *object,
			 const struct delete_options *options UNUSED)
{
	struct json *meta = json_getz(object, "metadata");

	if (json_getz(meta, "deletionTimestamp"))
		return false;
	tree_set_time(w->arena, meta, "deletionTimestamp", w->now_ns);
	crd_begin_deletion(w->arena, object, w->now_ns);
	return true;
}
