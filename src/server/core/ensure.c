/*
 * A write that the server makes for itself, without exchange and client. Otherwise it follows the
 * steps of verbs/mutation.c, and reports to the caller.
 */
#include "server/core/ensure.h"

#include <stdlib.h>

#include "api/write/write.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "server/core/parts.h"

struct ensure {
	struct arena arena;
	struct server *server;
	void (*done)(void *arg, const struct error *err, bool outrun);
	void *arg;
	size_t open; /* writes under way, plus one until ensure_end() */
	struct error err; /* the first one */
	bool outrun;
};

struct ensure *ensure_new(struct server *s,
			  void (*done)(void *arg, const struct error *err, bool outrun), void *arg)
{
	struct ensure *e = XNEW(struct ensure);

	*e = (struct ensure){ .server = s, .done = done, .arg = arg, .open = 1 };
	arena_init(&e->arena, SIZE_MAX);
	return e;
}

struct arena *ensure_arena(struct ensure *e)
{
	return &e->arena;
}

static void ensure_fail(struct ensure *e, const struct error *err)
{
	if (e->err.code == ERR_OK)
		e->err = *err;
}

void ensure_end(struct ensure *e)
{
	if (--e->open > 0)
		return;
	e->done(e->arg, e->err.code == ERR_OK ? NULL : &e->err, e->outrun);
	arena_release(&e->arena);
	free(e);
}

static void ensure_on_written(struct state_write *w, struct object *object UNUSED,
			      const struct error *err)
{
	struct ensure *e = w->arg;

	if (err && (err->code == ERR_CONFLICT || err->code == ERR_ALREADY_EXISTS))
		e->outrun = true;
	else if (err)
		ensure_fail(e, err);
	ensure_end(e);
}

static struct write write_of(struct ensure *e, const struct schema_kind *kind, struct str manager)
{
	struct server *s = e->server;

	return (struct write){ .arena = &e->arena,
			       .kind = kind,
			       .gates = &s->gates,
			       .now_ns = clock_wall(s->clock),
			       .prng = loop_prng(s->opts.loops[0]),
			       .options.field_manager = manager };
}

static struct str meta_text(const struct json *object, const char *name)
{
	return json_text_at(json_getz(object, "metadata"), name);
}

/* `named` has the metadata of the object; `tree` NULL: delete it. */
static void submit(struct ensure *e, const struct schema_kind *kind, struct object *base,
		   const struct json *named, const struct json *tree)
{
	struct state_write *w = ARENA_NEW(&e->arena, struct state_write);
	struct error err;

	w->done = ensure_on_written;
	w->arg = e;
	if (state_write(w, state_resource(e->server->state, kind), meta_text(named, "namespace"),
			meta_text(named, "name"), base, tree, &e->arena, &err) < 0)
		ensure_fail(e, &err);
	else
		e->open++;
}

static struct object *tip_of(struct ensure *e, const struct schema_kind *kind, struct str ns,
			     struct str name)
{
	return resource_tip(state_resource(e->server->state, kind), ns, name);
}

static void create_through(struct ensure *e, const struct schema_kind *kind, struct str subresource,
			   struct json *body, struct str manager)
{
	struct write w = write_of(e, kind, manager);
	struct error err;
	struct json *tree;

	if (tip_of(e, kind, meta_text(body, "namespace"), meta_text(body, "name")))
		return;
	w.ns = meta_text(body, "namespace");
	w.subresource = subresource;
	write_init(&w);
	if (write_create(&w, body, &tree, &err) < 0)
		ensure_fail(e, &err);
	else
		submit(e, kind, NULL, tree, tree);
}

void ensure_create(struct ensure *e, const struct schema_kind *kind, struct json *body,
		   struct str manager)
{
	create_through(e, kind, STR(""), body, manager);
}

void ensure_create_status(struct ensure *e, const struct schema_kind *kind, struct json *body,
			  struct str manager)
{
	create_through(e, kind, STR("status"), body, manager);
}

struct json *ensure_tree(struct ensure *e, const struct schema_kind *kind, struct str ns,
			 struct str name)
{
	struct object *o = tip_of(e, kind, ns, name);
	struct json *tree = NULL;
	struct error err;

	if (!o)
		return NULL;
	if (object_tree(o, &e->arena, &tree, &err) < 0) {
		ensure_fail(e, &err);
		return NULL;
	}
	/* A pending object has no resourceVersion yet, but an update must name one. */
	if (!o->revision)
		json_put_str(&e->arena, json_getz(tree, "metadata"), "resourceVersion", STR("0"));
	return tree;
}

struct names {
	struct arena *arena;
	struct json *list;
};

static void add_names(void *arg, const struct list_result *result, const struct error *err UNUSED)
{
	struct names *names = arg;

	for (size_t i = 0; result && i < result->n; i++) {
		const struct object *o = result->items[i];
		size_t skip = o->ns_n ? o->ns_n + 1 : 0;

		json_append(names->list,
			    json_make_str(names->arena,
					  arena_str(names->arena, str_skip(o->key, skip))));
	}
}

/* A list of committed objects is immediate. */
const struct json *ensure_names(struct ensure *e, const struct schema_kind *kind, struct str ns)
{
	struct names names = { &e->arena, json_make_array(&e->arena) };
	struct list_query q = { .ns = ns };

	resource_list(state_resource(e->server->state, kind), &q, &e->arena, add_names, &names);
	return names.list;
}

static void patch_through(struct ensure *e, const struct schema_kind *kind, struct str subresource,
			  const struct json *old, struct json *patch, struct str manager)
{
	struct write w = write_of(e, kind, manager);
	struct object *base;
	struct error err;
	struct json *tree;

	w.subresource = subresource;
	w.ns = meta_text(old, "namespace");
	w.name = meta_text(old, "name");
	base = tip_of(e, kind, w.ns, w.name);
	write_init(&w);
	if (write_patch(&w, old, PATCH_MERGE, patch, &tree, &err) < 0)
		ensure_fail(e, &err);
	else if (!w.unchanged && tree)
		submit(e, kind, base, tree, tree);
}

void ensure_patch(struct ensure *e, const struct schema_kind *kind, const struct json *old,
		  struct json *patch, struct str manager)
{
	patch_through(e, kind, STR(""), old, patch, manager);
}

void ensure_patch_status(struct ensure *e, const struct schema_kind *kind, const struct json *old,
			 struct json *patch, struct str manager)
{
	patch_through(e, kind, STR("status"), old, patch, manager);
}

void ensure_delete(struct ensure *e, const struct schema_kind *kind, const struct json *old)
{
	struct write w = write_of(e, kind, ENSURE_MANAGER);
	struct delete_options options = { .grace_s = -1 };
	struct error err;
	struct json *tree;

	w.ns = meta_text(old, "namespace");
	w.name = meta_text(old, "name");
	write_init(&w);
	if (write_delete(&w, old, &options, &tree, &err) < 0)
		ensure_fail(e, &err);
	else if (!w.unchanged)
		submit(e, kind, tip_of(e, kind, w.ns, w.name), old, tree);
}
