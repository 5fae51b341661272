/*
 * Monitors and wiring: one metadata informer per resource feeds the graph, and the graph's
 * requests go into two queues. The queues are held until all resources have delivered their
 * initial state. Before that, most owners have not been seen yet, and each would cost a request.
 */
#include "controller/garbage/garbage.h"

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "client/api/discovery.h"
#include "client/events/recorder.h"
#include "controller/garbage/garbage_impl.h"

enum {
	SOON_MS = 200, /* after a CustomResourceDefinition changed: its resource is served soon */
	RETRY_MS = 1000, /* after a failed discovery, before the first success */
};

/* One resource. */
struct monitor {
	struct garbage *owner;
	struct informer *informer;
	struct informer_handler handler;
	struct arena arena; /* for the texts */
	struct resource resource;
	struct str key, api_version;
	bool defines; /* its objects define resources */
	bool seen; /* in the current discovery */
};

/* --- jobs ------------------------------------------------------------------------------------ */

struct garbage_identity garbage_identity_copy(struct arena *a, const struct garbage_node *n)
{
	return (struct garbage_identity){ .api_version = arena_str(a, n->kind->api_version),
					  .kind = arena_str(a, n->kind->kind),
					  .ns = arena_str(a, n->ns),
					  .name = arena_str(a, n->name),
					  .uid = arena_str(a, n->uid) };
}

bool garbage_resource_of(const struct garbage *g, struct str api_version, struct str kind,
			 struct arena *a, struct resource *ret_resource)
{
	const struct discovery_resource *r = discovery_find_kind(served_discovery(g->ctx.served),
								 api_version, kind);

	if (!r)
		return false;
	*ret_resource = resource_copy(a, &r->resource);
	return true;
}

/* --- requests of the graph ------------------------------------------------------------------- */

static void attempt_delete(void *arg, struct str uid, bool later)
{
	struct garbage *g = arg;

	if (later)
		workqueue_add_rate_limited(g->deletions, uid);
	else
		workqueue_add(g->deletions, uid);
}

static void attempt_orphan(void *arg, struct str uid)
{
	struct garbage *g = arg;

	workqueue_add(g->orphans, uid);
}

static void invalid_namespace(void *arg, const struct garbage_edge *e)
{
	struct garbage *g = arg;
	const struct garbage_node *d = e->dependent;
	char message[1024];

	(void)snprintf(message, sizeof(message),
		       "ownerRef [%.*s/%.*s, namespace: %.*s, name: %.*s, uid: %.*s] does not "
		       "exist in namespace \"%.*s\"",
		       STR_ARG(e->kind->api_version), STR_ARG(e->kind->kind), STR_ARG(d->ns),
		       STR_ARG(garbage_edge_name(e)), STR_ARG(e->owner->uid), STR_ARG(d->ns));
	log_warn(g->ctx.log, "owner is in another namespace", LOG_STR("kind", d->kind->kind),
		 LOG_STR("namespace", d->ns), LOG_STR("name", d->name));
	recorder_event(g->ctx.recorder,
		       &(struct recorder_object){ .api_version = d->kind->api_version,
						  .kind = d->kind->kind,
						  .ns = d->ns,
						  .name = d->name,
						  .uid = d->uid },
		       RECORDER_WARNING, "OwnerRefInvalidNamespace", str_from(message));
}

static const struct garbage_graph_ops graph_ops = {
	.attempt_delete = attempt_delete,
	.attempt_orphan = attempt_orphan,
	.invalid_namespace = invalid_namespace,
};

/* --- events ---------------------------------------------------------------------------------- */

static void read_owners(struct arena *a, struct str text, struct garbage_object *o)
{
	struct garbage_owner *owners;
	struct json *list;

	if (!text.p || json_parse(a, text, NULL, &list, NULL) < 0)
		return;
	owners = ARENA_ARRAY(a, struct garbage_owner, json_count(list) + 1);
	o->owners = owners;
	JSON_FOREACH (v, list) {
		struct garbage_owner *owner = &owners[o->nowners];

		owner->api_version = json_text_at(v, "apiVersion");
		owner->kind = json_text_at(v, "kind");
		owner->name = json_text_at(v, "name");
		owner->uid = json_text_at(v, "uid");
		owner->blocking = json_true_at(v, "blockOwnerDeletion");
		if (owner->uid.n > 0)
			o->nowners++;
	}
}

static void observe(struct monitor *m, const struct cached *c)
{
	struct garbage *g = m->owner;
	struct str finalizers = cached_field(c, "metadata.finalizers", NULL);
	struct garbage_object o = {
		.api_version = m->api_version,
		.kind = m->resource.kind,
		.ns = cached_ns(c),
		.name = cached_name(c),
		.uid = c->uid,
		.deleting = c->deleting,
		.orphan = str_find(finalizers, STR("\"orphan\"")) >= 0,
		.foreground = str_find(finalizers, STR("\"foregroundDeletion\"")) >= 0,
	};

	read_owners(&g->scratch, cached_field(c, "metadata.ownerReferences", NULL), &o);
	garbage_graph_observe(g->graph, &o);
	arena_clear(&g->scratch);
}

static void sync_soon(struct garbage *g)
{
	if (!g->look.link.next)
		loop_timer_start(&g->sync, SOON_MS);
}

static void garbage_on_add(struct informer_handler *h, struct cached *o, bool initial)
{
	struct monitor *m = CONTAINER_OF(h, struct monitor, handler);

	observe(m, o);
	if (m->defines && !initial)
		sync_soon(m->owner);
}

static void garbage_on_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct monitor *m = CONTAINER_OF(h, struct monitor, handler);

	/* Another object of the same name replaced it unseen: the old one is gone. */
	if (!str_eq(old->uid, o->uid))
		garbage_graph_deleted(m->owner->graph, old->uid);
	observe(m, o);
	if (m->defines && old != o)
		sync_soon(m->owner);
}

static void garbage_on_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	struct monitor *m = CONTAINER_OF(h, struct monitor, handler);

	garbage_graph_deleted(m->owner->graph, last->uid);
	if (m->defines)
		sync_soon(m->owner);
}

bool garbage_synced(const struct garbage *g)
{
	return g->looked && g->nsynced == g->monitors.n;
}

static void garbage_let_go(struct garbage *g)
{
	loop_timer_stop(&g->give_up_waiting);
	workqueue_hold(g->deletions, false);
	workqueue_hold(g->orphans, false);
}

static void garbage_on_synced(struct informer_handler *h)
{
	struct garbage *g = CONTAINER_OF(h, struct monitor, handler)->owner;

	g->nsynced++;
	if (garbage_synced(g))
		garbage_let_go(g);
}

static void on_waited(struct loop_timer *t)
{
	struct garbage *g = CONTAINER_OF(t, struct garbage, give_up_waiting);

	log_warn(g->ctx.log, "not all resources could be synced, proceeding anyway",
		 LOG_UINT("synced", g->nsynced), LOG_UINT("resources", g->monitors.n));
	garbage_let_go(g);
}

/* --- monitors -------------------------------------------------------------------------------- */

static struct monitor *monitor_new(struct garbage *g, const struct resource *r, struct str key)
{
	struct monitor *m = XNEW(struct monitor);
	struct informer_spec spec = { .metadata_only = true, .slim = true };

	m->owner = g;
	arena_init(&m->arena, SIZE_MAX);
	m->resource = resource_copy(&m->arena, r);
	m->key = arena_str(&m->arena, key);
	m->api_version = resource_api_version(&m->arena, &m->resource);
	m->defines = str_eq(r->resource, STR("customresourcedefinitions"));
	m->handler = (struct informer_handler){ .on_add = garbage_on_add,
						.on_update = garbage_on_update,
						.on_delete = garbage_on_delete,
						.on_synced = garbage_on_synced };
	map_put(&g->monitors, m->key, m);
	spec.resource = &m->resource;
	m->informer = informers_get(g->ctx.informers, &spec);
	informer_add_handler(m->informer, &m->handler);
	return m;
}

static void monitor_free(struct monitor *m)
{
	struct garbage *g = m->owner;

	if (m->handler.synced)
		g->nsynced--;
	map_remove(&g->monitors, m->key);
	informer_remove_handler(&m->handler);
	informers_drop(g->ctx.informers, m->informer);
	arena_release(&m->arena);
	free(m);
}

static bool is_collected(const struct discovery_resource *r)
{
	const unsigned verbs = DISCOVERY_DELETE | DISCOVERY_LIST | DISCOVERY_WATCH;

	/* Events are numerous and expire by themselves. */
	return r->preferred && (r->verbs & verbs) == verbs &&
	       !str_eq(r->resource.resource, STR("events"));
}

static void see(struct garbage *g, const struct resource *r)
{
	struct buf key = BUF_INIT(KIB);
	struct monitor *m;

	(void)buf_printf(&key, "%.*s/%.*s/%.*s", STR_ARG(r->group), STR_ARG(r->version),
			 STR_ARG(r->resource));
	m = map_get(&g->monitors, buf_str(&key));
	if (!m)
		m = monitor_new(g, r, buf_str(&key));
	m->seen = true;
	buf_release(&key);
}

/* A monitor whose resource discovery no longer lists; or NULL. */
static struct monitor *find_unseen(struct garbage *g)
{
	struct str key;
	size_t at = 0;
	void *m;

	while (map_next(&g->monitors, &at, &key, &m)) {
		if (!((struct monitor *)m)->seen)
			return m;
	}
	return NULL;
}

static void mark_unseen(struct garbage *g)
{
	struct str key;
	size_t at = 0;
	void *m;

	while (map_next(&g->monitors, &at, &key, &m))
		((struct monitor *)m)->seen = false;
}

/* Adjusts the monitors to discovery. If discovery is incomplete, existing monitors stay. */
static void sync_monitors(struct garbage *g, const struct discovery *d)
{
	size_t n;
	const struct discovery_resource *all = discovery_resources(d, &n);

	mark_unseen(g);
	for (size_t i = 0; i < n; i++) {
		if (is_collected(&all[i]))
			see(g, &all[i].resource);
	}
	if (n == 0 || discovery_incomplete(d))
		return;
	for (struct monitor *m; (m = find_unseen(g)) != NULL;)
		monitor_free(m);
}

static void garbage_on_looked(struct served_wait *w, const struct error *err)
{
	struct garbage *g = CONTAINER_OF(w, struct garbage, look);

	if (err) {
		log_warn(g->ctx.log, "cannot discover resources", LOG_ERR(err));
		if (g->sync_errors)
			metrics_counter_add(g->sync_errors, 1);
		loop_timer_start(&g->sync, g->looked ? g->opts.sync_period_ms : RETRY_MS);
		return;
	}
	g->looked = true;
	sync_monitors(g, served_discovery(g->ctx.served));
	loop_timer_start(&g->sync, g->opts.sync_period_ms);
	if (garbage_synced(g))
		garbage_let_go(g);
}

static void on_sync(struct loop_timer *t)
{
	struct garbage *g = CONTAINER_OF(t, struct garbage, sync);

	g->look.done = garbage_on_looked;
	served_look(g->ctx.served, &g->look);
}

/* --- life ------------------------------------------------------------------------------------ */

static struct workqueue *queue_new(struct garbage *g, const char *name,
				   void (*handle)(void *arg, struct str uid))
{
	struct workqueue *q = workqueue_new(&(struct workqueue_opts){
		.loop = g->ctx.loop,
		.name = name,
		.workers = g->opts.workers,
		.handle = handle,
		.arg = g,
		.metrics = g->ctx.metrics,
	});

	workqueue_hold(q, true);
	return q;
}

struct garbage *garbage_new(const struct context *ctx, const struct garbage_opts *opts)
{
	struct garbage *g = XNEW(struct garbage);

	g->ctx = *ctx;
	g->opts = *opts;
	if (g->opts.workers == 0)
		g->opts.workers = 20;
	if (g->opts.sync_period_ms == 0)
		g->opts.sync_period_ms = 30 * 1000;
	if (g->opts.initial_sync_ms == 0)
		g->opts.initial_sync_ms = 60 * 1000;
	map_init(&g->monitors);
	arena_init(&g->scratch, REQUEST_WORK_MAX);
	g->graph = garbage_graph_new(&graph_ops, g);
	g->deletions = queue_new(g, "garbage_collector_attempt_to_delete", garbage_handle_deletion);
	g->orphans = queue_new(g, "garbage_collector_attempt_to_orphan", garbage_handle_orphan);
	works_init(&g->deletion_jobs, g->deletions, ctx->log, "uid", NULL);
	works_init(&g->orphan_jobs, g->orphans, ctx->log, "uid", garbage_orphan_release);
	g->sync_errors = metrics_counter_alone(
		ctx->metrics, "garbagecollector_controller_resources_sync_error_total",
		"Number of garbage collector resources sync errors");
	loop_timer_init(&g->sync, ctx->loop, on_sync);
	loop_timer_init(&g->give_up_waiting, ctx->loop, on_waited);
	loop_timer_start(&g->sync, 0);
	loop_timer_start(&g->give_up_waiting, g->opts.initial_sync_ms);
	return g;
}

void garbage_free(struct garbage *g)
{
	if (!g)
		return;
	loop_timer_stop(&g->sync);
	loop_timer_stop(&g->give_up_waiting);
	served_cancel(&g->look);
	works_release(&g->deletion_jobs);
	works_release(&g->orphan_jobs);
	mark_unseen(g);
	for (struct monitor *m; (m = find_unseen(g)) != NULL;)
		monitor_free(m);
	workqueue_free(g->deletions);
	workqueue_free(g->orphans);
	garbage_graph_free(g->graph);
	map_release(&g->monitors);
	arena_release(&g->scratch);
	free(g);
}
