/*
 * A patch is applied to the object as the client sees it, in the request's version. The result is
 * then an update like any other. As upstream, validation reports changes to metadata that no client
 * may make.
 */
#include "api/write/write_impl.h"

#include "api/api_limits.h"
#include "api/patch/strategic.h"
#include "base/core/limits.h"
#include "base/core/map.h"

int write_check_patch(const struct write *w, enum patch_type type, struct error *err)
{
	/* A custom kind's schema does not say how lists merge. */
	if (type != PATCH_STRATEGIC || !w->kind->custom)
		return 0;
	return error_set(err, ERR_UNSUPPORTED_MEDIA_TYPE,
			 "the body of the request was in an unknown format - accepted media types "
			 "include: application/json-patch+json, application/merge-patch+json, "
			 "application/apply-patch+yaml");
}

static int patch_apply(struct write *w, struct json **doc, enum patch_type type,
		       const struct json *patch, struct error *err)
{
	int r = write_check_patch(w, type, err);

	if (r < 0)
		return r;
	switch (type) {
	case PATCH_JSON:
		write_show_aliases(w, *doc);
		return patch_json(w->arena, doc, write_complete_patch(w, patch), err);
	case PATCH_MERGE:
		return patch_merge(w->arena, doc, patch, err);
	case PATCH_STRATEGIC:
		return patch_strategic(w->arena, doc, w->kind->type, patch, err);
	case PATCH_APPLY:
		break; /* handled by write_apply() */
	}
	return -ERR_UNSUPPORTED_MEDIA_TYPE;
}

/* Returns the object in the request's version, with the patch applied. */
static int patched_form(struct write *w, const struct json *old, enum patch_type type,
			const struct json *patch, struct json **ret_doc, struct error *err)
{
	*ret_doc = tree_copy(w->arena, old);
	write_from_storage(w->arena, *ret_doc, w->kind);
	return patch_apply(w, ret_doc, type, patch, err);
}

/*
 * Reports that the result does not fit the type. Upstream's message shows the whole result or, for
 * a strategic merge, the patch. The result is computed again for that, because fitting left it half
 * done.
 */
static int patch_refuse(struct write *w, const struct json *old, enum patch_type type,
			const struct json *patch, const struct error *why, struct error *err)
{
	struct field_path path = field_path_name(NULL, "patch");
	struct buf text = BUF_INIT(64UL * KIB);
	struct json *doc;

	if (type == PATCH_STRATEGIC)
		patch_strategic_text(w->arena, patch, &text);
	else if (patched_form(w, old, type, patch, &doc, NULL) == 0)
		(void)json_print(&text, doc, NULL);
	field_errors_invalid(&w->errs, &path, FIELD_STR(buf_str(&text)),
			     w->message.n ? arena_strdup(w->arena, w->message) : why->msg);
	buf_release(&text);
	w->message = STR_NULL; /* the error contains it */
	return write_result(w, err);
}

/*
 * A patch cannot change apiVersion and kind. Absent ones are filled in. A strategic merge that
 * tries to change them is ignored, as upstream does; other patches fail.
 */
static int settle_type_meta(const struct write *w, enum patch_type type, struct json *patched,
			    struct error *err)
{
	struct str kind = json_text_at(patched, "kind");
	struct str version = json_text_at(patched, "apiVersion");

	if (type != PATCH_STRATEGIC && ((kind.n && !str_eq(kind, w->kind->kind)) ||
					(version.n && !str_eq(version, w->kind->api_version))))
		return error_set(err, ERR_INVALID,
				 "the patch must not change apiVersion or kind of the object");
	json_put_str(w->arena, patched, "apiVersion", w->kind->api_version);
	json_put_str(w->arena, patched, "kind", w->kind->kind);
	return 0;
}

/* Sorts the members of the objects on a JSON pointer's path, except the last. */
static void sort_way(struct arena *a, struct json *doc, struct str pointer, struct map *sorted)
{
	unsigned depth = 0;

	for (size_t i = 0; i < pointer.n && depth < OBJECT_DEPTH_MAX; i++) {
		struct str way = str_of(pointer.p, i);
		struct json *v;

		if (pointer.p[i] != '/')
			continue;
		depth++;
		if (map_put(sorted, way, doc))
			continue;
		v = json_pointer(doc, way);
		if (json_is(v, JSON_OBJECT))
			json_sort_members(a, v);
	}
}

/*
 * Orders the result of a JSON patch as upstream's library does: objects on the path of an operation
 * become Go maps and are sorted; added values keep their order.
 */
static void sort_ways(struct arena *a, struct json *doc, const struct json *patch)
{
	struct map sorted;

	map_init(&sorted);
	JSON_FOREACH (op, patch) {
		sort_way(a, doc, json_text_at(op, "path"), &sorted);
		sort_way(a, doc, json_text_at(op, "from"), &sorted);
	}
	map_release(&sorted);
}

/* Reports the faults of the result after those of the patch's own text, in upstream's order. */
static int retell(struct write *w, const struct json *old, enum patch_type type,
		  const struct json *patch, struct decode_report *report, struct error *err)
{
	struct write_alias *aliases = w->aliases;
	struct json *doc;
	int r;

	*report = write_patch_report(w);
	r = patched_form(w, old, type, patch, &doc, err);
	if (r < 0)
		return r;
	write_fold_aliases(w, doc);
	w->aliases = aliases;
	(void)settle_type_meta(w, type, doc, NULL);
	if (type == PATCH_JSON && !w->kind->custom)
		sort_ways(w->arena, doc, patch);
	else
		json_sort(w->arena, doc);
	return write_fit(w, doc, w->kind, report, err);
}

/* Fits the patched object to its type; rejects its faults, or warns of them. */
static int fit(struct write *w, struct json *doc, const struct json *old, enum patch_type type,
	       const struct json *patch, struct error *err)
{
	struct decode_report report = write_patch_report(w);
	struct text_list **tail = &report.faults;
	size_t before = report.n;
	int r;

	/*
	 * A strategic merge goes from map to struct without a text in between, so upstream's words
	 * differ.
	 */
	report.plain = type == PATCH_STRATEGIC;
	r = write_fit(w, doc, w->kind, &report, err);
	if (r == 0 && report.n > before + 1 && type == PATCH_STRATEGIC) {
		for (; before; before--)
			tail = &(*tail)->next;
		text_list_sort(w->arena, tail);
	} else if (r == 0 && report.n > before + 1 && w->options.field_validation != WRITE_IGNORE) {
		r = retell(w, old, type, patch, &report, err);
	}
	return r < 0 ? r : write_take_report(w, &report, err);
}

int write_patch_form(struct write *w, const struct json *old, enum patch_type type,
		     const struct json *patch, struct json **ret_doc, struct error *err)
{
	struct error why = { 0 };
	struct json *doc;
	int r;

	r = patched_form(w, old, type, patch, &doc, err);
	if (r < 0)
		return r;
	if (!json_is(doc, JSON_OBJECT))
		return error_set(err, ERR_BAD_REQUEST, "the patched value is not an object");
	write_fold_aliases(w, doc);
	r = settle_type_meta(w, type, doc, &why);
	if (r == 0)
		r = fit(w, doc, old, type, patch, &why);
	if (r < 0)
		return patch_refuse(w, old, type, patch, &why, err);
	r = write_check_namespace(w, doc, err);
	if (r == 0)
		r = write_check_name(w, doc, err);
	if (r == 0)
		*ret_doc = doc;
	return r;
}

int write_patch(struct write *w, const struct json *old, enum patch_type type,
		const struct json *patch, struct json **ret_object, struct error *err)
{
	struct json *doc;
	int r;

	r = write_patch_form(w, old, type, patch, &doc, err);
	if (r < 0)
		return r;
	return write_finish_update(w, old, doc, ret_object, err);
}
