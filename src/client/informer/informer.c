/*
 * The reflector delivers states and events. This file turns them into differences, updates the
 * cache and then calls the handlers. Only one place calls handlers at a time: a new handler must
 * first get the whole state, so a task delivers that to it, and until then it is skipped.
 */
#include "client/informer/informer.h"

#include "base/core/mem.h"
#include "client/informer/informer_impl.h"

static struct loop *loop_of(const struct informer *i)
{
	return client_loop(i->set->client);
}

/* --- handlers -------------------------------------------------------------------------- */

static struct informer_handler *first_handler(struct informer *i)
{
	i->next_handler = i->handlers.next;
	return NULL;
}

/* The next handler of a round; handlers may be added and removed meanwhile. */
static struct informer_handler *next_handler(struct informer *i)
{
	struct list *at = i->next_handler;

	if (at == &i->handlers)
		return NULL;
	i->next_handler = at->next;
	return LIST_ENTRY(at, struct informer_handler, link);
}

#define FOREACH_HANDLER(h, i)                                                     \
	for (struct informer_handler *h = (first_handler(i), next_handler(i)); h; \
	     h = next_handler(i))

static void tell_add(struct informer *i, struct cached *o)
{
	i->stats.added++;
	FOREACH_HANDLER(h, i)
	if (h->live && h->on_add)
		h->on_add(h, o, !i->synced);
}

static void tell_update(struct informer *i, struct cached *old, struct cached *o)
{
	i->stats.updated++;
	FOREACH_HANDLER(h, i)
	if (h->live && h->on_update)
		h->on_update(h, old, o);
}

static void tell_delete(struct informer *i, struct cached *last, bool unknown)
{
	i->stats.deleted++;
	FOREACH_HANDLER(h, i)
	if (h->live && h->on_delete)
		h->on_delete(h, last, unknown);
}

static void tell_synced(struct informer *i)
{
	FOREACH_HANDLER(h, i)
	{
		if (!h->live || h->synced)
			continue;
		h->synced = true;
		if (h->on_synced)
			h->on_synced(h);
	}
}

/* If a handler is removed during its adds, it does not get the rest. */
static void tell_all(struct informer *i, struct informer_handler *h)
{
	struct cache_walk w = { 0 };
	struct cached *o;

	h->live = true;
	while (h->live && h->on_add && (o = cache_next(&i->cache, &w)))
		h->on_add(h, o, true);
	cache_walk_end(&w);
}

static struct informer_handler *find_new(struct informer *i)
{
	LIST_FOREACH (it, &i->handlers) {
		struct informer_handler *h = LIST_ENTRY(it, struct informer_handler, link);

		if (!h->live)
			return h;
	}
	return NULL;
}

static void tell_new_handlers(struct loop_task *t)
{
	struct informer *i = CONTAINER_OF(t, struct informer, task);
	struct informer_handler *h;

	while ((h = find_new(i)))
		tell_all(i, h);
	if (i->synced)
		tell_synced(i);
}

/* --- resync ----------------------------------------------------------------------------- */

static void arm_resync(struct informer *i)
{
	int64_t due = INT64_MAX;

	LIST_FOREACH (it, &i->handlers) {
		struct informer_handler *h = LIST_ENTRY(it, struct informer_handler, link);

		if (h->resync_ms > 0)
			due = MIN(due, h->resync_at);
	}
	if (due == INT64_MAX)
		loop_timer_stop(&i->resync);
	else
		loop_timer_start(&i->resync, MAX(due - loop_now(loop_of(i)), INT64_C(0)));
}

static void resync_handler(struct informer *i, struct informer_handler *h)
{
	struct cache_walk w = { 0 };
	struct cached *o;

	while (h->informer && h->on_update && (o = cache_next(&i->cache, &w)))
		h->on_update(h, o, o);
	cache_walk_end(&w);
}

static void on_resync(struct loop_timer *t)
{
	struct informer *i = CONTAINER_OF(t, struct informer, resync);
	int64_t now = loop_now(loop_of(i));

	FOREACH_HANDLER(h, i)
	{
		if (h->resync_ms <= 0 || h->resync_at > now)
			continue;
		h->resync_at = now + h->resync_ms;
		if (h->synced)
			resync_handler(i, h);
	}
	arm_resync(i);
}

/* --- input from the reflector ----------------------------------------------------------- */

/* One object of a new state. A state is valid as a whole, even if versions went backwards. */
static void state_object(struct informer *i, struct cached *o)
{
	struct cached *old = cache_get(&i->cache, o->key);

	if (old && str_eq(old->resource_version, o->resource_version) && str_eq(old->uid, o->uid)) {
		old->mark = i->cache.mark;
		return;
	}
	o->mark = i->cache.mark;
	old = cache_put(&i->cache, cached_ref(o));
	if (old)
		tell_update(i, old, o);
	else
		tell_add(i, o);
	cached_unref(old);
}

static void drop_unmarked(struct informer *i)
{
	struct cache_walk w = { 0 };
	struct cached *o;

	while ((o = cache_next(&i->cache, &w))) {
		if (o->mark == i->cache.mark)
			continue;
		o = cache_remove(&i->cache, o->key);
		tell_delete(i, o, true);
		cached_unref(o);
	}
}

static void informer_on_state(void *arg, struct cache *state)
{
	struct informer *i = arg;
	struct cache_walk w = { 0 };
	struct cached *o;

	i->cache.mark++;
	if (i->synced)
		i->stats.relists++;
	while ((o = cache_next(state, &w)))
		state_object(i, o);
	drop_unmarked(i);
	if (!str_to_u64(str_from(i->reflector.rv), &i->revision))
		i->revision = 0;
	i->synced = true;
	informer_metrics_update(i);
	tell_synced(i);
}

/* Recognizes repeated and late events by their versions, if these are numbers. */
static bool is_stale(const struct informer *i, const struct cached *old, const struct cached *o,
		     enum watch_event_type type)
{
	if (!o->revision)
		return false;
	if (o->revision < i->revision)
		return true;
	if (!old || !old->revision)
		return false;
	return type == WATCH_EVENT_DELETED ? o->revision < old->revision
					   : o->revision <= old->revision;
}

static void take_deleted(struct informer *i, struct cached *o)
{
	struct cached *old = cache_remove(&i->cache, o->key);

	if (old)
		tell_delete(i, o, false);
	cached_unref(old);
}

static void take_put(struct informer *i, struct cached *o)
{
	struct cached *old = cache_put(&i->cache, cached_ref(o));

	if (old)
		tell_update(i, old, o);
	else
		tell_add(i, o);
	cached_unref(old);
}

static void informer_on_change(void *arg, enum watch_event_type type, struct cached *o)
{
	struct informer *i = arg;

	if (!is_stale(i, cache_get(&i->cache, o->key), o, type)) {
		i->revision = o->revision;
		if (type == WATCH_EVENT_DELETED)
			take_deleted(i, o);
		else
			take_put(i, o);
	}
	cached_unref(o);
	informer_metrics_update(i);
}

static void informer_on_list(void *arg)
{
	struct informer *i = arg;

	i->stats.lists++;
	if (i->metrics.lists)
		metrics_counter_add(i->metrics.lists, 1);
}

static void on_watch(void *arg)
{
	struct informer *i = arg;

	i->stats.watches++;
	if (i->metrics.watches)
		metrics_counter_add(i->metrics.watches, 1);
}

static const struct reflector_ops reflector_ops = {
	.on_state = informer_on_state,
	.on_change = informer_on_change,
	.on_list = informer_on_list,
	.on_watch = on_watch,
};

/* --- life cycle ------------------------------------------------------------------------- */

static const struct cached_trim *trim_of(const struct informers *s,
					 const struct informer_spec *spec)
{
	bool ours = spec->slim && s->trim && resource_equal(&s->trimmed, spec->resource);

	return ours ? s->trim : NULL;
}

struct informer *informer_new(struct informers *s, const struct informer_spec *spec)
{
	struct informer *i = XNEW(struct informer);

	i->set = s;
	arena_init(&i->arena, SIZE_MAX);
	i->resource = resource_copy(&i->arena, spec->resource);
	i->reflector = (struct reflector){
		.client = s->client,
		.resource = i->resource,
		.ns = arena_str(&i->arena, spec->ns),
		.label_selector = arena_str(&i->arena, spec->label_selector),
		.field_selector = arena_str(&i->arena, spec->field_selector),
		.metadata_only = spec->metadata_only,
		.defaults = { .slim = spec->slim, .trim = trim_of(s, spec) },
		.ops = &reflector_ops,
		.arg = i
	};
	reflector_init(&i->reflector);
	cache_init(&i->cache);
	list_init(&i->handlers);
	loop_task_init(&i->task, tell_new_handlers);
	loop_timer_init(&i->resync, loop_of(i), on_resync);
	informer_metrics_init(i);
	list_push_back(&s->all, &i->link);
	return i;
}

void informer_free(struct informer *i)
{
	while (!list_empty(&i->handlers))
		informer_remove_handler(
			LIST_ENTRY(i->handlers.next, struct informer_handler, link));
	list_remove(&i->link);
	loop_task_cancel(&i->task);
	loop_timer_stop(&i->resync);
	reflector_release(&i->reflector);
	cache_release(&i->cache);
	arena_release(&i->arena);
	free(i);
}

bool informer_is(const struct informer *i, const struct informer_spec *spec)
{
	const struct reflector *r = &i->reflector;

	return resource_equal(&i->resource, spec->resource) && str_eq(r->ns, spec->ns) &&
	       str_eq(r->label_selector, spec->label_selector) &&
	       str_eq(r->field_selector, spec->field_selector) &&
	       r->metadata_only == spec->metadata_only && r->defaults.slim == spec->slim;
}

/* --- verbs ------------------------------------------------------------------------------ */

void informer_add_handler(struct informer *i, struct informer_handler *h)
{
	h->informer = i;
	h->live = h->synced = false;
	list_push_back(&i->handlers, &h->link);
	loop_defer(loop_of(i), &i->task);
	if (h->resync_ms > 0) {
		h->resync_at = loop_now(loop_of(i)) + h->resync_ms;
		arm_resync(i);
	}
}

void informer_remove_handler(struct informer_handler *h)
{
	struct informer *i = h->informer;

	if (!i)
		return;
	/* If it is the next handler of a round, the round continues after it. */
	if (i->next_handler == &h->link)
		i->next_handler = h->link.next;
	list_remove(&h->link);
	h->informer = NULL;
	h->live = false;
}

void informer_add_index(struct informer *i, const struct cache_index *index)
{
	if (!cache_has_index(&i->cache, index->name))
		cache_add_index(&i->cache, index);
}

bool informer_synced(const struct informer *i)
{
	return i->synced;
}

const struct cache *informer_cache(const struct informer *i)
{
	return &i->cache;
}

const struct resource *informer_resource(const struct informer *i)
{
	return &i->resource;
}

struct str informer_resource_version(const struct informer *i)
{
	return str_from(i->reflector.rv);
}

const struct error *informer_failure(const struct informer *i)
{
	return &i->reflector.failure;
}

void informer_stats(const struct informer *i, struct informer_stats *ret_stats)
{
	*ret_stats = i->stats;
	ret_stats->events = i->reflector.events;
}
