/*
 * Definitions are kept by name, which is "plural.group", so that the definition of a path is
 * found by composing its name. Everything else that iterates over the definitions runs when a
 * definition is written, which is rare.
 */
#include "server/custom/custom.h"

#include <stdlib.h>

#include "api/schema/tree.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "server/core/parts.h"
#include "server/custom/custom_impl.h"
#include "server/engine/sequencer.h"
#include "server/http/exchange.h"
#include "server/publish/catalogue.h"

enum { NAME_BYTES = 512 }; /* large enough for the name of a definition */

const struct str custom_group = { "apiextensions.k8s.io", 20 };

const struct schema_kind *custom_kind(void)
{
	return schema_find_resource(custom_group, STR("v1"), STR("customresourcedefinitions"));
}

/* --- one definition ----------------------------------------------------------------- */

static const struct schema_kind *storage_kind(const struct crd *crd)
{
	size_t n;

	return crd_kinds(crd, &n)[0]->storage;
}

struct resource *definition_resource(const struct definition *d)
{
	return d->served ? state_resource(d->custom->state, storage_kind(d->crd)) : NULL;
}

static struct definition *definition_new(struct custom *c, struct str name)
{
	struct definition *d = xcalloc(1, sizeof(*d) + name.n);

	str_put(d + 1, name);
	d->custom = c;
	d->name = str_of(d + 1, name.n);
	(void)omap_put(&c->definitions, d->name, d);
	return d;
}

static void definition_free(struct definition *d)
{
	removal_free(d->removal);
	crd_unref(d->crd);
	free(d);
}

static void unserve(struct definition *d)
{
	if (!d->served)
		return;
	state_drop_resource(d->custom->state, storage_kind(d->crd));
	d->served = false;
	d->custom->stale = true;
}

static void definition_gone(struct definition *d)
{
	struct custom *c = d->custom;

	unserve(d);
	(void)omap_remove(&c->definitions, d->name);
	definition_free(d);
	custom_work_soon(c);
}

static bool is_same_resource(const struct crd *crd, const struct json *tree)
{
	return str_eq(crd_uid(crd), json_text_at(json_getz(tree, "metadata"), "uid"));
}

/* Compiles the definition. Returns false if its objects did not change. */
static bool recompile(struct definition *d, const struct json *tree)
{
	struct crd *made = NULL;
	struct error err;

	if (d->crd && is_same_resource(d->crd, tree) && crd_is_made_of(d->crd, tree))
		return false;
	if (crd_compile(tree, &d->custom->server->gates, &made, &err) < 0) {
		log_warn(d->custom->server->opts.log, "a CustomResourceDefinition is not served",
			 LOG_STR("name", d->name), LOG_ERR(&err));
		return false;
	}
	if (d->crd && !is_same_resource(d->crd, tree))
		unserve(d);
	crd_unref(d->crd);
	d->crd = made;
	return true;
}

/* A definition must not replace a compiled-in kind with the same storage name. */
static bool has_place(struct definition *d)
{
	const struct resource *r = state_resource(d->custom->state, storage_kind(d->crd));

	return !r || r->custom;
}

static void definition_take(struct definition *d, const struct json *tree)
{
	const struct json *meta = json_getz(tree, "metadata");
	bool other = recompile(d, tree), was_terminating = d->terminating;

	d->established = tree_condition_is_true(tree, STR("Established"));
	d->refused = !tree_condition_is_true(tree, STR("NamesAccepted"));
	d->cleaning = false;
	JSON_FOREACH (f, json_getz(meta, "finalizers"))
		if (str_eqz(json_str(f), CRD_FINALIZER))
			d->cleaning = json_getz(meta, "deletionTimestamp") != NULL;
	d->terminating = json_getz(meta, "deletionTimestamp") ||
			 tree_condition_is_true(tree, STR("Terminating"));
	d->overlaps = d->crd && !has_place(d);
	if (d->crd && d->established && !d->overlaps && (other || !d->served)) {
		state_put_resource(d->custom->state, storage_kind(d->crd));
		d->served = true;
		d->custom->stale = true;
	}
	if (d->terminating != was_terminating)
		d->custom->stale = true;
	if (other || d->cleaning)
		custom_work_soon(d->custom);
}

/* --- observers ---------------------------------------------------------------------- */

static void custom_on_changed(void *arg, struct object *now, struct object *before)
{
	CLEANUP(arena_release) struct arena a;
	struct custom *c = arg;
	struct str name = object_name(now ? now : before);
	struct definition *d = omap_get(&c->definitions, name);
	struct json *tree;

	arena_init(&a, SIZE_MAX);
	if (!now) {
		if (d)
			definition_gone(d);
		return;
	}
	if (object_tree(now, &a, &tree, NULL) < 0)
		return;
	if (!d)
		d = definition_new(c, name);
	d->seen = true;
	d->revision = now->revision;
	definition_take(d, tree);
}

/* All definitions are observed again: those not seen by the end of the turn are gone. */
static void on_reset(void *arg)
{
	struct custom *c = arg;
	struct omap_cursor at;

	for (bool ok = omap_first(&c->definitions, &at); ok; ok = omap_next(&at))
		((struct definition *)omap_value(&at))->seen = false;
	loop_defer(c->server->opts.loops[0], &c->sweep);
}

static void on_sweep(struct loop_task *t)
{
	struct custom *c = CONTAINER_OF(t, struct custom, sweep);
	struct omap_cursor at;
	bool ok = omap_first(&c->definitions, &at);

	while (ok) {
		struct definition *d = omap_value(&at);

		if (d->seen) {
			ok = omap_next(&at);
			continue;
		}
		definition_gone(d);
		ok = omap_first(&c->definitions, &at);
	}
}

/* --- lifecycle ------------------------------------------------------------------------ */

struct custom *custom_new(struct server *s)
{
	struct custom *c = XNEW(struct custom);

	c->server = s;
	c->stale = true;
	omap_init(&c->definitions);
	loop_task_init(&c->sweep, on_sweep);
	custom_work_init(c);
	c->observer = (struct state_observer){ .group = custom_group,
					       .resource = STR("customresourcedefinitions"),
					       .changed = custom_on_changed,
					       .reset = on_reset,
					       .early = true,
					       .arg = c };
	return c;
}

const struct state_observer *custom_observers(struct custom *c, size_t *ret_n)
{
	*ret_n = 1;
	return &c->observer;
}

void custom_attach(struct custom *c, struct state *st)
{
	c->state = st;
}

void custom_free(struct custom *c)
{
	struct omap_cursor at;

	if (!c)
		return;
	loop_task_cancel(&c->sweep);
	custom_work_release(c);
	for (bool ok = omap_first(&c->definitions, &at); ok; ok = omap_next(&at))
		definition_free(omap_value(&at));
	omap_release(&c->definitions);
	catalogue_unref(c->catalogue);
	free(c);
}

/* --- serving -------------------------------------------------------------------------- */

static struct definition *find_definition(const struct custom *c, struct str group,
					  struct str resource)
{
	char name[NAME_BYTES];
	size_t n = resource.n + 1 + group.n;

	if (!c->definitions.n || !resource.n || n > sizeof(name))
		return NULL;
	str_put(name, resource);
	name[resource.n] = '.';
	str_put(name + resource.n + 1, group);
	return omap_get(&c->definitions, str_of(name, n));
}

static bool find_version(const struct definition *d, struct str version, size_t *ret_i)
{
	size_t n;
	const struct schema_kind *const *kinds;

	if (!d->served)
		return false;
	kinds = crd_kinds(d->crd, &n);
	for (size_t i = 0; i < n; i++) {
		if (!str_eq(kinds[i]->version, version) || !crd_served(d->crd, i))
			continue;
		*ret_i = i;
		return true;
	}
	return false;
}

static void drop_crd(void *object)
{
	crd_unref(object);
}

static void drop_catalogue(void *object)
{
	catalogue_unref(object);
}

static bool look_kind(struct custom *c, struct exchange *x, struct custom_view *v)
{
	const struct request *r = &x->request;
	struct definition *d = find_definition(c, r->group, r->resource);
	size_t i, n;

	if (!d || !find_version(d, r->version, &i))
		return false;
	arena_hold(&x->work, drop_crd, crd_ref(d->crd));
	v->kind = crd_kinds(d->crd, &n)[i];
	v->deprecation = crd_deprecation(d->crd, i);
	return true;
}

bool custom_look_here(const struct exchange *x, struct custom_view *ret_view)
{
	const struct request *r = &x->request;
	struct str path = x->stream->in.path;

	*ret_view = (struct custom_view){ 0 };
	if (!r->resource.n)
		return !str_starts(path, STR("/api")) && !str_starts(path, STR("/openapi"));
	ret_view->compiled = schema_find_resource(r->group, r->version, r->resource);
	return !r->group.n || ret_view->compiled;
}

bool custom_look(struct custom *c, struct exchange *x, struct custom_view *ret_view)
{
	if (custom_look_here(x, ret_view))
		return true;
	if (x->request.resource.n)
		return look_kind(c, x, ret_view);
	ret_view->catalogue = catalogue_ref(custom_catalogue(c));
	arena_hold(&x->work, drop_catalogue, ret_view->catalogue);
	return true;
}

void custom_show(struct exchange *x, const struct custom_view *view)
{
	x->custom = view->kind;
	x->compiled = view->compiled;
	x->deprecation = view->deprecation;
	x->catalogue = view->catalogue;
}

/* The version of a definition, by group, version and kind. */
static const struct schema_kind *version_of(const struct definition *d, struct str group,
					    struct str version, struct str kind)
{
	const struct schema_kind *const *kinds;
	size_t n;

	if (!d->served || !str_eq(crd_group(d->crd), group))
		return NULL;
	kinds = crd_kinds(d->crd, &n);
	for (size_t i = 0; i < n; i++)
		if (crd_served(d->crd, i) && str_eq(kinds[i]->version, version) &&
		    str_eq(kinds[i]->kind, kind))
			return kinds[i];
	return NULL;
}

const struct schema_kind *custom_find_kind(const struct custom *c, struct str group,
					   struct str version, struct str kind)
{
	const struct schema_kind *found = NULL;
	struct omap_cursor at;

	for (bool ok = omap_first(&c->definitions, &at); ok && !found; ok = omap_next(&at))
		found = version_of(omap_value(&at), group, version, kind);
	return found;
}

int custom_check_create(const struct custom *c, const struct schema_kind *kind, struct error *err)
{
	const struct definition *d;

	if (!kind->custom)
		return 0;
	d = omap_get(&c->definitions, crd_name(kind->custom));
	if (!d || !d->terminating)
		return 0;
	return error_set(err, ERR_FORBIDDEN,
			 "create not allowed while custom resource definition is terminating");
}

struct store_basis custom_basis(const struct custom *c, const struct schema_kind *kind,
				struct arena *a)
{
	const struct definition *d = kind->custom
					     ? omap_get(&c->definitions, crd_name(kind->custom))
					     : NULL;

	if (!d)
		return (struct store_basis){ 0 };
	return (struct store_basis){
		.key = { .resource = custom_kind()->storage_name, .name = arena_str(a, d->name) },
		.at = d->revision,
	};
}

struct catalogue *custom_catalogue(struct custom *c)
{
	struct catalogue_builder b;
	struct catalogue *made;
	struct omap_cursor at;

	if (!c->stale)
		return c->catalogue;
	catalogue_builder_init(&b, &c->server->gates);
	for (bool ok = omap_first(&c->definitions, &at); ok; ok = omap_next(&at)) {
		const struct definition *d = omap_value(&at);

		if (d->served)
			catalogue_add(&b, d->crd);
	}
	made = catalogue_build(&b, c->catalogue);
	catalogue_unref(c->catalogue);
	c->catalogue = made;
	c->stale = false;
	return made;
}
