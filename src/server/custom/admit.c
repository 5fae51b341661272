/*
 * Sets the status of a definition while it is written. Upstream has controllers for names,
 * establishing and approval, which write after the client's write. Here all of that is part of
 * the client's write. It is decided at the state, where the names of all other definitions are
 * known, pending ones included.
 */
#include "api/schema/tree.h"
#include "api/write/write.h"
#include "server/admission/request.h"
#include "server/core/parts.h"
#include "server/custom/custom_impl.h"
#include "server/engine/sequencer.h"

/* Names of definitions with pending writes. */
struct pending_names {
	struct pending_names *next;
	struct str group;
	const struct json *names; /* status.acceptedNames */
};

struct taken {
	struct custom *custom;
	struct pending_names *pending;
};

/* --- owners of names ------------------------------------------------------------------ */

static bool is_text(const struct json *names, const char *key, struct str name)
{
	return str_eq(json_text_at(names, key), name);
}

static bool names_have_resource(const struct json *names, struct str name)
{
	if (is_text(names, "plural", name) || is_text(names, "singular", name))
		return true;
	JSON_FOREACH (s, json_getz(names, "shortNames"))
		if (str_eq(json_str(s), name))
			return true;
	return false;
}

static bool names_have_kind(const struct json *names, struct str name)
{
	return is_text(names, "kind", name) || is_text(names, "listKind", name);
}

static bool admit_is_taken(const struct taken *t, struct str group, struct str name,
			   bool (*by_crd)(const struct crd *crd, struct str name),
			   bool (*by_names)(const struct json *names, struct str name))
{
	struct omap_cursor at;

	for (const struct pending_names *p = t->pending; p; p = p->next)
		if (str_eq(p->group, group) && by_names(p->names, name))
			return true;
	for (bool ok = omap_first(&t->custom->definitions, &at); ok; ok = omap_next(&at)) {
		const struct definition *d = omap_value(&at);

		if (d->crd && str_eq(crd_group(d->crd), group) && by_crd(d->crd, name))
			return true;
	}
	return false;
}

static bool resource_is_taken(const void *catalogue, struct str group, struct str name)
{
	return admit_is_taken(catalogue, group, name, crd_takes_resource, names_have_resource);
}

static bool kind_is_taken(const void *catalogue, struct str group, struct str name)
{
	return admit_is_taken(catalogue, group, name, crd_takes_kind, names_have_kind);
}

static struct pending_names *pending_names(struct custom *c, struct arena *a)
{
	const struct resource *r = state_resource(c->state, custom_kind());
	struct pending_names *all = NULL, *p;
	struct json *tree;
	struct str key;
	size_t at = 0;
	void *w;

	while (map_next(&r->tips, &at, &key, &w)) {
		const struct object *o = ((struct state_write *)w)->pending;

		if (!o || object_tree(o, a, &tree, NULL) < 0)
			continue;
		p = ARENA_NEW(a, struct pending_names);
		p->group = json_text_at(json_getz(tree, "spec"), "group");
		p->names = json_getz(json_getz(tree, "status"), "acceptedNames");
		p->next = all;
		all = p;
	}
	return all;
}

/* Whether names are taken, for crd_accept_names(): by committed and by pending definitions. */
static struct crd_taken taken_by(struct custom *c, struct arena *a)
{
	struct taken *t = ARENA_NEW(a, struct taken);

	t->custom = c;
	t->pending = pending_names(c, a);
	return (struct crd_taken){ .resource = resource_is_taken,
				   .kind = kind_is_taken,
				   .catalogue = t };
}

/* --- the status ----------------------------------------------------------------------- */

static struct str storage_version(const struct json *definition)
{
	JSON_FOREACH (v, json_getz(json_getz(definition, "spec"), "versions"))
		if (json_true_at(v, "storage"))
			return json_text_at(v, "name");
	return STR_NULL;
}

/* Objects may be stored in any version that was ever the storage version. */
static bool note_stored(struct arena *a, struct json *definition)
{
	struct str version = storage_version(definition);
	struct json *status = json_getz(definition, "status"), *stored;

	stored = json_getz(status, "storedVersions");
	JSON_FOREACH (v, stored)
		if (str_eq(json_str(v), version))
			return false;
	if (!status || !version.n)
		return false;
	if (!json_is(stored, JSON_ARRAY)) {
		stored = json_make_array(a);
		json_setz(status, "storedVersions", stored);
	}
	json_append(stored, json_make_str(a, version));
	return true;
}

bool custom_settle(struct custom *c, struct arena *a, struct json *definition, int64_t now_ns)
{
	struct crd_taken taken = taken_by(c, a);
	bool changed = crd_accept_names(a, definition, &taken, now_ns);

	changed = crd_set_approval(a, definition, now_ns) || changed;
	if (tree_condition_is_true(definition, STR("NamesAccepted")))
		changed = crd_set_condition(a, definition, &crd_established, now_ns) || changed;
	return note_stored(a, definition) || changed;
}

int custom_admit(struct admission_request *req, const struct json *old UNUSED, struct json *object,
		 struct error *err UNUSED)
{
	if (object && !json_getz(json_getz(object, "metadata"), "deletionTimestamp"))
		(void)custom_settle(req->server->custom, req->work, object, req->write->now_ns);
	return 0;
}

const struct json *custom_delete_base(const struct write *w, const struct json *old)
{
	struct json *base;

	if (w->kind->storage != custom_kind() ||
	    json_getz(json_getz(old, "metadata"), "deletionTimestamp"))
		return old;
	if (json_copy(w->arena, old, &base, NULL) < 0)
		return old;
	crd_begin_deletion(w->arena, base, w->now_ns);
	return base;
}
