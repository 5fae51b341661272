/*
 * Watches of any resource, by informers of the scheduler's set. Discovery is not needed: a
 * collection of all namespaces has the same path as one without namespaces, and a plugin only gives
 * a namespace for namespaced resources. A resource that is not served yet is retried.
 */
#include "base/core/mem.h"
#include "base/report/log.h"
#include "scheduler/extension/extension_impl.h"

static struct extension_watch *watch_of(struct informer_handler *h)
{
	return CONTAINER_OF(h, struct extension_watch, handler);
}

static void watch_on_add(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct extension_watch *w = watch_of(h);

	extension_enter(w->extension);
	w->ops.on_add(w->ops.arg, &(struct dp_object){ o, NULL });
	extension_leave(w->extension);
}

static void watch_on_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct extension_watch *w = watch_of(h);

	extension_enter(w->extension);
	w->ops.on_update(w->ops.arg, &(struct dp_object){ old, NULL },
			 &(struct dp_object){ o, NULL });
	extension_leave(w->extension);
}

static void watch_on_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	struct extension_watch *w = watch_of(h);

	extension_enter(w->extension);
	w->ops.on_delete(w->ops.arg, &(struct dp_object){ last, NULL });
	extension_leave(w->extension);
}

static void watch_on_synced(struct informer_handler *h)
{
	struct extension_watch *w = watch_of(h);

	extension_enter(w->extension);
	w->ops.on_synced(w->ops.arg);
	extension_leave(w->extension);
}

static const char *refusal(const struct extension_host *h, const struct dp_watch *w)
{
	bool open = h->instance ? h->instance->initialising : h->extension->running;

	if (!open)
		return "watch is for init and run only";
	if (!w->version || !w->resource || w->version[0] == '\0' || w->resource[0] == '\0')
		return "a watch needs a version and a resource";
	return NULL;
}

static const char *watch_copy(struct extension_watch *w, const char *text)
{
	return text ? arena_strdup(&w->arena, str_from(text)) : NULL;
}

int extension_watch(void *host, const struct dp_watch *given, struct dp_reason *why)
{
	struct extension_host *h = host;
	struct dp_watch ops = { 0 };
	const char *wrong;
	struct extension_watch *w;

	memcpy(&ops, given, MIN((size_t)given->size, sizeof(ops)));
	wrong = refusal(h, &ops);
	if (wrong) {
		extension_say(why, wrong);
		return -1;
	}
	w = XNEW(struct extension_watch);
	arena_init(&w->arena, SIZE_MAX);
	w->extension = h->extension;
	w->owner = h->id;
	w->ops = ops;
	w->ops.group = watch_copy(w, ops.group);
	w->ops.version = watch_copy(w, ops.version);
	w->ops.resource = watch_copy(w, ops.resource);
	w->ops.ns = watch_copy(w, ops.ns);
	w->ops.label_selector = watch_copy(w, ops.label_selector);
	w->handler.on_add = ops.on_add ? watch_on_add : NULL;
	w->handler.on_update = ops.on_update ? watch_on_update : NULL;
	w->handler.on_delete = ops.on_delete ? watch_on_delete : NULL;
	w->handler.on_synced = ops.on_synced ? watch_on_synced : NULL;
	(void)vec_push(&h->extension->watches, w);
	return 0;
}

static void watch_begin(struct extension *e, struct extension_watch *w)
{
	struct resource resource = {
		.group = str_from(w->ops.group),
		.version = str_from(w->ops.version),
		.resource = str_from(w->ops.resource),
		.namespaced = w->ops.ns != NULL,
	};
	struct informer_spec spec = {
		.resource = &resource,
		.ns = str_from(w->ops.ns),
		.label_selector = str_from(w->ops.label_selector),
		.slim = true,
	};

	w->informer = informers_get(e->informers, &spec);
	informer_add_handler(w->informer, &w->handler);
}

void extension_watches_begin(struct extension *e)
{
	for (size_t i = 0; e->informers && i < e->watches.n; i++)
		watch_begin(e, e->watches.v[i]);
}

void extension_watches_end(struct extension *e, uint64_t owner)
{
	for (size_t i = e->watches.n; i > 0; i--) {
		struct extension_watch *w = e->watches.v[i - 1];

		if (w->owner != owner)
			continue;
		informer_remove_handler(&w->handler);
		arena_release(&w->arena);
		free(w);
		vec_remove(&e->watches, i - 1);
	}
}
