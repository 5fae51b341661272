/*
 * The steps of an apply: check the configuration, merge it into the live object, remove the fields
 * that the manager no longer has, and compare the fields of all other managers with the changes. A
 * changed field that another manager owns is a conflict or, with force, lost to that manager.
 */
#include "api/managed/managed.h"

#include "api/api_limits.h"
#include "api/managed/entry.h"
#include "api/managed/prune.h"
#include "api/managed/set.h"
#include "api/managed/tree.h"
#include "api/managed/type.h"
#include "api/managed/version.h"
#include "api/patch/last_applied.h"
#include "base/core/limits.h"
#include "base/text/quote.h"

enum { CONFLICT_WORDS = 128 }; /* maximum number of bytes around each conflict in a reply */

struct applying {
	struct arena *arena;
	const struct schema_kind *kind;
	const struct json *live; /* NULL: a create */
	const struct json *config;
	const struct managed_writer *writer;
	struct managed_entries entries;
	struct managed_entry *own; /* the manager's own among them, with its new set */
	struct json *object;
	/* The fields in conflict, by entry; NULL for an entry without conflicts. */
	struct json **conflicts;
};

/* --- checking the configuration ----------------------------------------------------------- */

/* Makes "resource.k8s.io/v1, Kind=ResourceClaim"; for the core group "/v1, Kind=Pod". */
static const char *describe_kind(struct arena *a, const struct json *config)
{
	struct str version = json_text_at(config, "apiVersion");
	const char *slash = str_chr(version, '/') < 0 ? "/" : "";

	return arena_printf(a, "%s%.*s, Kind=%.*s", slash, STR_ARG(version),
			    STR_ARG(json_text_at(config, "kind")));
}

int managed_check_config(struct arena *a, const struct schema_kind *kind, const struct json *config,
			 struct error *err)
{
	const struct json *meta = json_getz(config, "metadata");
	int r;

	if (!str_eq(json_text_at(config, "apiVersion"), kind->api_version) ||
	    !str_eq(json_text_at(config, "kind"), kind->kind))
		return error_set(err, ERR_BAD_REQUEST, "invalid object type: %s",
				 describe_kind(a, config));
	if (json_is(json_getz(meta, "managedFields"), JSON_ARRAY))
		return error_set(err, ERR_BAD_REQUEST, "metadata.managedFields must be nil");
	if (managed_is_deeper(config, OBJECT_DEPTH_MAX))
		return error_set(err, ERR_BAD_REQUEST,
				 "the configuration is nested deeper than %d levels",
				 OBJECT_DEPTH_MAX);
	r = managed_check(a, kind->type, config, err);
	if (r < 0)
		(void)error_wrap(err, r, "failed to create typed patch object (%.*s/%.*s; %s)",
				 STR_ARG(json_text_at(meta, "namespace")),
				 STR_ARG(json_text_at(meta, "name")), describe_kind(a, config));
	return r;
}

/* --- the entries -------------------------------------------------------------------------- */

/* Fields set before ownership was tracked belong to one manager, "before-first-apply". */
static void own_untracked(struct applying *x)
{
	struct managed_writer before = *x->writer;
	struct managed_diff diff;

	before.manager = STR("before-first-apply");
	diff = managed_diff(x->arena, x->kind->type, NULL, x->live,
			    schema_resets(x->kind, x->writer->subresource));
	if (diff.changed)
		managed_entry_touch(x->arena,
				    managed_entries_add(x->arena, &x->entries, STR("Update"),
							&before, diff.changed),
				    &before);
}

static void read_entries(struct applying *x)
{
	const struct json *stored = json_getz(json_getz(x->live, "metadata"), "managedFields");
	struct json *copy = NULL;

	if (stored)
		(void)json_copy(x->arena, stored, &copy, NULL);
	if (!managed_entries_read(x->arena, copy, &x->entries))
		(void)managed_entries_read(x->arena, NULL, &x->entries);
	if (x->entries.n == 0 && x->live)
		own_untracked(x);
}

/* Makes a set of paths such as "metadata.name", of at most two steps. */
static struct json *set_of(struct arena *a, const struct str *paths)
{
	struct json *set = json_make_object(a), *at;
	struct str rest, name, step;

	for (; paths && paths->p; paths++) {
		rest = *paths;
		at = set;
		while (str_split(&rest, '.', &name)) {
			step = str_from(arena_printf(a, "f:%.*s", STR_ARG(name)));
			if (!json_get(at, step))
				json_add(at, step, json_make_object(a));
			at = json_get(at, step);
		}
	}
	(void)managed_set_read(a, set);
	return set;
}

/*
 * Sets the manager's entry to the fields of its configuration. Returns the previous set, or NULL.
 */
static struct json *own_config(struct applying *x, struct str *ret_last_version)
{
	struct json *set = managed_fields(x->arena, x->kind->type, x->config), *last;
	const struct str *resets = schema_resets(x->kind, x->writer->subresource);

	managed_set_subtract_deep(x->arena, set, set_of(x->arena, resets));
	x->own = managed_entries_find(&x->entries, STR("Apply"), x->writer);
	if (!x->own) {
		x->own = managed_entries_add(x->arena, &x->entries, STR("Apply"), x->writer, set);
		return NULL;
	}
	last = x->own->set;
	*ret_last_version = x->own->api_version;
	x->own->set = set;
	x->own->api_version = x->writer->api_version;
	return last;
}

/* Removes fields that nobody owns, and "metadata" itself, from the manager's entry. */
static void strip_own(struct applying *x)
{
	struct json *strip = set_of(x->arena, managed_nobodys);
	struct json *metadata = json_get(strip, STR("f:metadata"));

	json_add(metadata, STR("."), json_make_object(x->arena));
	managed_set_sort(x->arena, metadata);
	x->own->gone = !managed_set_subtract(x->arena, x->own->set, strip);
}

/* --- conflicts ---------------------------------------------------------------------------- */

/* Also drops entries of versions that no longer exist. */
static void find_conflicts(struct applying *x, struct managed_change *change)
{
	struct managed_diff diff;
	struct json *both;

	x->conflicts = ARENA_ARRAY(x->arena, struct json *, x->entries.n);
	for (size_t i = 0; i < x->entries.n; i++) {
		struct managed_entry *e = &x->entries.v[i];

		if (e == x->own)
			continue;
		if (!managed_change_at(change, e->api_version, &diff)) {
			e->gone = true;
			continue;
		}
		if (!diff.changed)
			continue;
		both = managed_set_intersect(x->arena, e->set, diff.changed);
		if (both->n)
			x->conflicts[i] = both;
	}
}

/*
 * Returns the fields that kubectl set by client-side apply and that nobody changed since: its
 * annotation and the object agree on them.
 */
static struct json *set_client_side(struct applying *x)
{
	struct json *last, *set;
	struct managed_diff diff;

	if (!str_eqz(x->writer->manager, "kubectl"))
		return NULL;
	last = last_applied_get(x->arena, x->live);
	if (!last || !str_eq(json_text_at(last, "apiVersion"), x->kind->api_version) ||
	    managed_is_deeper(last, OBJECT_DEPTH_MAX) ||
	    managed_check(x->arena, x->kind->type, last, NULL) < 0)
		return NULL;
	set = managed_fields(x->arena, x->kind->type, last);
	diff = managed_diff(x->arena, x->kind->type, last, x->live, NULL);
	(void)managed_set_subtract(x->arena, set, diff.changed);
	(void)managed_set_subtract(x->arena, set, diff.removed);
	return set;
}

static size_t count_conflicts(const struct applying *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->entries.n; i++)
		if (x->conflicts[i])
			n += managed_set_count(x->conflicts[i]);
	return n;
}

/* Removes the conflicts about fields that the manager itself set by client-side apply. */
static void settle_conflicts(struct applying *x)
{
	struct json *own = set_client_side(x);

	for (size_t i = 0; i < x->entries.n && own; i++)
		if (x->conflicts[i])
			(void)managed_set_subtract(x->arena, x->conflicts[i], own);
}

/* --- reporting conflicts ------------------------------------------------------------------ */

struct telling {
	struct arena *arena;
	struct managed_applied *applied;
	struct str manager;
	size_t room; /* bytes that are left in the reply */
};

/* Returns false if there is no space: further conflicts are only counted. */
static bool add_conflict(void *arg, struct str path)
{
	struct telling *t = arg;
	size_t size = 2 * (path.n + t->manager.n) + CONFLICT_WORDS;

	if (size > t->room)
		return false;
	t->room -= size;
	t->applied->untold--;
	t->applied->conflicts[t->applied->nconflicts++] = (struct managed_conflict){
		t->manager, arena_str(t->arena, path)
	};
	return true;
}

static struct str describe_manager(struct arena *a, const struct managed_entry *e)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(64 * KIB);

	quote_print(e->manager, &b);
	if (e->subresource.n) {
		(void)buf_addz(&b, " with subresource ");
		quote_print(e->subresource, &b);
	}
	if (managed_is_update(e))
		(void)buf_printf(&b, " using %.*s", STR_ARG(e->api_version));
	return arena_str(a, buf_str(&b));
}

static int by_identity(const void *a, const void *b)
{
	const struct managed_entry *x = *(struct managed_entry *const *)a;
	const struct managed_entry *y = *(struct managed_entry *const *)b;
	int order = str_cmp(x->manager, y->manager);

	if (order == 0)
		order = str_cmp(x->operation, y->operation);
	if (order == 0)
		order = str_cmp(x->api_version, y->api_version);
	return order ? order : str_cmp(x->subresource, y->subresource);
}

static int apply_refuse(struct applying *x, struct managed_applied *ret, struct error *err)
{
	struct managed_entry **order = ARENA_ARRAY(x->arena, struct managed_entry *, x->entries.n);
	struct telling t = { .arena = x->arena, .applied = ret, .room = CONFLICTS_TOLD_MAX };
	size_t n = 0;

	ret->conflicts = ARENA_ARRAY(x->arena, struct managed_conflict,
				     MIN(ret->untold, CONFLICTS_TOLD_MAX / CONFLICT_WORDS));
	for (size_t i = 0; i < x->entries.n; i++)
		if (x->conflicts[i])
			order[n++] = &x->entries.v[i];
	qsort(order, n, sizeof(*order), by_identity);
	for (size_t i = 0; i < n; i++) {
		t.manager = describe_manager(x->arena, order[i]);
		managed_set_paths(x->arena, x->conflicts[order[i] - x->entries.v], add_conflict,
				  &t);
	}
	n = ret->nconflicts + ret->untold;
	return error_set(err, ERR_APPLY_CONFLICT, "Apply failed with %zu conflict%s", n,
			 n == 1 ? "" : "s");
}

/* The other managers keep the fields that did not change. */
static void take_over(struct applying *x, struct managed_change *change)
{
	struct managed_diff diff;

	for (size_t i = 0; i < x->entries.n; i++) {
		struct managed_entry *e = &x->entries.v[i];

		if (e == x->own || e->gone || !managed_change_at(change, e->api_version, &diff))
			continue;
		(void)managed_set_subtract(x->arena, e->set, diff.changed);
		e->gone = !managed_set_subtract(x->arena, e->set, diff.removed);
	}
}

/* --- the whole ----------------------------------------------------------------------------- */

static void merge_config(struct applying *x)
{
	struct str last_version;
	struct json *last;

	if (!x->live || json_copy(x->arena, x->live, &x->object, NULL) < 0)
		x->object = json_make_object(x->arena);
	managed_merge(x->arena, x->kind->type, x->object, x->config);
	for (size_t i = 0; i < x->entries.n; i++) {
		const struct schema_kind *kind = managed_kind_at(x->kind,
								 x->entries.v[i].api_version);

		if (kind)
			managed_reconcile(kind->type, x->entries.v[i].set);
	}
	last = own_config(x, &last_version);
	if (last)
		x->object = managed_prune(x->arena, x->kind, x->object, &x->entries, last,
					  last_version);
}

/* Updates kubectl's annotation with the configuration applied last, if the object has it. */
static void keep_annotation(struct applying *x)
{
	struct json *annotations = json_getz(json_getz(x->object, "metadata"), "annotations");
	struct str text;
	size_t size = 0;

	if (!str_eqz(x->writer->manager, "kubectl") ||
	    json_text_at(annotations, LAST_APPLIED_ANNOTATION).n == 0 ||
	    last_applied_print(x->arena, x->config, &text, NULL) < 0)
		return;
	json_put_str(x->arena, annotations, LAST_APPLIED_ANNOTATION, text);
	JSON_FOREACH (it, annotations)
		size += json_key(it).n + json_str(it).n;
	if (size > ANNOTATIONS_MAX)
		json_remove(annotations, STR(LAST_APPLIED_ANNOTATION));
}

static void apply_finish(struct applying *x)
{
	struct json *list;

	/* An apply that only joins the owners of a value does not change the entry's time. */
	if (!json_equal(x->live, x->object))
		managed_entry_touch(x->arena, x->own, x->writer);
	strip_own(x);
	keep_annotation(x);
	list = managed_entries_print(x->arena, &x->entries);
	if (list->n)
		json_setz(json_need_object(x->arena, x->object, "metadata"), "managedFields", list);
	else
		json_remove(json_getz(x->object, "metadata"), STR("managedFields"));
}

int managed_apply(struct arena *a, const struct schema_kind *kind, const struct json *live,
		  const struct json *config, const struct managed_writer *writer, bool force,
		  struct managed_applied *ret, struct error *err)
{
	struct applying x = {
		.arena = a, .kind = kind, .live = live, .config = config, .writer = writer
	};
	struct managed_change change = { .arena = a,
					 .kind = kind,
					 .old = live,
					 .subresource = writer->subresource,
					 .raw = true };
	int r;

	*ret = (struct managed_applied){ 0 };
	r = managed_check_config(a, kind, config, err);
	if (r < 0)
		return r;
	read_entries(&x);
	if (x.entries.n >= MANAGED_ENTRIES_MAX &&
	    !managed_entries_find(&x.entries, STR("Apply"), writer))
		return error_set(
			err, ERR_TOO_LARGE,
			"the object has %zu field managers already (limit %d); apply with one of "
			"them instead of \"%.*s\"",
			x.entries.n, MANAGED_ENTRIES_MAX, STR_ARG(writer->manager));
	merge_config(&x);
	change.object = x.object;
	find_conflicts(&x, &change);
	if (a->refused)
		return error_set(err, ERR_TOO_LARGE,
				 "the object is too large for server-side apply; use an update or "
				 "another patch");
	if (!force && count_conflicts(&x))
		settle_conflicts(&x);
	ret->untold = force ? 0 : count_conflicts(&x);
	if (ret->untold)
		return apply_refuse(&x, ret, err);
	take_over(&x, &change);
	apply_finish(&x);
	ret->object = x.object;
	return 0;
}
