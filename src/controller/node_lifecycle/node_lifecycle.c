/*
 * Each node has a timer that its heartbeats move on. The zones are settled a tenth of a second
 * after a change, so that nodes that die together are judged together, before the first is tainted.
 */
#include "controller/node_lifecycle/node_lifecycle.h"

#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "base/time/timestamp.h"
#include "client/events/recorder.h"
#include "client/work/workqueue.h"
#include "controller/node_lifecycle/node_lifecycle_impl.h"
#include "controller/pods/removal.h"

enum {
	PASS_MS = 100,
	GRACE_MS = 50 * 1000,
	STARTUP_GRACE_MS = 60 * 1000,
	WORKERS = 8,
};

static int64_t lifecycle_wall(const struct node_lifecycle *n)
{
	return clock_wall(loop_clock(n->ctx.loop));
}

void lifecycle_event(struct node_lifecycle *n, struct str name, struct str uid, const char *reason,
		     const char *what)
{
	struct recorder_object about = {
		.api_version = STR("v1"), .kind = STR("Node"), .name = name, .uid = uid
	};
	char text[1024];
	int len = snprintf(text, sizeof(text), "Node %.*s %s", STR_ARG(name), what);

	if (len > 0 && (size_t)len < sizeof(text))
		recorder_event(n->ctx.recorder, &about, RECORDER_NORMAL, reason,
			       str_of(text, (size_t)len));
}

static void lifecycle_tell_event(struct lifecycle_node *node, const char *reason, const char *verb,
				 const char *where)
{
	char what[600];

	(void)snprintf(what, sizeof(what), "event: %s Node %.*s %s Controller", verb,
		       STR_ARG(node->name), where);
	lifecycle_event(node->owner, node->name, node->uid, reason, what);
}

struct lifecycle_node *lifecycle_node_find(struct node_lifecycle *n, struct str name)
{
	return map_get(&n->by_name, name);
}

/* --- all nodes ------------------------------------------------------------------------------- */

void node_lifecycle_plan(struct node_lifecycle *n, int64_t ms)
{
	if (!loop_timer_running(&n->pass) || n->pass.due > loop_now(n->ctx.loop) + ms)
		loop_timer_start(&n->pass, ms);
}

static void lifecycle_for_all(struct node_lifecycle *n, void (*fn)(struct lifecycle_node *))
{
	struct str name;
	size_t at = 0;
	void *node;

	while (map_next(&n->by_name, &at, &name, &node))
		fn(node);
}

static void lifecycle_node_queue(struct lifecycle_node *node)
{
	workqueue_add(node->owner->node_queue, node->name);
}

/* --- one node -------------------------------------------------------------------------------- */

/* After its state has changed. */
static void lifecycle_node_judge(struct lifecycle_node *node)
{
	bool ready = node->ready == NODE_READY_TRUE && !node->lost;
	bool says_so = node->ready == NODE_READY_FALSE || node->ready == NODE_READY_UNKNOWN;

	if (ready)
		node->granted = false;
	if (says_so && !node->tainted && !node->granted)
		node_zones_wait(&node->zone);
	else
		node_zones_spare(&node->zone);
	node_lifecycle_plan(node->owner, PASS_MS);
}

static void lifecycle_node_count(struct lifecycle_node *node, bool counted, struct str zone)
{
	node_zones_put(&node->owner->zones, &node->zone, zone, counted,
		       node->ready == NODE_READY_TRUE && !node->lost);
}

static void lifecycle_node_recount(struct lifecycle_node *node)
{
	struct zone_node *z = &node->zone;

	if (z->zone)
		node_zones_put(&node->owner->zones, z, node_zones_name(z), z->counted,
			       node->ready == NODE_READY_TRUE && !node->lost);
}

static int64_t lifecycle_grace(const struct lifecycle_node *node)
{
	return node->ready == NODE_READY_MISSING ? node->owner->opts.startup_grace_ms
						 : node->owner->opts.grace_ms;
}

void lifecycle_node_beat(struct lifecycle_node *node)
{
	loop_timer_start(&node->heartbeat, lifecycle_grace(node));
	if (!node->lost)
		return;
	node->lost = false;
	lifecycle_node_recount(node);
	lifecycle_node_judge(node);
}

/* --- the pass -------------------------------------------------------------------------------- */

/* Its taint goes, and it waits again. */
static void lifecycle_node_stop(struct lifecycle_node *node)
{
	node->granted = false;
	lifecycle_node_judge(node);
	lifecycle_node_queue(node);
}

static void lifecycle_settle(struct node_lifecycle *n)
{
	switch (node_zones_settle(&n->zones, clock_monotonic(loop_clock(n->ctx.loop)))) {
	case ZONES_STOPPED:
		log_warn(n->ctx.log, "no node is ready: evictions stop");
		lifecycle_for_all(n, lifecycle_node_stop);
		break;
	case ZONES_RESUMED:
		log_info(n->ctx.log, "some nodes are ready again: evictions resume");
		lifecycle_for_all(n, lifecycle_node_beat);
		break;
	case ZONES_AS_BEFORE:
		break;
	}
}

static void lifecycle_on_pass(struct loop_timer *t)
{
	struct node_lifecycle *n = CONTAINER_OF(t, struct node_lifecycle, pass);
	int64_t now = clock_monotonic(loop_clock(n->ctx.loop)), wait;
	struct zone_node *next;

	if (!n->working)
		return;
	lifecycle_settle(n);
	while ((next = node_zones_next(&n->zones, now, &wait))) {
		struct lifecycle_node *node = CONTAINER_OF(next, struct lifecycle_node, zone);

		node->granted = true;
		lifecycle_node_queue(node);
	}
	if (wait < INT64_MAX)
		node_lifecycle_plan(n, wait / CLOCK_MS + 1);
}

/* --- heartbeats ------------------------------------------------------------------------------ */

static void lifecycle_on_silence(struct loop_timer *t)
{
	struct lifecycle_node *node = CONTAINER_OF(t, struct lifecycle_node, heartbeat);

	node->lost = true;
	lifecycle_node_recount(node);
	lifecycle_node_judge(node);
	if (node->ready != NODE_READY_UNKNOWN)
		lifecycle_node_queue(node);
}

/* A node with neither status nor lease gets its time from its creation on. */
static void lifecycle_node_start(struct lifecycle_node *node, const struct json *tree)
{
	struct str text = json_text_at(json_getz(tree, "metadata"), "creationTimestamp");
	const struct cache *leases = informer_cache(node->owner->leases.informer);
	int64_t left = lifecycle_grace(node), created;

	if (node->ready == NODE_READY_MISSING &&
	    !cache_get_in(leases, STR(NODE_LEASES), node->name) && text.n > 0 &&
	    timestamp_parse(text, &created, NULL) == 0)
		left -= (lifecycle_wall(node->owner) - created) / CLOCK_MS;
	loop_timer_start(&node->heartbeat, MIN(MAX(left, 0), lifecycle_grace(node)));
}

/* --- pods of a node -------------------------------------------------------------------------- */

static void lifecycle_mark_pods(struct lifecycle_node *node)
{
	struct node_lifecycle *n = node->owner;
	struct cache_walk walk = { 0 };
	struct cached *pod;

	while ((pod = cache_next_by(informer_cache(n->pods.informer), PODS_BY_NODE, node->name,
				    &walk)))
		workqueue_add(n->pod_queue, pod->key);
}

/*
 * Only while the node's state is Unknown: then nobody else writes the pods' status. So it may be
 * done again at any time, and a controller that starts anew forgets no pod.
 */
static void lifecycle_on_pod(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct node_lifecycle *n = CONTAINER_OF(h, struct node_lifecycle, pods.handler);
	struct str name = cached_field(o, "spec.nodeName", NULL);
	const struct lifecycle_node *node = name.n > 0 ? lifecycle_node_find(n, name) : NULL;

	if (node && node->ready == NODE_READY_UNKNOWN)
		workqueue_add(n->pod_queue, o->key);
}

static void lifecycle_on_pod_update(struct informer_handler *h, struct cached *old UNUSED,
				    struct cached *o)
{
	lifecycle_on_pod(h, o, false);
}

/* --- events of nodes ------------------------------------------------------------------------- */

static void lifecycle_node_read(struct lifecycle_node *node, const struct json *tree,
				struct arena *a)
{
	enum node_ready ready = node_decision_ready(tree);
	bool became = ready == NODE_READY_UNKNOWN && node->ready != ready;

	node->ready = ready;
	node->tainted = node_decision_has_taint(tree, ready) ||
			node_decision_has_opposite(tree, ready);
	if (node->tainted)
		node->granted = false;
	lifecycle_node_count(node, !node_decision_excluded(tree), node_decision_zone(tree, a));
	lifecycle_node_judge(node);
	lifecycle_node_queue(node);
	if (became)
		lifecycle_mark_pods(node);
}

static void lifecycle_on_node(struct informer_handler *h, struct cached *o, bool initial)
{
	struct node_lifecycle *n = CONTAINER_OF(h, struct node_lifecycle, nodes.handler);
	struct lifecycle_node *node = xcalloc(1, sizeof(*node) + o->key.n + o->uid.n);
	struct json *tree = NULL;

	node->owner = n;
	str_put(node->text, o->key);
	str_put(node->text + o->key.n, o->uid);
	node->name = str_of(node->text, o->key.n);
	node->uid = str_of(node->text + o->key.n, o->uid.n);
	zone_node_init(&node->zone);
	loop_timer_init(&node->heartbeat, n->ctx.loop, lifecycle_on_silence);
	(void)map_put(&n->by_name, node->name, node);
	(void)cached_tree(o, &n->scratch, &tree, NULL);
	lifecycle_node_read(node, tree, &n->scratch);
	lifecycle_node_start(node, tree);
	arena_clear(&n->scratch);
	if (!initial)
		lifecycle_tell_event(node, "RegisteredNode", "Registered", "in");
}

static void lifecycle_node_free(struct lifecycle_node *node)
{
	loop_timer_stop(&node->heartbeat);
	node_zones_remove(&node->owner->zones, &node->zone);
	free(node);
}

static void lifecycle_on_node_delete(struct informer_handler *h, struct cached *last,
				     bool unknown UNUSED)
{
	struct node_lifecycle *n = CONTAINER_OF(h, struct node_lifecycle, nodes.handler);
	struct lifecycle_node *node = map_remove(&n->by_name, last->key);

	if (!node)
		return;
	lifecycle_tell_event(node, "RemovingNode", "Removing", "from");
	lifecycle_node_free(node);
	node_lifecycle_plan(n, PASS_MS);
}

static bool lifecycle_node_same(const struct cached *a, const struct cached *b)
{
	static const char *const fields[] = { "status.conditions", "spec.taints",
					      "spec.unschedulable", "metadata.labels" };

	return cached_same_fields(a, b, fields, ARRAY_SIZE(fields));
}

static void lifecycle_on_node_update(struct informer_handler *h, struct cached *old,
				     struct cached *o)
{
	struct node_lifecycle *n = CONTAINER_OF(h, struct node_lifecycle, nodes.handler);
	struct lifecycle_node *node = lifecycle_node_find(n, o->key);
	struct json *tree = NULL, *before = NULL;
	enum node_ready had;

	if (!node || !str_eq(old->uid, o->uid)) {
		lifecycle_on_node_delete(h, old, false);
		lifecycle_on_node(h, o, false);
		return;
	}
	if (lifecycle_node_same(old, o))
		return;
	had = node->ready;
	(void)cached_tree(old, &n->scratch, &before, NULL);
	(void)cached_tree(o, &n->scratch, &tree, NULL);
	lifecycle_node_read(node, tree, &n->scratch);
	if (!str_eq(node_decision_heartbeat(before), node_decision_heartbeat(tree)) ||
	    (had == NODE_READY_MISSING) != (node->ready == NODE_READY_MISSING))
		lifecycle_node_beat(node);
	arena_clear(&n->scratch);
}

/* --- events of leases ------------------------------------------------------------------------ */

static void lifecycle_on_lease(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct node_lifecycle *n = CONTAINER_OF(h, struct node_lifecycle, leases.handler);
	struct lifecycle_node *node = lifecycle_node_find(n, cached_name(o));

	if (node)
		lifecycle_node_beat(node);
}

static void lifecycle_on_lease_update(struct informer_handler *h, struct cached *old,
				      struct cached *o)
{
	if (!cached_same_field(old, o, "spec.renewTime"))
		lifecycle_on_lease(h, o, false);
}

/* --- life ------------------------------------------------------------------------------------ */

static void lifecycle_on_synced(struct following *f)
{
	struct node_lifecycle *n = CONTAINER_OF(f, struct node_lifecycle, following);

	n->working = true;
	node_lifecycle_plan(n, PASS_MS);
}

static void lifecycle_follow(struct node_lifecycle *n)
{
	n->nodes = (struct followed){
		.resource = resource_builtin("", "v1", "nodes"),
		.handler = { .on_add = lifecycle_on_node,
			     .on_update = lifecycle_on_node_update,
			     .on_delete = lifecycle_on_node_delete },
	};
	n->pods = (struct followed){
		.resource = resource_builtin("", "v1", "pods"),
		.indexes = pods_by_node,
		.handler = { .on_add = lifecycle_on_pod, .on_update = lifecycle_on_pod_update },
	};
	n->leases = (struct followed){
		.resource = resource_builtin("coordination.k8s.io", "v1", "leases"),
		.ns = STR(NODE_LEASES),
		.handler = { .on_add = lifecycle_on_lease, .on_update = lifecycle_on_lease_update },
	};
	follow(&n->following, &n->nodes);
	follow(&n->following, &n->pods);
	follow(&n->following, &n->leases);
}

static double lifecycle_rate(double wanted, double otherwise)
{
	if (wanted < 0)
		return 0;
	return wanted > 0 ? wanted : otherwise;
}

static void lifecycle_set_opts(struct node_lifecycle *n, const struct node_lifecycle_opts *o)
{
	n->opts = *o;
	n->opts.grace_ms = o->grace_ms ? o->grace_ms : GRACE_MS;
	n->opts.startup_grace_ms = o->startup_grace_ms ? o->startup_grace_ms : STARTUP_GRACE_MS;
	n->opts.workers = o->workers ? o->workers : WORKERS;
	node_zones_init(&n->zones,
			&(struct zone_limits){
				.rate = lifecycle_rate(o->rate, 0.1),
				.secondary_rate = lifecycle_rate(o->secondary_rate, 0.01),
				.large = o->large,
				.unhealthy = lifecycle_rate(o->unhealthy, 0.55),
			});
}

static struct workqueue *lifecycle_queue_new(struct node_lifecycle *n, const char *name,
					     void (*handle)(void *arg, struct str key))
{
	struct workqueue *q = workqueue_new(&(struct workqueue_opts){ .loop = n->ctx.loop,
								      .name = name,
								      .workers = n->opts.workers,
								      .handle = handle,
								      .arg = n,
								      .metrics = n->ctx.metrics });

	following_hold(&n->following, q);
	return q;
}

struct node_lifecycle *node_lifecycle_new(const struct context *ctx,
					  const struct node_lifecycle_opts *opts)
{
	struct node_lifecycle *n = XNEW(struct node_lifecycle);

	n->ctx = *ctx;
	map_init(&n->by_name);
	arena_init(&n->scratch, REQUEST_WORK_MAX);
	loop_timer_init(&n->pass, ctx->loop, lifecycle_on_pass);
	lifecycle_set_opts(n, opts);
	n->evictions = metrics_counter_alone(
		ctx->metrics, "node_collector_evictions_total",
		"Nodes that got a taint of effect NoExecute because they are not ready.");
	following_init(&n->following, ctx->informers);
	n->following.on_synced = lifecycle_on_synced;
	n->node_queue = lifecycle_queue_new(n, "node_lifecycle_controller", lifecycle_node_handle);
	n->pod_queue = lifecycle_queue_new(n, "node_lifecycle_controller_pods",
					   lifecycle_pod_handle);
	works_init(&n->node_jobs, n->node_queue, ctx->log, "name", lifecycle_job_release);
	works_init(&n->pod_jobs, n->pod_queue, ctx->log, "name", lifecycle_job_release);
	lifecycle_follow(n);
	return n;
}

bool node_lifecycle_synced(const struct node_lifecycle *n)
{
	return following_synced(&n->following);
}

void node_lifecycle_free(struct node_lifecycle *n)
{
	if (!n)
		return;
	following_end(&n->following);
	works_release(&n->node_jobs);
	works_release(&n->pod_jobs);
	loop_timer_stop(&n->pass);
	lifecycle_for_all(n, lifecycle_node_free);
	map_release(&n->by_name);
	node_zones_release(&n->zones);
	workqueue_free(n->node_queue);
	workqueue_free(n->pod_queue);
	arena_release(&n->scratch);
	free(n);
}
