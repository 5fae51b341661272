/*
 * The same rules as for any client's write make them. Another server on the same
 * etcd may be first: that is as good.
 */
#include "server/namespaces.h"

#include "api/write.h"
#include "base/clock.h"
#include "base/mem.h"
#include "server/server_impl.h"

static const char *const names[] = { "default", "kube-system", "kube-public", "kube-node-lease" };

struct ensure {
	struct arena arena;
	struct server *server;
	void (*done)(void *arg, const struct error *err);
	void *arg;
	size_t open; /* writes under way, and one for the one who starts them */
	struct error err;
	struct state_write writes[ARRAY_SIZE(names)];
};

static void drop(struct ensure *e)
{
	if (--e->open > 0)
		return;
	e->done(e->arg, e->err.code == ERR_OK ? NULL : &e->err);
	arena_release(&e->arena);
	free(e);
}

static void on_written(struct state_write *w, struct object *object UNUSED, const struct error *err)
{
	struct ensure *e = w->arg;

	if (err && err->code != ERR_CONFLICT && err->code != ERR_ALREADY_EXISTS)
		e->err = *err;
	drop(e);
}

static int make(struct ensure *e, const char *name, struct json **ret_tree, struct error *err)
{
	static const struct str manager = { "devplane-server", 15 };
	struct server *s = e->server;
	struct arena *a = &e->arena;
	struct write w = { .arena = a,
			   .kind = schema_find_resource(STR(""), STR("v1"), STR("namespaces")),
			   .gates = &s->gates,
			   .now_ns = clock_wall(s->clock),
			   .prng = loop_prng(s->opts.loops[0]),
			   .field_manager = manager };
	struct json *body = json_make_object(a), *meta = json_make_object(a);

	write_init(&w);
	json_setz(body, "apiVersion", json_make_str(a, STR("v1")));
	json_setz(body, "kind", json_make_str(a, STR("Namespace")));
	json_setz(body, "metadata", meta);
	json_setz(meta, "name", json_make_str(a, str_from(name)));
	return write_create(&w, body, ret_tree, err);
}

static void ensure_one(struct ensure *e, size_t i)
{
	const struct schema_kind *kind = schema_find_resource(STR(""), STR("v1"),
							      STR("namespaces"));
	struct resource *r = state_resource(e->server->state, kind);
	struct json *tree;
	int ret;

	if (resource_tip(r, STR(""), str_from(names[i])))
		return;
	ret = make(e, names[i], &tree, &e->err);
	if (ret < 0)
		return;
	e->writes[i].done = on_written;
	e->writes[i].arg = e;
	ret = state_write(&e->writes[i], r, STR(""), str_from(names[i]), NULL, tree, &e->arena,
			  &e->err);
	if (ret == 0)
		e->open++;
}

void namespaces_ensure(struct server *s, void (*done)(void *arg, const struct error *err),
		       void *arg)
{
	struct ensure *e = xcalloc(1, sizeof(*e));

	*e = (struct ensure){ .server = s, .done = done, .arg = arg, .open = 1 };
	arena_init(&e->arena, SIZE_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ensure_one(e, i);
	drop(e);
}
