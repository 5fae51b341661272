/*
 * Deletion in upstream's three steps: check the preconditions; start the grace period (only kinds
 * with grace: pods); then wait for finalizers, among them those that propagation adds for the
 * garbage collector. An object that nothing holds is removed at once.
 */
#include "api/write/write_impl.h"

#include "base/time/timestamp.h"

#define SECOND INT64_C(1000000000)

static const struct str orphan_finalizer = STR("orphan");
static const struct str foreground_finalizer = STR("foregroundDeletion");

/* --- options ---------------------------------------------------------------------------- */

static void read_propagation(struct write *w, const struct json *tree, struct delete_options *o)
{
	static const struct str policies[] = { STR("Foreground"), STR("Background"), STR("Orphan"),
					       STR("nil") };
	struct field_path path = field_path_name(NULL, "propagationPolicy");
	struct str policy = json_text_at(tree, "propagationPolicy");
	bool orphan;

	if (json_bool(json_getz(tree, "orphanDependents"), &orphan)) {
		if (policy.n)
			field_errors_invalid(
				&w->errs, &path, FIELD_STR(policy),
				"orphanDependents and deletionPropagation cannot be both set");
		o->propagation = orphan ? DELETE_ORPHAN : DELETE_BACKGROUND;
		return;
	}
	if (policy.n == 0)
		return;
	if (str_eq(policy, policies[0]))
		o->propagation = DELETE_FOREGROUND;
	else if (str_eq(policy, policies[1]))
		o->propagation = DELETE_BACKGROUND;
	else if (str_eq(policy, policies[2]))
		o->propagation = DELETE_ORPHAN;
	else
		field_errors_not_supported(&w->errs, &path, FIELD_STR(policy), policies,
					   ARRAY_SIZE(policies));
}

static void read_dry_run(struct write *w, const struct json *tree, struct delete_options *o)
{
	static const struct str values[] = { STR("All") };
	struct field_path path = field_path_name(NULL, "dryRun");
	size_t i = 0;

	JSON_FOREACH (item, json_getz(tree, "dryRun")) {
		struct field_path at = field_path_index(&path, i++);

		if (str_eq(json_str(item), values[0]))
			o->dry_run = true;
		else
			field_errors_not_supported(&w->errs, &at, FIELD_STR(json_str(item)), values,
						   ARRAY_SIZE(values));
	}
}

int write_delete_options(struct write *w, const struct json *tree,
			 struct delete_options *ret_options, struct error *err)
{
	const struct json *conditions = json_getz(tree, "preconditions");
	struct delete_options o = { .grace_s = -1 };
	int64_t grace;

	if (json_i64(json_getz(tree, "gracePeriodSeconds"), &grace))
		o.grace_s = grace < 0 ? 1 : grace; /* upstream treats any negative one as 1 */
	o.uid = json_text_at(conditions, "uid");
	o.resource_version = json_text_at(conditions, "resourceVersion");
	read_propagation(w, tree, &o);
	read_dry_run(w, tree, &o);
	if (field_errors_any(&w->errs))
		return write_result(w, err);
	*ret_options = o;
	return 0;
}

static int check_preconditions(const struct json *meta, const struct delete_options *o,
			       struct error *err)
{
	struct str uid = json_text_at(meta, "uid");
	struct str version = json_text_at(meta, "resourceVersion");

	if (o->uid.n && !str_eq(o->uid, uid))
		return error_set(err, ERR_CONFLICT,
				 "the UID in the precondition (%.*s) does not match the UID in "
				 "record (%.*s). The object might have been deleted and then "
				 "recreated",
				 STR_ARG(o->uid), STR_ARG(uid));
	if (o->resource_version.n && !str_eq(o->resource_version, version))
		return error_set(err, ERR_CONFLICT,
				 "the ResourceVersion in the precondition (%.*s) does not match "
				 "the ResourceVersion in record (%.*s). The object might have been "
				 "modified",
				 STR_ARG(o->resource_version), STR_ARG(version));
	return 0;
}

/* --- propagation ------------------------------------------------------------------------- */

static bool wants_orphans(const struct write *w, const struct json *finalizers,
			  const struct delete_options *o)
{
	if (o->propagation != DELETE_DEFAULT)
		return o->propagation == DELETE_ORPHAN;
	if (json_has_text(finalizers, orphan_finalizer))
		return true;
	if (json_has_text(finalizers, foreground_finalizer))
		return false;
	return w->kind->storage->flags & SCHEMA_ORPHAN_BY_DEFAULT;
}

static bool wants_foreground(const struct json *finalizers, const struct delete_options *o)
{
	if (o->propagation != DELETE_DEFAULT)
		return o->propagation == DELETE_FOREGROUND;
	return json_has_text(finalizers, foreground_finalizer) &&
	       !json_has_text(finalizers, orphan_finalizer);
}

static void set_finalizer(struct write *w, struct json *meta, struct str name, bool wanted)
{
	struct json *list = json_getz(meta, "finalizers");

	if (wanted == json_has_text(list, name))
		return;
	if (wanted) {
		if (!list) {
			list = json_make_array(w->arena);
			json_setz(meta, "finalizers", list);
		}
		json_append(list, json_make_str(w->arena, name));
		return;
	}
	JSON_FOREACH_SAFE (item, list)
		if (str_eq(json_str(item), name))
			json_unlink(list, item);
	if (json_count(list) == 0)
		json_remove(meta, STR("finalizers"));
}

void write_set_propagation(struct write *w, struct json *meta, const struct delete_options *o)
{
	const struct json *finalizers = json_getz(meta, "finalizers");
	bool supported = !(w->kind->storage->flags & SCHEMA_EVENTS);
	bool orphan = supported && wants_orphans(w, finalizers, o);
	bool foreground = supported && wants_foreground(finalizers, o);

	set_finalizer(w, meta, orphan_finalizer, orphan);
	set_finalizer(w, meta, foreground_finalizer, foreground);
}

/* --- grace -------------------------------------------------------------------------------- */

/* Returns the grace period of this pod, in seconds. */
static int64_t grace_period(const struct json *object, const struct delete_options *o)
{
	const struct json *spec = json_getz(object, "spec");
	struct str phase = json_text_at(json_getz(object, "status"), "phase");
	int64_t period = o->grace_s >= 0 ? o->grace_s
					 : json_i64_at(spec, "terminationGracePeriodSeconds", 0);

	if (json_text_at(spec, "nodeName").n == 0)
		return 0;
	if (str_eq(phase, STR("Failed")) || str_eq(phase, STR("Succeeded")))
		return 0;
	return period < 0 ? 1 : period;
}

static void bump_generation(struct write *w, struct json *meta)
{
	int64_t generation = json_i64_at(meta, "generation", 0);

	if (generation > 0)
		json_put_i64(w->arena, meta, "generation", generation + 1);
}

static int64_t delete_read_time(const struct json *meta, const char *key)
{
	int64_t ns = 0;

	(void)timestamp_parse(json_text_at(meta, key), &ns, NULL);
	return ns;
}

/* Moves the end of a running deletion. It can only become earlier, and not before now. */
static void shorten(struct write *w, struct json *meta, int64_t from_s, int64_t to_s)
{
	int64_t end = delete_read_time(meta, "deletionTimestamp") + (to_s - from_s) * SECOND;

	if (end < w->now_ns) {
		end = w->now_ns;
		if (to_s != 0)
			to_s = 1;
	}
	tree_set_time(w->arena, meta, "deletionTimestamp", end);
	json_put_i64(w->arena, meta, "deletionGracePeriodSeconds", to_s);
}

enum grace { GRACE_NONE, GRACE_BEGUN, GRACE_PENDING };

/*
 * Decides about the grace period. GRACE_BEGUN: the object was marked; its period is in the
 * metadata.
 */
static enum grace begin_grace(struct write *w, struct json *object, const struct delete_options *o)
{
	struct json *meta = json_getz(object, "metadata");
	int64_t period = json_i64_at(meta, "deletionGracePeriodSeconds", 0);

	if (!(w->kind->storage->flags & SCHEMA_GRACEFUL))
		return GRACE_NONE;
	if (json_getz(meta, "deletionTimestamp")) {
		if (period == 0)
			return GRACE_NONE;
		if (o->grace_s < 0 || o->grace_s >= period)
			return GRACE_PENDING;
		shorten(w, meta, period, o->grace_s);
		return GRACE_BEGUN;
	}
	period = grace_period(object, o);
	tree_set_time(w->arena, meta, "deletionTimestamp", w->now_ns + period * SECOND);
	json_put_i64(w->arena, meta, "deletionGracePeriodSeconds", period);
	bump_generation(w, meta);
	return GRACE_BEGUN;
}

/* --- deletion ------------------------------------------------------------------------------ */

/* Marks an object that only finalizers hold. */
static void delete_mark(struct write *w, struct json *meta)
{
	if (!json_getz(meta, "deletionTimestamp")) {
		bump_generation(w, meta);
		tree_set_time(w->arena, meta, "deletionTimestamp", w->now_ns);
	} else if (delete_read_time(meta, "deletionTimestamp") > w->now_ns) {
		tree_set_time(w->arena, meta, "deletionTimestamp", w->now_ns);
	}
	json_put_i64(w->arena, meta, "deletionGracePeriodSeconds", 0);
}

/* Whether something still holds the object; marks it accordingly. */
static bool is_held(struct write *w, struct json *object, const struct delete_options *o)
{
	struct json *meta = json_getz(object, "metadata");
	enum grace grace = begin_grace(w, object, o);
	bool finalizers;

	if (grace == GRACE_PENDING)
		return true;
	write_set_propagation(w, meta, o);
	finalizers = json_count(json_getz(meta, "finalizers")) > 0;
	if (grace == GRACE_BEGUN)
		return finalizers || json_i64_at(meta, "deletionGracePeriodSeconds", 0) > 0;
	if (finalizers)
		delete_mark(w, meta);
	return finalizers;
}

int write_delete(struct write *w, const struct json *old, const struct delete_options *options,
		 struct json **ret_object, struct error *err)
{
	const struct schema_kind *kind = w->kind->storage;
	struct json *object;
	bool held;
	int r;

	r = check_preconditions(json_getz(old, "metadata"), options, err);
	if (r < 0)
		return r;
	object = tree_copy(w->arena, old);
	held = (kind->prepare_delete && kind->prepare_delete(w, object, options)) ||
	       is_held(w, object, options);
	if (!held) {
		*ret_object = NULL;
		return 0;
	}
	write_order_meta(w->arena, object);
	w->unchanged = json_equal(object, old);
	*ret_object = object;
	return 0;
}
