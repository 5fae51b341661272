/*
 * All of it in one batch. Servers that start together run into each other, and whoever is
 * outrun looks again at what the others wrote.
 */
#include "server/storage_versions.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/timestamp.h"
#include "server/ensure.h"
#include "server/identity.h"
#include "server/server_impl.h"

#define MANAGER STR("devplane-server")

enum { TRIES = 20 }; /* of a start; the next one goes on */

struct storage_versions {
	struct server *server;
	void (*done)(void *arg, const struct error *err);
	void *arg;
	unsigned tries;
};

static void run(struct storage_versions *v);

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

static struct json *entry_of(const struct server *s, struct arena *a,
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

static struct json *entries_of(const struct server *s, struct ensure *e,
			       const struct schema_kind *kind, const struct json *old)
{
	struct arena *a = ensure_arena(e);
	struct json *list = json_make_array(a), *own = entry_of(s, a, kind), *copy;

	JSON_FOREACH (it, json_getz(old, "storageVersions")) {
		struct str name = json_text_at(it, "apiServerID");

		if (own && str_eq(name, identity_name(s->identity)))
			json_append(list, TAKE(own));
		else if (!identity_is_gone(s->identity, e, name) &&
			 json_copy(a, it, &copy, NULL) == 0)
			json_append(list, copy);
	}
	if (own)
		json_append(list, own);
	return list;
}

/* What all of them store; p NULL when they differ. */
static struct str common_of(const struct json *entries)
{
	struct str common = json_text_at(json_first(entries), "encodingVersion");

	JSON_FOREACH (it, entries)
		if (!str_eq(json_text_at(it, "encodingVersion"), common))
			return STR_NULL;
	return common;
}

static struct json *condition_of(const struct server *s, struct arena *a, struct str common,
				 const struct json *old)
{
	const struct json *was = json_find(json_getz(old, "conditions"), "type",
					   STR("AllEncodingVersionsEqual"));
	struct json *c = json_make_object(a);
	struct str since = json_text_at(was, "lastTransitionTime");
	char now[TIMESTAMP_SIZE];

	if (!since.n || !str_eq(json_text_at(old, "commonEncodingVersion"), common))
		since = arena_str(a, timestamp_print(clock_wall(s->clock), TIMESTAMP_SECONDS, now));
	json_put_str(a, c, "type", STR("AllEncodingVersionsEqual"));
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

static struct json *status_of(const struct server *s, struct ensure *e,
			      const struct schema_kind *kind, const struct json *old)
{
	struct arena *a = ensure_arena(e);
	struct json *status = json_make_object(a), *entries = entries_of(s, e, kind, old);
	struct str common = common_of(entries);

	json_setz(status, "storageVersions", entries);
	if (common.p)
		json_put_str(a, status, "commonEncodingVersion", common);
	json_append(json_need_array(a, status, "conditions"), condition_of(s, a, common, old));
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

static struct str name_of(struct arena *a, const struct schema_kind *kind)
{
	struct str group = kind->group.n ? kind->group : STR("core");

	return str_from(arena_printf(a, "%.*s.%.*s", STR_ARG(group), STR_ARG(kind->resource)));
}

static void ensure_one(const struct server *s, struct ensure *e, const struct schema_kind *record,
		       const struct schema_kind *kind)
{
	struct arena *a = ensure_arena(e);
	struct str name = name_of(a, kind);
	struct json *there = ensure_tree(e, record, STR(""), name);
	const struct json *old = json_getz(there, "status");
	struct json *status = status_of(s, e, kind, old);
	struct json *body = there ? json_make_object(a) : body_of(a, name);

	json_setz(body, "status", status);
	if (!there) {
		ensure_create_status(e, record, body, MANAGER);
	} else if (!json_equal(status, old)) {
		if (!json_getz(status, "commonEncodingVersion"))
			json_setz(status, "commonEncodingVersion", json_make_null(a));
		ensure_patch_status(e, record, there, body, MANAGER);
	}
}

static void on_written(void *arg, const struct error *err, bool outrun)
{
	struct storage_versions *v = arg;

	if (!err && outrun && ++v->tries < TRIES) {
		run(v);
		return;
	}
	v->done(v->arg, err);
	free(v);
}

static void run(struct storage_versions *v)
{
	struct ensure *e = ensure_new(v->server, on_written, v);
	const struct schema_kind *record = schema_find_resource(
		STR("internal.apiserver.k8s.io"), STR("v1alpha1"), STR("storageversions"));
	size_t n;
	const struct schema_kind *const *kinds = schema_kinds(&n);

	for (size_t i = 0; i < n; i++)
		if (kinds[i]->storage == kinds[i] && (kinds[i]->verbs & SCHEMA_WATCH) &&
		    gates_on(&v->server->gates, kinds[i]->gate))
			ensure_one(v->server, e, record, kinds[i]);
	ensure_end(e);
}

void storage_versions_ensure(struct server *s, void (*done)(void *arg, const struct error *err),
			     void *arg)
{
	struct storage_versions *v;

	if (!gates_on(&s->gates, GATE_StorageVersionAPI)) {
		done(arg, NULL);
		return;
	}
	v = XNEW(struct storage_versions);
	*v = (struct storage_versions){ s, done, arg, 0 };
	run(v);
}
