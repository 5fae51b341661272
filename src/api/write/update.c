/*
 * Replaces a stored object. A write of the main resource keeps the stored status; a write of
 * /status keeps everything else. As upstream, kinds differ in the metadata that a status write may
 * change. A result that equals the stored object is not written.
 */
#include "api/write/write_impl.h"

#include "api/crd/crd.h"
#include "api/defaults/defaults.h"
#include "api/validate/validate.h"
#include "cel/cel_limits.h"
#include "cel/core/env.h"

/* --- may it be replaced --------------------------------------------------------------- */

int write_check_uid(const struct json *old, const struct json *object, struct error *err)
{
	struct str given = json_text_at(json_getz(object, "metadata"), "uid");
	struct str stored = json_text_at(json_getz(old, "metadata"), "uid");

	if (given.n == 0 || str_eq(given, stored))
		return 0;
	return error_set(err, ERR_CONFLICT,
			 "Precondition failed: UID in precondition: %.*s, UID in object meta: %.*s",
			 STR_ARG(given), STR_ARG(stored));
}

/* Reads the number; 0 if empty. If it is not a number, adds an error and returns false. */
static bool read_version(struct write *w, struct str text, uint64_t *ret_version)
{
	struct field_path meta = field_path_name(NULL, "metadata");
	struct field_path path = field_path_name(&meta, "resourceVersion");

	*ret_version = 0;
	if (text.n == 0 || str_to_u64(text, ret_version))
		return true;
	field_errors_addf(&w->errs, FIELD_INVALID, &path, FIELD_STR(text),
			  "strconv.ParseUint: parsing \"%.*s\": invalid syntax", STR_ARG(text));
	return false;
}

static int update_check_version(struct write *w, const struct json *old_meta, struct json *meta,
				struct error *err)
{
	struct str stored = json_text_at(old_meta, "resourceVersion");
	struct field_path parent = field_path_name(NULL, "metadata");
	struct field_path path = field_path_name(&parent, "resourceVersion");
	uint64_t version;

	if (!read_version(w, json_text_at(meta, "resourceVersion"), &version))
		return write_result(w, err);
	if (version == 0 && !(w->kind->storage->flags & SCHEMA_UNCONDITIONAL_UPDATE)) {
		field_errors_invalid(&w->errs, &path, FIELD_JSON(STR("0x0")),
				     "must be specified for an update");
		return write_result(w, err);
	}
	if (version != 0 && !str_eq(json_text_at(meta, "resourceVersion"), stored))
		return error_set(err, ERR_CONFLICT,
				 "the object has been modified; please apply your changes to the "
				 "latest version and try again");
	json_put_str(w->arena, meta, "resourceVersion", stored);
	return 0;
}

/* --- stored values that are kept -------------------------------------------------------- */

static void keep_all_but_status(struct write *w, struct json *object, const struct json *old)
{
	static const char *const meta_members[] = { "labels", "annotations", "finalizers",
						    "ownerReferences", "deletionTimestamp" };
	struct json *meta = json_getz(object, "metadata");
	const struct json *old_meta = json_getz(old, "metadata");

	JSON_FOREACH_SAFE (member, object) {
		struct str key = json_key(member);

		if (!str_eq(key, STR("metadata")) && !str_eq(key, STR("status")))
			tree_carry_key(w->arena, object, old, key);
	}
	JSON_FOREACH (member, old)
		if (!json_get(object, json_key(member)) && !str_eq(json_key(member), STR("status")))
			tree_carry_key(w->arena, object, old, json_key(member));
	if (!w->kind->custom && !(w->kind->flags & SCHEMA_STATUS_KEEPS_META))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(meta_members); i++)
		tree_carry(w->arena, meta, old_meta, meta_members[i]);
}

/* A write of /approval changes only the conditions of the status. */
static void keep_all_but_conditions(struct write *w, struct json *object, const struct json *old)
{
	struct json *conditions = json_remove(json_getz(object, "status"), STR("conditions"));

	keep_all_but_status(w, object, old);
	tree_carry(w->arena, object, old, "status");
	if (conditions)
		json_setz(json_need_object(w->arena, object, "status"), "conditions", conditions);
	else
		json_remove(json_getz(object, "status"), STR("conditions"));
}

static void keep_stored(struct write *w, struct json *object, const struct json *old)
{
	struct json *meta = json_getz(object, "metadata");

	write_keep_meta(w->arena, meta, json_getz(old, "metadata"));
	if (str_eq(w->subresource, STR("status")))
		keep_all_but_status(w, object, old);
	else if (str_eq(w->subresource, STR("approval")))
		keep_all_but_conditions(w, object, old);
	else if (write_rules(w)->flags & SCHEMA_STATUS)
		tree_carry(w->arena, object, old, "status");
}

static void count_generation(struct write *w, struct json *object, const struct json *old)
{
	const struct json *old_meta = json_getz(old, "metadata");
	bool changed;

	if (!(write_rules(w)->flags & SCHEMA_GENERATION))
		return;
	changed = write_spec_changed(object, old);
	/* In a custom kind without a status subresource, status counts like spec. */
	if (w->kind->custom && !str_eq(w->subresource, STR("status")))
		changed |= !tree_same(object, old, "status");
	if (changed)
		json_put_i64(w->arena, json_getz(object, "metadata"), "generation",
			     json_i64_at(old_meta, "generation", 0) + 1);
}

/* Whether an object under deletion can be removed now: no finalizer or grace period keeps it. */
static bool may_go(const struct write *w, const struct json *object, const struct json *old)
{
	const struct json *old_meta = json_getz(old, "metadata");

	if (!json_getz(old_meta, "deletionTimestamp") ||
	    json_count(json_getz(json_getz(object, "metadata"), "finalizers")) ||
	    json_i64_at(old_meta, "deletionGracePeriodSeconds", 0) != 0)
		return false;
	if (w->kind->storage->flags & SCHEMA_SPEC_FINALIZERS)
		return json_count(json_getz(json_getz(object, "spec"), "finalizers")) == 0;
	return true;
}

static void update_validate(struct write *w, const struct json *object, const struct json *old)
{
	struct cel_budget budget = { .left = CEL_COMPILE_MAX };
	struct validation v = {
		.errs = &w->errs,
		.arena = w->arena,
		.gates = w->gates,
		.kind = write_rules(w),
		.old = old,
		.object = object,
		.now_ns = w->now_ns,
		.warnings = &w->warnings,
		.namespace_labels = w->namespace_labels,
		.selectors = w->selectors,
		.trial = w->trial,
		.budget = &budget,
		.subresource = w->subresource,
	};
	bool status = str_eq(w->subresource, STR("status"));

	if (v.kind->custom)
		(status ? crd_validate_status : crd_validate)(&v);
	else
		(status ? validate_status_update : validate_update)(&v);
	w->compile_steps = CEL_COMPILE_MAX - budget.left;
}

/* Returns the stored object as the rules of this write see it. */
static const struct json *seen_form(struct write *w, const struct json *stored)
{
	struct json *seen;

	if (!w->kind->custom)
		return stored;
	seen = tree_copy(w->arena, stored);
	write_from_storage(w->arena, seen, w->kind);
	return seen;
}

/* Applies gates, defaults and the kind's own rules; called before and after admission. */
static void update_complete(struct write *w, struct json *object, const struct json *old)
{
	const struct schema_kind *kind = write_rules(w);

	if (!kind->custom) {
		decode_drop_gated(object, old, kind->type, w->gates);
		defaults_fill(w->arena, object, kind->type, w->now_ns);
	}
	if (kind->prepare_update)
		kind->prepare_update(w, object, old);
	count_generation(w, object, old);
}

static int mutate(struct write *w, struct json *object, const struct json *old, struct error *err)
{
	int r;

	if (!w->mutate)
		return 0;
	r = w->mutate(w, old, object, err);
	if (r < 0 || !w->mutated)
		return r;
	keep_stored(w, object, old);
	update_complete(w, object, old);
	return 0;
}

int write_finish_update(struct write *w, const struct json *stored, struct json *object,
			struct json **ret_object, struct error *err)
{
	const struct schema_kind *kind = write_rules(w);
	const struct json *old = seen_form(w, stored);
	int r;

	if (!kind->custom)
		write_to_storage(w->arena, object, w->kind);
	r = update_check_version(w, json_getz(old, "metadata"), write_meta(w->arena, object), err);
	if (r < 0)
		return r;
	keep_stored(w, object, old);
	write_dedup_owners(w, object);
	write_settle_aliases(w, object, old);
	update_complete(w, object, old);
	write_manage(w, object, old);
	r = mutate(w, object, old, err);
	if (r < 0)
		return r;
	write_order_meta(w->arena, object);
	if (w->authorize)
		w->authorize(w, old, object);
	update_validate(w, object, old);
	r = write_result(w, err);
	if (r < 0)
		return r;

	if (kind->custom)
		write_to_storage(w->arena, object, w->kind);
	w->unchanged = json_equal(object, stored) ||
		       (w->applied && write_same_but_times(w, object, stored));
	w->last = object;
	*ret_object = may_go(w, object, old) ? NULL : object;
	return 0;
}

int write_update(struct write *w, const struct json *old, struct json *body,
		 struct json **ret_object, struct error *err)
{
	int r;

	r = write_check_namespace(w, body, err);
	if (r == 0)
		r = write_check_name(w, body, err);
	if (r == 0)
		r = write_check_uid(old, body, err);
	if (r < 0)
		return r;
	return write_finish_update(w, old, body, ret_object, err);
}
