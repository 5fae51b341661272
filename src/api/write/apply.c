/*
 * Server-side apply: managed.h makes the object, which then continues like an update or a create.
 * The configuration is not decoded like a body, because apply must distinguish fields that are left
 * out from fields with an explicit zero value.
 */
#include "api/write/write_impl.h"

#include "api/managed/managed.h"
#include "base/core/limits.h"

/* --- no-ops ------------------------------------------------------------------------------- */

static bool has_all_but_time(const struct json *entry, const struct json *of)
{
	JSON_FOREACH (member, of) {
		struct str key = json_key(member);

		if (!str_eqz(key, "time") && !json_equal(json_get(entry, key), member))
			return false;
	}
	return true;
}

static bool same_entries(const struct json *a, const struct json *b)
{
	const struct json *y = json_first(b);

	if (json_count(a) != json_count(b))
		return false;
	JSON_FOREACH (x, a) {
		if (!has_all_but_time(x, y) || !has_all_but_time(y, x))
			return false;
		y = y->next;
	}
	return true;
}

bool write_same_but_times(struct write *w, struct json *object, const struct json *stored)
{
	struct json *meta = json_getz(object, "metadata");
	struct json *entries = json_getz(meta, "managedFields");
	const struct json *before = json_getz(json_getz(stored, "metadata"), "managedFields");
	struct json *kept;

	if (!entries || !before || !same_entries(entries, before))
		return false;
	kept = tree_copy(w->arena, before);
	json_replace(meta, entries, kept);
	if (json_equal(object, stored))
		return true;
	json_replace(meta, kept, entries);
	return false;
}

/* --- apply --------------------------------------------------------------------------------- */

/*
 * Returns the configuration with the stored names; if both names were sent, decides which one
 * counts.
 */
static const struct json *fold(struct write *w, const struct json *config, const struct json *live)
{
	struct json *own;

	if (!(w->kind->flags & SCHEMA_NETWORK_NAMES))
		return config;
	own = tree_copy(w->arena, config);
	write_fold_aliases(w, own);
	write_settle_aliases(w, own, live);
	return own;
}

static int apply_merge(struct write *w, const struct json *live, const struct json *config,
		       struct json **ret_object, struct error *err)
{
	const struct managed_writer writer = {
		.manager = w->options.field_manager,
		.api_version = w->kind->api_version,
		.subresource = w->subresource,
		.now_ns = w->now_ns,
	};
	struct managed_applied *applied = ARENA_NEW(w->arena, struct managed_applied);
	int r;

	r = managed_apply(w->arena, w->kind, live, config, &writer, w->options.force, applied, err);
	w->conflicts = applied;
	*ret_object = applied->object;
	return r;
}

/* Handles names that occur twice in the text of the configuration. */
static int take_faults(struct write *w, struct error *err)
{
	static const char head[] = "error strict decoding patch: ";
	const struct decode_report report = write_patch_report(w);
	CLEANUP(buf_release) struct buf lines = BUF_INIT(MIB);
	int r;

	r = write_take_report(w, &report, err);
	if (r == 0)
		return 0;
	if (report.lines) {
		decode_print_lines(report.lines, &lines);
		w->message = str_from(arena_printf(w->arena,
						   "%serror converting YAML to JSON: %.*s", head,
						   (int)lines.n, lines.p));
	} else {
		w->message = str_from(arena_printf(w->arena, "%s%.*s", head, STR_ARG(w->message)));
	}
	return error_set(err, ERR_BAD_REQUEST, "%.*s", STR_ARG(w->message));
}

static int fit(struct write *w, struct json *object, struct error *err)
{
	const struct json *meta = json_getz(object, "metadata");
	struct str ns = json_text_at(meta, "namespace"), name = json_text_at(meta, "name");
	struct error why = { 0 };

	if (write_fit(w, object, w->kind, NULL, &why) == 0)
		return 0;
	return error_set(err, ERR_UNTYPED,
			 "failed to convert new object (%.*s/%.*s; %s%.*s, Kind=%.*s) to proper "
			 "version: %s",
			 STR_ARG(ns), STR_ARG(name), w->kind->group.n ? "" : "/",
			 STR_ARG(w->kind->api_version), STR_ARG(w->kind->kind), why.msg);
}

static int check_uid(const struct json *old, const struct json *object, struct error *err)
{
	struct str uid = json_text_at(json_getz(object, "metadata"), "uid");

	if (old || uid.n == 0)
		return 0;
	return error_set(err, ERR_CONFLICT,
			 "uid mismatch: the provided object specified uid %.*s, and no existing "
			 "object was found",
			 STR_ARG(uid));
}

int write_apply(struct write *w, const struct json *old, const struct json *config,
		struct json **ret_object, struct error *err)
{
	struct json *live = NULL, *object = NULL;
	int r;

	if (old) {
		live = tree_copy(w->arena, old);
		write_from_storage(w->arena, live, w->kind);
	}
	config = fold(w, config, live);
	r = write_result(w, err);
	if (r == 0)
		r = apply_merge(w, live, config, &object, err);
	if (r == 0)
		r = take_faults(w, err);
	if (r == 0)
		r = fit(w, object, err);
	if (r == 0)
		r = check_uid(old, object, err);
	if (r == 0)
		r = write_check_namespace(w, object, err);
	if (r == 0)
		r = write_check_name(w, object, err);
	if (r < 0)
		return r;
	w->applied = true;
	if (old)
		return write_finish_update(w, old, object, ret_object, err);
	/* An object that does not exist has no resourceVersion to compare with. */
	json_remove(json_getz(object, "metadata"), STR("resourceVersion"));
	return write_create(w, object, ret_object, err);
}
