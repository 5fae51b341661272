/*
 * Everything is one batch. Servers that start together conflict, and the one that loses looks
 * again at what the others wrote.
 */
#include "server/startup/storage_versions.h"

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/time/timestamp.h"
#include "server/core/ensure.h"
#include "server/core/parts.h"
#include "server/startup/identity.h"

enum { TRIES = 20 };

#define CONDITION STR("AllEncodingVersionsEqual")

struct storage_versions {
	struct job job; /* waits for writes of other servers; must be first */
	struct server *server;
	void (*done)(void *arg, const struct error *err);
	void *arg;
	bool tidies; /* removes entries only */
	unsigned tries;
};

static void storage_versions_run(struct storage_versions *v);

/* --- one entry --------------------------------------------------------------------------- */

static struct json *versions_of(struct arena *a, const struct schema_kind *stored,
				const struct gates *served)
{
	struct json *list = json_make_array(a);
	size_t n;
	const struct schema_kind *const *kinds = schema_kinds(&n);

	for (size_t i = 0; i < n; i++) {
		if (kinds[i]->storage != stored)
			continue;
		if (!served ||
		    (gates_on(served, kinds[i]->gate) && str_eq(kinds[i]->group, stored->group)))
			json_append(list, json_make_str(a, kinds[i]->api_version));
	}
	return list;
}

static struct json *storage_versions_entry_of(const struct server *s, struct arena *a,
					      const struct schema_kind *kind)
{
	struct json *entry = json_make_object(a);

	json_put_str(a, entry, "apiServerID", identity_name(s->identity));
	json_put_str(a, entry, "encodingVersion", kind->api_version);
	json_setz(entry, "decodableVersions", versions_of(a, kind, NULL));
	json_setz(entry, "servedVersions", versions_of(a, kind, &s->gates));
	return entry;
}

/* --- the status --------------------------------------------------------------------------- */

/* The entries of servers that are there. `own`: that of this server; NULL: it has none. */
static struct json *entries_of(const struct server *s, struct ensure *e, struct json *own,
			       const struct json *old)
{
	struct arena *a = ensure_arena(e);
	struct json *list = json_make_array(a), *copy;

	JSON_FOREACH (it, json_getz(old, "storageVersions")) {
		struct str name = json_text_at(it, "apiServerID");

		bool is_own = str_eq(name, identity_name(s->identity));

		if (is_own && own)
			json_append(list, TAKE(own));
		else if (!is_own && !identity_is_gone(s->identity, e, name) &&
			 json_copy(a, it, &copy, NULL) == 0)
			json_append(list, copy);
	}
	if (own)
		json_append(list, own);
	return list;
}

/* The same, with this server's entry as it is. */
static struct json *entries_kept(const struct server *s, struct ensure *e, const struct json *old)
{
	struct json *own = json_find(json_getz(old, "storageVersions"), "apiServerID",
				     identity_name(s->identity));

	if (own && json_copy(ensure_arena(e), own, &own, NULL) < 0)
		own = NULL;
	return entries_of(s, e, own, old);
}

/* The version that all of them store; p NULL if they differ. */
static struct str common_of(const struct json *entries)
{
	struct str common = json_text_at(json_first(entries), "encodingVersion");

	JSON_FOREACH (it, entries)
		if (!str_eq(json_text_at(it, "encodingVersion"), common))
			return STR_NULL;
	return common;
}

static struct json *storage_versions_condition_of(const struct server *s, struct arena *a,
						  struct str common, const struct json *old)
{
	const struct json *was = json_find(json_getz(old, "conditions"), "type", CONDITION);
	struct json *c = json_make_object(a);
	struct str since = json_text_at(was, "lastTransitionTime");
	char now[TIMESTAMP_SIZE];

	if (!since.n || !str_eq(json_text_at(old, "commonEncodingVersion"), common))
		since = arena_str(a, timestamp_print(clock_wall(s->clock), TIMESTAMP_SECONDS, now));
	json_put_str(a, c, "type", CONDITION);
	json_put_str(a, c, "status", common.p ? STR("True") : STR("False"));
	json_put_str(a, c, "lastTransitionTime", since);
	json_put_str(a, c, "reason",
		     common.p ? STR("CommonEncodingVersionSet")
			      : STR("CommonEncodingVersionUnset"));
	json_put_str(a, c, "message",
		     common.p ? STR("Common encoding version set")
			      : STR("Common encoding version unset"));
	return c;
}

/* Replaces our condition; others stay. */
static struct json *conditions_of(const struct server *s, struct arena *a, struct str common,
				  const struct json *old)
{
	struct json *own = storage_versions_condition_of(s, a, common, old),
		    *list = json_make_array(a), *copy;

	JSON_FOREACH (it, json_getz(old, "conditions")) {
		bool is_own = str_eq(json_text_at(it, "type"), CONDITION);

		if (is_own && own)
			json_append(list, TAKE(own));
		else if (!is_own && json_copy(a, it, &copy, NULL) == 0)
			json_append(list, copy);
	}
	if (own)
		json_append(list, own);
	return list;
}

static struct json *storage_versions_status_of(const struct server *s, struct arena *a,
					       struct json *entries, const struct json *old)
{
	struct json *status = json_make_object(a);
	struct str common = common_of(entries);

	json_setz(status, "storageVersions", entries);
	if (common.p)
		json_put_str(a, status, "commonEncodingVersion", common);
	json_setz(status, "conditions", conditions_of(s, a, common, old));
	return status;
}

/* --- writing --------------------------------------------------------------------------------- */

static struct json *body_of(struct arena *a, struct str name)
{
	struct json *body = json_make_object(a);

	json_put_str(a, body, "apiVersion", STR("internal.apiserver.k8s.io/v1alpha1"));
	json_put_str(a, body, "kind", STR("StorageVersion"));
	json_put_str(a, json_need_object(a, body, "metadata"), "name", name);
	(void)json_need_object(a, body, "spec");
	return body;
}

static struct str storage_versions_name_of(struct arena *a, const struct schema_kind *kind)
{
	struct str group = kind->group.n ? kind->group : STR("core");

	return str_from(arena_printf(a, "%.*s.%.*s", STR_ARG(group), STR_ARG(kind->resource)));
}

static bool is_stored(const struct server *s, const struct schema_kind *kind)
{
	return kind->storage == kind && (kind->verbs & SCHEMA_WATCH) &&
	       gates_on(&s->gates, kind->gate);
}

static void patch(struct ensure *e, const struct schema_kind *record, const struct json *there,
		  struct json *status)
{
	struct arena *a = ensure_arena(e);
	struct json *body = json_make_object(a);

	if (!json_getz(status, "commonEncodingVersion"))
		json_setz(status, "commonEncodingVersion", json_make_null(a));
	json_setz(body, "status", status);
	ensure_patch_status(e, record, there, body, ENSURE_MANAGER);
}

static void ensure_own(const struct server *s, struct ensure *e, const struct schema_kind *record,
		       const struct schema_kind *kind)
{
	struct arena *a = ensure_arena(e);
	struct str name = storage_versions_name_of(a, kind);
	struct json *there = ensure_tree(e, record, STR(""), name), *body;
	const struct json *old = json_getz(there, "status");
	struct json *status = storage_versions_status_of(
		s, a, entries_of(s, e, storage_versions_entry_of(s, a, kind), old), old);

	if (there) {
		if (!json_equal(status, old))
			patch(e, record, there, status);
		return;
	}
	body = body_of(a, name);
	json_setz(body, "status", status);
	ensure_create_status(e, record, body, ENSURE_MANAGER);
}

/* Writes the entries of an object if some of the old ones are missing. */
static void ensure_fewer(const struct server *s, struct ensure *e, const struct schema_kind *record,
			 struct json *there, struct json *entries)
{
	const struct json *old = json_getz(there, "status");

	if (json_count(entries) == json_count(json_getz(old, "storageVersions")))
		return;
	if (json_count(entries))
		patch(e, record, there,
		      storage_versions_status_of(s, ensure_arena(e), entries, old));
	else
		ensure_delete(e, record, there);
}

/* For a kind that only others store, or that this server stored with another gate or release. */
static void ensure_other(const struct server *s, struct ensure *e, const struct schema_kind *record,
			 struct str name)
{
	struct json *there = ensure_tree(e, record, STR(""), name);

	ensure_fewer(s, e, record, there, entries_of(s, e, NULL, json_getz(there, "status")));
}

static void storage_versions_tidy_one(const struct server *s, struct ensure *e,
				      const struct schema_kind *record, struct str name)
{
	struct json *there = ensure_tree(e, record, STR(""), name);

	ensure_fewer(s, e, record, there, entries_kept(s, e, json_getz(there, "status")));
}

static bool is_own(const struct server *s, struct arena *a, struct str name)
{
	size_t n;
	const struct schema_kind *const *kinds = schema_kinds(&n);

	for (size_t i = 0; i < n; i++)
		if (is_stored(s, kinds[i]) && str_ends(name, kinds[i]->resource) &&
		    str_eq(name, storage_versions_name_of(a, kinds[i])))
			return true;
	return false;
}

/* --- steps --------------------------------------------------------------------------------- */

static void storage_versions_finish(struct storage_versions *v, const struct error *err)
{
	v->done(v->arg, err);
	free(v);
}

static void storage_versions_on_synced(struct state *st UNUSED, struct job *j,
				       const struct error *err)
{
	struct storage_versions *v = CONTAINER_OF(j, struct storage_versions, job);

	if (err)
		storage_versions_finish(v, err);
	else
		storage_versions_run(v);
}

static void storage_versions_on_written(void *arg, const struct error *err, bool outrun)
{
	struct storage_versions *v = arg;
	struct error late;

	if (err || !outrun) {
		storage_versions_finish(v, err);
	} else if (++v->tries < TRIES) {
		state_sync(v->server->state, &v->job, 0, storage_versions_on_synced);
	} else {
		(void)error_set(&late, ERR_CONFLICT,
				"another client changed them first, %d times in a row", TRIES);
		storage_versions_finish(v, &late);
	}
}

static void storage_versions_run(struct storage_versions *v)
{
	struct server *s = v->server;
	struct ensure *e = ensure_new(s, storage_versions_on_written, v);
	const struct schema_kind *record = schema_find_resource(
		STR("internal.apiserver.k8s.io"), STR("v1alpha1"), STR("storageversions"));
	size_t n;
	const struct schema_kind *const *kinds = schema_kinds(&n);

	for (size_t i = 0; i < n && !v->tidies; i++)
		if (is_stored(s, kinds[i]))
			ensure_own(s, e, record, kinds[i]);
	JSON_FOREACH (it, ensure_names(e, record, STR("")))
		if (v->tidies)
			storage_versions_tidy_one(s, e, record, json_str(it));
		else if (!is_own(s, ensure_arena(e), json_str(it)))
			ensure_other(s, e, record, json_str(it));
	ensure_end(e);
}

static void storage_versions_begin(struct server *s, bool tidies,
				   void (*done)(void *arg, const struct error *err), void *arg)
{
	struct storage_versions *v;

	if (!gates_on(&s->gates, GATE_StorageVersionAPI)) {
		done(arg, NULL);
		return;
	}
	v = XNEW(struct storage_versions);
	*v = (struct storage_versions){ .server = s, .done = done, .arg = arg, .tidies = tidies };
	storage_versions_run(v);
}

void storage_versions_ensure(struct server *s, void (*done)(void *arg, const struct error *err),
			     void *arg)
{
	storage_versions_begin(s, false, done, arg);
}

void storage_versions_tidy(struct server *s, void (*done)(void *arg, const struct error *err),
			   void *arg)
{
	storage_versions_begin(s, true, done, arg);
}
