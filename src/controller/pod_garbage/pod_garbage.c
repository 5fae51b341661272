/*
 * One queue has keys of pods ("pod:NAMESPACE/NAME"), to be looked at, and names of missing nodes
 * ("node:NAME"), to be looked at after the quarantine. A node that the server does not have either
 * is noted as gone, and asked for again as long as pods name it. A pod that arrives later ends
 * that: perhaps it was bound to a new node that our watch does not show yet.
 */
#include "controller/pod_garbage/pod_garbage.h"

#include "api/api_limits.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "client/work/workqueue.h"
#include "controller/pod_garbage/decide.h"
#include "controller/pod_garbage/finished.h"
#include "controller/pods/removal.h"
#include "controller/shared/context.h"
#include "controller/shared/followed.h"
#include "controller/shared/work.h"

enum {
	THRESHOLD = 12500,
	PERIOD_MS = 20 * 1000,
	QUARANTINE_MS = 40 * 1000,
	WORKERS = 20,
};

#define POD_KEY  "pod:"
#define NODE_KEY "node:"

/* A node that pods name and that does not exist. */
struct missing_node {
	struct str name;
	bool gone; /* the server says so, too */
	char text[];
};

struct pod_garbage {
	struct context ctx;
	struct pod_garbage_opts opts;
	struct following following;
	struct followed pods, nodes;
	struct map missing; /* name -> struct missing_node */
	struct finished_pods finished;
	struct workqueue *queue;
	struct works jobs;
	struct loop_timer count; /* runs while there are too many finished pods */
	struct arena scratch; /* for one object */
	struct metrics_counter *deletions; /* or NULL */
};

struct pod_garbage_job {
	struct work work; /* its request is for a node */
	struct pod_garbage *owner;
	struct str name; /* the key without the prefix */
	struct str uid;
	struct pod_removal removal;
	bool surplus; /* a finished pod that is one too many */
};

static void pod_garbage_add(struct pod_garbage *g, const char *prefix, struct str name, int64_t ms)
{
	char key[600];
	int n = snprintf(key, sizeof(key), "%s%.*s", prefix, STR_ARG(name));

	if (n <= 0 || (size_t)n >= sizeof(key))
		return;
	if (ms > 0)
		workqueue_add_after(g->queue, str_of(key, (size_t)n), ms);
	else
		workqueue_add(g->queue, str_of(key, (size_t)n));
}

/* --- nodes ----------------------------------------------------------------------------------- */

static bool node_is_there(const struct pod_garbage *g, struct str name)
{
	return cache_get(informer_cache(g->nodes.informer), name) != NULL;
}

static enum pod_garbage_node node_state(struct pod_garbage *g, struct str name)
{
	const struct missing_node *missing = map_get(&g->missing, name);
	const struct cached *o = cache_get(informer_cache(g->nodes.informer), name);
	struct json *tree;
	bool out;

	if (!o)
		return missing && missing->gone ? POD_GARBAGE_NODE_GONE : POD_GARBAGE_NODE_THERE;
	/* Most nodes have no taint, and are not parsed. */
	if (cached_field(o, "spec.taints", NULL).n == 0)
		return POD_GARBAGE_NODE_THERE;
	out = cached_tree(o, &g->scratch, &tree, NULL) == 0 && pod_garbage_out_of_service(tree);
	arena_clear(&g->scratch);
	return out ? POD_GARBAGE_NODE_OUT_OF_SERVICE : POD_GARBAGE_NODE_THERE;
}

static void forget_missing(struct pod_garbage *g, struct str name)
{
	free(map_remove(&g->missing, name));
}

static void miss_node(struct pod_garbage *g, struct str name)
{
	struct missing_node *m;

	if (map_get(&g->missing, name))
		return;
	m = xcalloc(1, sizeof(*m) + name.n);
	str_put(m->text, name);
	m->name = str_of(m->text, name.n);
	(void)map_put(&g->missing, m->name, m);
	pod_garbage_add(g, NODE_KEY, name, g->opts.quarantine_ms);
}

static void look_at_pods_of(struct pod_garbage *g, struct str node)
{
	struct cache_walk walk = { 0 };
	struct cached *pod;

	while ((pod = cache_next_by(informer_cache(g->pods.informer), PODS_BY_NODE, node, &walk)))
		pod_garbage_add(g, POD_KEY, pod->key, 0);
}

static bool node_has_pods(const struct pod_garbage *g, struct str node)
{
	struct cache_walk walk = { 0 };
	bool any = cache_next_by(informer_cache(g->pods.informer), PODS_BY_NODE, node, &walk) !=
		   NULL;

	cache_walk_end(&walk);
	return any;
}

/* --- jobs ------------------------------------------------------------------------------------ */

static void pod_garbage_job_release(struct work *w)
{
	pod_removal_cancel(&CONTAINER_OF(w, struct pod_garbage_job, work)->removal);
}

/* --- a missing node -------------------------------------------------------------------------- */

static void pod_garbage_on_node_read(struct client_request *r, const struct client_answer *a UNUSED,
				     const struct error *err)
{
	struct pod_garbage_job *j = r->arg;
	struct pod_garbage *g = j->owner;
	struct missing_node *m = map_get(&g->missing, j->name);

	if (err && err->code != ERR_NOT_FOUND) {
		log_warn(g->ctx.log, "cannot read a node that pods name", LOG_STR("node", j->name),
			 LOG_ERR(err));
		work_end(&j->work, true);
		return;
	}
	/* If the node is there, our watch is late. */
	if (m) {
		m->gone = err && !node_is_there(g, j->name);
		pod_garbage_add(g, NODE_KEY, j->name, g->opts.quarantine_ms);
	}
	if (m && m->gone)
		look_at_pods_of(g, j->name);
	work_end(&j->work, false);
}

static void pod_garbage_begin_node(struct pod_garbage_job *j)
{
	struct pod_garbage *g = j->owner;

	if (!map_get(&g->missing, j->name)) {
		work_end(&j->work, false);
	} else if (node_is_there(g, j->name) || !node_has_pods(g, j->name)) {
		forget_missing(g, j->name);
		work_end(&j->work, false);
	} else {
		j->work.request.on_done = pod_garbage_on_node_read;
		client_get(g->ctx.client, &j->work.request, &g->nodes.resource, STR_NULL, j->name);
	}
}

/* --- a pod ----------------------------------------------------------------------------------- */

static enum pod_garbage_reason reason_of(struct pod_garbage *g, const struct json *pod)
{
	struct str node = json_text_at(json_getz(pod, "spec"), "nodeName");

	return pod_garbage_decide(pod, node.n > 0 ? node_state(g, node) : POD_GARBAGE_NODE_THERE);
}

static bool pod_is_surplus(const struct pod_garbage *g, struct str key)
{
	return finished_pods_has(&g->finished, key) &&
	       finished_pods_count(&g->finished) > (size_t)g->opts.threshold;
}

static bool pod_garbage_due(struct pod_removal *r, const struct json *pod)
{
	struct pod_garbage_job *j = r->arg;

	if (j->surplus)
		return pod_is_surplus(j->owner, j->name);
	/* Between the mark and the deletion a node does not come back. */
	return !pod || reason_of(j->owner, pod) != POD_GARBAGE_NOT;
}

static void pod_garbage_removed(struct pod_removal *r, enum pod_removal_end end, const char *what,
				const struct error *err)
{
	struct pod_garbage_job *j = r->arg;
	struct pod_garbage *g = j->owner;

	if (end == POD_REMOVAL_FAILED) {
		log_warn(g->ctx.log, what, LOG_STR("pod", j->name), LOG_ERR(err));
		work_end(&j->work, true);
		return;
	}
	/* It may stay for its finalizers, but counts no more. */
	if (j->surplus && end != POD_REMOVAL_SPARED)
		finished_pods_remove(&g->finished, j->name);
	if (end == POD_REMOVAL_DONE) {
		log_info(g->ctx.log, "pod collected", LOG_STR("pod", j->name));
		if (g->deletions)
			metrics_counter_add(g->deletions, 1);
	}
	work_end(&j->work, false);
}

static void pod_garbage_remove(struct pod_garbage_job *j, bool orphan)
{
	struct str name = j->name, ns = STR_NULL;

	(void)str_split(&name, '/', &ns);
	j->removal = (struct pod_removal){
		.ctx = &j->owner->ctx,
		.arena = &j->work.arena,
		.ns = ns,
		.name = name,
		.uid = j->uid,
		.manager = "pod-garbage-collector",
		.reason = orphan ? "DeletionByPodGC" : NULL,
		.message = orphan ? "PodGC: node no longer exists" : NULL,
		.force = true,
		.due = pod_garbage_due,
		.done = pod_garbage_removed,
		.arg = j,
	};
	pod_removal_start(&j->removal);
}

static void pod_garbage_begin_pod(struct pod_garbage_job *j)
{
	struct pod_garbage *g = j->owner;
	struct cached *o = cache_get(informer_cache(g->pods.informer), j->name);
	enum pod_garbage_reason reason;
	struct json *tree;

	if (!o || cached_tree_held(o, &j->work.arena, &tree, NULL) < 0) {
		work_end(&j->work, false);
		return;
	}
	j->uid = o->uid;
	reason = reason_of(g, tree);
	j->surplus = reason == POD_GARBAGE_NOT && pod_is_surplus(g, j->name);
	if (reason == POD_GARBAGE_NOT && !j->surplus)
		work_end(&j->work, false);
	else
		pod_garbage_remove(j, reason == POD_GARBAGE_ORPHAN);
}

static void pod_garbage_handle(void *arg, struct str key)
{
	struct pod_garbage *g = arg;
	bool pod = str_starts(key, STR(POD_KEY));
	struct pod_garbage_job *j = work_new(&g->jobs, sizeof(*j), key);

	j->owner = g;
	j->name = str_skip(key, pod ? STR(POD_KEY).n : STR(NODE_KEY).n);
	if (pod)
		pod_garbage_begin_pod(j);
	else
		pod_garbage_begin_node(j);
}

/* --- finished pods --------------------------------------------------------------------------- */

static void add_surplus(void *arg, struct str key)
{
	pod_garbage_add(arg, POD_KEY, key, 0);
}

static void pod_garbage_on_count(struct loop_timer *t)
{
	struct pod_garbage *g = CONTAINER_OF(t, struct pod_garbage, count);
	size_t n = finished_pods_count(&g->finished);

	if (n > (size_t)g->opts.threshold)
		finished_pods_first(&g->finished, n - (size_t)g->opts.threshold, add_surplus, g);
}

static void pod_garbage_recount(struct pod_garbage *g)
{
	if (finished_pods_count(&g->finished) > (size_t)g->opts.threshold &&
	    !loop_timer_running(&g->count))
		loop_timer_start(&g->count, g->opts.period_ms);
}

/* --- events ---------------------------------------------------------------------------------- */

static void note_finished(struct pod_garbage *g, const struct cached *o)
{
	struct str phase = cached_field(o, "status.phase", NULL);
	struct json *tree;

	if (!str_eqz(phase, "Succeeded") && !str_eqz(phase, "Failed")) {
		finished_pods_remove(&g->finished, o->key);
		return;
	}
	if (cached_tree(o, &g->scratch, &tree, NULL) == 0)
		finished_pods_put(&g->finished, o->key, tree);
	arena_clear(&g->scratch);
	pod_garbage_recount(g);
}

static void look_at_pod(struct pod_garbage *g, const struct cached *o)
{
	struct str node = cached_field(o, "spec.nodeName", NULL);

	if (node.n > 0 && g->nodes.handler.synced && !node_is_there(g, node))
		miss_node(g, node);
	/* Most pods that are deleted are their node's business. */
	if (o->deleting && (node.n == 0 || node_state(g, node) != POD_GARBAGE_NODE_THERE))
		pod_garbage_add(g, POD_KEY, o->key, 0);
}

static void pod_garbage_on_pod(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct pod_garbage *g = CONTAINER_OF(h, struct pod_garbage, pods.handler);
	struct str node = cached_field(o, "spec.nodeName", NULL);
	struct missing_node *missing = node.n > 0 ? map_get(&g->missing, node) : NULL;

	if (missing)
		missing->gone = false;
	note_finished(g, o);
	look_at_pod(g, o);
}

static void pod_garbage_on_pod_update(struct informer_handler *h, struct cached *old,
				      struct cached *o)
{
	struct pod_garbage *g = CONTAINER_OF(h, struct pod_garbage, pods.handler);

	if (!str_eq(old->uid, o->uid) || !cached_same_field(old, o, "spec.nodeName")) {
		pod_garbage_on_pod(h, o, false);
		return;
	}
	if (!cached_same_field(old, o, "status.phase"))
		note_finished(g, o);
	if (o->deleting)
		look_at_pod(g, o);
}

static void pod_garbage_on_pod_delete(struct informer_handler *h, struct cached *last,
				      bool unknown UNUSED)
{
	struct pod_garbage *g = CONTAINER_OF(h, struct pod_garbage, pods.handler);

	finished_pods_remove(&g->finished, last->key);
}

static void pod_garbage_on_node(struct informer_handler *h, struct cached *o, bool initial)
{
	struct pod_garbage *g = CONTAINER_OF(h, struct pod_garbage, nodes.handler);

	forget_missing(g, o->key);
	if (!initial && node_state(g, o->key) == POD_GARBAGE_NODE_OUT_OF_SERVICE)
		look_at_pods_of(g, o->key);
}

static void pod_garbage_on_node_update(struct informer_handler *h, struct cached *old,
				       struct cached *o)
{
	static const char *const fields[] = { "spec.taints", "status.conditions" };

	if (!cached_same_fields(old, o, fields, ARRAY_SIZE(fields)))
		pod_garbage_on_node(h, o, false);
}

static void pod_garbage_on_node_delete(struct informer_handler *h, struct cached *last,
				       bool unknown UNUSED)
{
	struct pod_garbage *g = CONTAINER_OF(h, struct pod_garbage, nodes.handler);

	if (node_has_pods(g, last->key))
		miss_node(g, last->key);
}

/* --- life ------------------------------------------------------------------------------------ */

/* Pods that came before the nodes were known are looked at now. */
static void pod_garbage_on_synced(struct following *f)
{
	struct pod_garbage *g = CONTAINER_OF(f, struct pod_garbage, following);
	struct cache_walk walk = { 0 };
	struct cached *pod;

	while ((pod = cache_next(informer_cache(g->pods.informer), &walk)))
		look_at_pod(g, pod);
}

static void pod_garbage_follow(struct pod_garbage *g)
{
	g->pods = (struct followed){
		.resource = resource_builtin("", "v1", "pods"),
		.indexes = pods_by_node,
		.handler = { .on_add = pod_garbage_on_pod,
			     .on_update = pod_garbage_on_pod_update,
			     .on_delete = pod_garbage_on_pod_delete },
	};
	g->nodes = (struct followed){
		.resource = resource_builtin("", "v1", "nodes"),
		.handler = { .on_add = pod_garbage_on_node,
			     .on_update = pod_garbage_on_node_update,
			     .on_delete = pod_garbage_on_node_delete },
	};
	follow(&g->following, &g->nodes);
	follow(&g->following, &g->pods);
}

static void pod_garbage_set_opts(struct pod_garbage *g, const struct pod_garbage_opts *o)
{
	g->opts = *o;
	g->opts.threshold = o->threshold ? o->threshold : THRESHOLD;
	if (g->opts.threshold < 0)
		g->opts.threshold = INT64_MAX;
	g->opts.period_ms = o->period_ms ? o->period_ms : PERIOD_MS;
	g->opts.quarantine_ms = o->quarantine_ms ? o->quarantine_ms : QUARANTINE_MS;
	g->opts.workers = o->workers ? o->workers : WORKERS;
}

struct pod_garbage *pod_garbage_new(const struct context *ctx, const struct pod_garbage_opts *opts)
{
	struct pod_garbage *g = XNEW(struct pod_garbage);

	g->ctx = *ctx;
	pod_garbage_set_opts(g, opts);
	map_init(&g->missing);
	finished_pods_init(&g->finished);
	arena_init(&g->scratch, REQUEST_WORK_MAX);
	loop_timer_init(&g->count, ctx->loop, pod_garbage_on_count);
	g->deletions = metrics_counter_alone(ctx->metrics,
					     "pod_gc_collector_force_delete_pods_total",
					     "Pods that were collected.");
	g->queue = workqueue_new(&(struct workqueue_opts){ .loop = ctx->loop,
							   .name = "pod_garbage",
							   .workers = g->opts.workers,
							   .handle = pod_garbage_handle,
							   .arg = g,
							   .metrics = ctx->metrics });
	works_init(&g->jobs, g->queue, ctx->log, "key", pod_garbage_job_release);
	following_init(&g->following, ctx->informers);
	following_hold(&g->following, g->queue);
	g->following.on_synced = pod_garbage_on_synced;
	pod_garbage_follow(g);
	return g;
}

bool pod_garbage_synced(const struct pod_garbage *g)
{
	return following_synced(&g->following);
}

void pod_garbage_free(struct pod_garbage *g)
{
	if (!g)
		return;
	following_end(&g->following);
	loop_timer_stop(&g->count);
	works_release(&g->jobs);
	workqueue_free(g->queue);
	map_free_values(&g->missing);
	finished_pods_release(&g->finished);
	arena_release(&g->scratch);
	free(g);
}
