/*
 * Four creations in one batch.
 */
#include "server/startup/namespaces.h"

#include "base/core/mem.h"
#include "server/core/ensure.h"

static const char *const names[] = { "default", "kube-system", "kube-public", "kube-node-lease" };

struct namespaces {
	void (*done)(void *arg, const struct error *err);
	void *arg;
};

static void namespaces_on_done(void *arg, const struct error *err, bool outrun UNUSED)
{
	struct namespaces *n = arg;

	n->done(n->arg, err);
	free(n);
}

static struct json *body_of(struct arena *a, const char *name)
{
	struct json *body = json_make_object(a), *meta = json_make_object(a);

	json_put_str(a, body, "apiVersion", STR("v1"));
	json_put_str(a, body, "kind", STR("Namespace"));
	json_setz(body, "metadata", meta);
	json_put_str(a, meta, "name", str_from(name));
	return body;
}

void namespaces_ensure(struct server *s, void (*done)(void *arg, const struct error *err),
		       void *arg)
{
	struct namespaces *n = XNEW(struct namespaces);
	struct ensure *e = ensure_new(s, namespaces_on_done, n);

	*n = (struct namespaces){ done, arg };
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		ensure_create(e, schema_find_resource(STR(""), STR("v1"), STR("namespaces")),
			      body_of(ensure_arena(e), names[i]), ENSURE_MANAGER);
	ensure_end(e);
}
