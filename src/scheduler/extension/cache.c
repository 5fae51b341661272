/*
 * Handles and the live cache. Every change of a value wakes the pods that wait for its type; that
 * is done at the turn's end, so that a thousand changes are one event.
 */
#include "base/core/mem.h"
#include "scheduler/extension/extension_impl.h"

static int register_handle(void *host, const struct dp_resource_type *type, dp_handle_factory *make,
			   void *arg, const struct dp_handle **ret_handle, struct dp_reason *why)
{
	struct extension_host *h = host;
	struct extended_type *t;
	struct error err;

	if (!h->instance || !h->instance->initialising) {
		extension_say(why, "register_handle is for init only");
		return -1;
	}
	if (extended_types_register(h->extension->opts.types, type, make, arg, &t, &err) < 0) {
		extension_say(why, err.msg);
		return -1;
	}
	if (ret_handle)
		*ret_handle = &t->handle;
	return 0;
}

static const void *live(const struct extension *e, const struct extended_type *t, const char *node)
{
	struct nodecache *nodes = e->services ? e->services->nodes : NULL;
	const struct nodeinfo *n = nodes ? nodecache_node(nodes, str_from(node)) : NULL;

	return n ? nodeinfo_extended(n, t->id) : NULL;
}

static const void *live_get(struct dp_cache *cache, const char *node)
{
	return live(cache->extension, cache->type, node);
}

static void cache_change(struct dp_cache *cache, const char *node, void *value, bool fresh)
{
	struct extension *e = cache->extension;
	bool was;

	/* The cache is freed before its handles: free the value that a handle still sets. */
	if (!e->services || !e->services->nodes) {
		extended_free(cache->type, value);
		return;
	}
	was = live(e, cache->type, node) != NULL;
	if (!was && !value)
		return;
	nodecache_set_extended(e->services->nodes, str_from(node), cache->type, value, fresh);
	extension_wake(e, cache->type->id,
		       !value ? EVENT_DELETE : (was ? (unsigned)EVENT_UPDATE : EVENT_ADD));
}

static void live_set(struct dp_cache *cache, const char *node, void *resource)
{
	if (resource)
		cache_change(cache, node, resource, true);
}

static void live_update(struct dp_cache *cache, const char *node,
			void *(*fn)(void *arg, void *copy), void *arg)
{
	const void *old = live(cache->extension, cache->type, node);
	void *copy = old ? extended_clone(cache->type, old) : NULL;
	void *now = fn(arg, copy);

	if (copy && now != copy)
		extended_free(cache->type, copy);
	cache_change(cache, node, now, !now || now != copy);
}

static void live_delete(struct dp_cache *cache, const char *node)
{
	cache_change(cache, node, NULL, true);
}

/*
 * Returns the value of a node. For the node of the current callback it is that node's, which may be
 * a what-if and differ from the snapshot. For other nodes it is the snapshot's of the running
 * cycle. Outside of a cycle it is the live value, or the result of the handle's own function, if it
 * has one.
 */
static const void *handle_get(void *host, const struct dp_handle *handle, const char *node)
{
	const struct extended_type *t = CONTAINER_OF((uintptr_t)handle, struct extended_type,
						     handle);
	struct extension *e = ((struct extension_host *)host)->extension;
	const struct nodeinfo *n;

	if (e->node && str_eq(e->node->name, str_from(node)))
		return nodeinfo_extended(e->node, t->id);
	if (e->snapshot) {
		n = snapshot_find(e->snapshot, str_from(node));
		return n ? nodeinfo_extended(n, t->id) : NULL;
	}
	if (t->handle.get)
		return t->handle.get(t->handle.state, node);
	return live(e, t, node);
}

static void sink_write(struct dp_sink *out, const char *text, size_t n)
{
	(void)buf_add(&out->out, text, n);
}

void extension_cache_functions(struct dp_scheduler_host *t)
{
	t->register_handle = register_handle;
	t->cache_get = live_get;
	t->cache_set = live_set;
	t->cache_update = live_update;
	t->cache_delete = live_delete;
	t->handle_get = handle_get;
	t->write = sink_write;
}

static int run_handle(struct extension *e, struct extended_type *t, struct error *err)
{
	struct dp_cache *cache = XNEW(struct dp_cache);
	struct dp_reason why = { .size = sizeof(why) };
	int r;

	*cache = (struct dp_cache){ e, t };
	(void)vec_push(&e->caches, cache);
	if (!t->handle.run)
		return 0;
	extension_enter(e);
	r = t->handle.run(t->handle.state, &e->handles.table, cache, &why);
	extension_leave(e);
	if (r == 0)
		return 0;
	return error_set(err, ERR_INVALID,
			 "the handle of extended resource %.*s does not run: %.*s",
			 STR_ARG(t->name), STR_ARG(extension_reason(&why)));
}

int extension_run_handles(struct extension *e, struct error *err)
{
	struct extended_types *types = e->opts.types;
	int r = 0;

	e->running = true;
	for (size_t i = 0; r == 0 && i < types->v.n; i++)
		r = run_handle(e, types->v.v[i], err);
	e->running = false;
	return r;
}
