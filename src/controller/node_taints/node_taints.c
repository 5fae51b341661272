/*
 * Nodes with taints are in one map, pods that have to leave in another, with the time. The queue
 * holds the keys of pods until then. Its handler looks at the map again, so a pod that was spared
 * meanwhile costs nothing, and none is deleted for a taint that has gone.
 */
#include "controller/node_taints/node_taints.h"

#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "client/events/recorder.h"
#include "client/work/workqueue.h"
#include "controller/node_taints/decide.h"
#include "controller/pods/removal.h"
#include "controller/shared/context.h"
#include "controller/shared/followed.h"
#include "controller/shared/work.h"

enum { WORKERS = 8 };

/* Upstream's name, as field manager. */
#define NODE_TAINTS_MANAGER "taint-eviction-controller"

/* A pod that has to leave its node. */
struct leaving_pod {
	struct str key, uid;
	int64_t due; /* wall clock, ns */
	bool waits; /* its time had not come when it was added */
	bool evicted;
	char text[];
};

struct node_taints {
	struct context ctx;
	struct following following;
	struct followed pods, nodes;
	struct map tainted; /* name -> struct node_taint_set */
	struct map leaving; /* key -> struct leaving_pod */
	struct workqueue *queue; /* keys of pods */
	struct works jobs;
	struct arena scratch; /* for one object */
	struct metrics_counter *deletions; /* or NULL */
};

struct node_taints_job {
	struct work work;
	struct node_taints *owner;
	struct str uid;
	struct pod_removal removal;
};

static int64_t node_taints_now(const struct node_taints *t)
{
	return clock_wall(loop_clock(t->ctx.loop));
}

static void node_taints_event(struct node_taints *t, struct str key, struct str uid,
			      const char *what)
{
	struct recorder_object about = {
		.api_version = STR("v1"), .kind = STR("Pod"), .name = key, .uid = uid
	};
	char text[600];
	int n = snprintf(text, sizeof(text), "%s %.*s", what, STR_ARG(key));

	(void)str_split(&about.name, '/', &about.ns);
	if (n > 0 && (size_t)n < sizeof(text))
		recorder_event(t->ctx.recorder, &about, RECORDER_NORMAL, "TaintManagerEviction",
			       str_of(text, (size_t)n));
}

/* --- pods that leave ------------------------------------------------------------------------- */

static void forget_leaving(struct node_taints *t, struct str key)
{
	free(map_remove(&t->leaving, key));
}

/* It may stay. */
static void spare_pod(struct node_taints *t, struct str key)
{
	struct leaving_pod *p = map_get(&t->leaving, key);

	if (p && p->waits && !p->evicted)
		node_taints_event(t, p->key, p->uid, "Cancelling deletion of Pod");
	forget_leaving(t, key);
}

static struct leaving_pod *need_leaving(struct node_taints *t, struct str key, struct str uid)
{
	struct leaving_pod *p = map_get(&t->leaving, key);

	if (p && str_eq(p->uid, uid))
		return p;
	forget_leaving(t, key);
	p = xcalloc(1, sizeof(*p) + key.n + uid.n);
	str_put(p->text, key);
	str_put(p->text + key.n, uid);
	p->key = str_of(p->text, key.n);
	p->uid = str_of(p->text + key.n, uid.n);
	(void)map_put(&t->leaving, p->key, p);
	return p;
}

static void judge_leaving(struct node_taints *t, struct cached *o, const struct node_taint_set *s)
{
	int64_t now = node_taints_now(t), due;
	struct leaving_pod *p;
	struct json *tree;

	if (o->deleting || cached_tree(o, &t->scratch, &tree, NULL) < 0) {
		arena_clear(&t->scratch);
		forget_leaving(t, o->key);
		return;
	}
	due = node_taint_set_due(s, tree, now);
	arena_clear(&t->scratch);
	if (due == NODE_TAINTS_NEVER) {
		spare_pod(t, o->key);
		return;
	}
	p = need_leaving(t, o->key, o->uid);
	p->waits = due > now;
	p->due = due;
	if (p->evicted)
		return;
	if (p->waits)
		workqueue_add_after(t->queue, p->key, (due - now) / CLOCK_MS + 1);
	else
		workqueue_add(t->queue, p->key);
}

/* --- evictions ------------------------------------------------------------------------------- */

static void node_taints_job_release(struct work *w)
{
	pod_removal_cancel(&CONTAINER_OF(w, struct node_taints_job, work)->removal);
}

/* The entry of the pod that the job began with, if its time has come. */
static struct leaving_pod *due_pod(const struct node_taints_job *j)
{
	struct leaving_pod *p = map_get(&j->owner->leaving, j->work.key);

	if (!p || p->evicted || !str_eq(p->uid, j->uid) || p->due > node_taints_now(j->owner))
		return NULL;
	return p;
}

static bool node_taints_due(struct pod_removal *r, const struct json *pod UNUSED)
{
	return due_pod(r->arg) != NULL;
}

static void node_taints_marking(struct pod_removal *r)
{
	struct node_taints_job *j = r->arg;

	node_taints_event(j->owner, j->work.key, j->uid, "Marking for deletion Pod");
}

static void node_taints_removed(struct pod_removal *r, enum pod_removal_end end, const char *what,
				const struct error *err)
{
	struct node_taints_job *j = r->arg;
	struct node_taints *t = j->owner;
	struct leaving_pod *p = map_get(&t->leaving, j->work.key);

	if (end == POD_REMOVAL_FAILED) {
		log_warn(t->ctx.log, what, LOG_STR("pod", j->work.key), LOG_ERR(err));
		work_end(&j->work, true);
		return;
	}
	if (end != POD_REMOVAL_SPARED && p && str_eq(p->uid, j->uid))
		p->evicted = true;
	if (end == POD_REMOVAL_DONE) {
		log_info(t->ctx.log, "pod evicted from a tainted node",
			 LOG_STR("pod", j->work.key));
		if (t->deletions)
			metrics_counter_add(t->deletions, 1);
	}
	work_end(&j->work, false);
}

static void node_taints_begin(struct node_taints_job *j)
{
	struct str name = j->work.key, ns = STR_NULL;

	(void)str_split(&name, '/', &ns);
	j->removal = (struct pod_removal){
		.ctx = &j->owner->ctx,
		.arena = &j->work.arena,
		.ns = ns,
		.name = name,
		.uid = j->uid,
		.manager = NODE_TAINTS_MANAGER,
		.reason = "DeletionByTaintManager",
		.message = "Taint manager: deleting due to NoExecute taint",
		.due = node_taints_due,
		.marking = node_taints_marking,
		.done = node_taints_removed,
		.arg = j,
	};
	pod_removal_start(&j->removal);
}

static void node_taints_handle(void *arg, struct str key)
{
	struct node_taints *t = arg;
	const struct leaving_pod *p = map_get(&t->leaving, key);
	int64_t now = node_taints_now(t);
	struct node_taints_job *j;

	if (!p || p->evicted || p->due > now) {
		if (p && !p->evicted)
			workqueue_add_after(t->queue, key, (p->due - now) / CLOCK_MS + 1);
		workqueue_finish(t->queue, key, false);
		return;
	}
	j = work_new(&t->jobs, sizeof(*j), key);
	j->owner = t;
	j->uid = arena_str(&j->work.arena, p->uid);
	node_taints_begin(j);
}

/* --- events of nodes ------------------------------------------------------------------------- */

static void judge_pods_of(struct node_taints *t, struct str node, const struct node_taint_set *s)
{
	struct cache_walk walk = { 0 };
	struct cached *pod;

	while ((pod = cache_next_by(informer_cache(t->pods.informer), PODS_BY_NODE, node, &walk)))
		judge_leaving(t, pod, s);
}

static void node_taints_on_node(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct node_taints *t = CONTAINER_OF(h, struct node_taints, nodes.handler);
	struct node_taint_set *old = map_get(&t->tainted, o->key), *s = NULL;
	struct str text = cached_field(o, "spec.taints", NULL);
	struct json *taints;

	if (text.n > 0 && json_parse(&t->scratch, text, NULL, &taints, NULL) == 0)
		s = node_taint_set_new(o->key, taints, old, node_taints_now(t));
	arena_clear(&t->scratch);
	if (old)
		(void)map_remove(&t->tainted, old->node);
	if (s)
		(void)map_put(&t->tainted, s->node, s);
	if (old || s)
		judge_pods_of(t, o->key, s);
	free(old);
}

static void node_taints_on_node_update(struct informer_handler *h, struct cached *old,
				       struct cached *o)
{
	if (!str_eq(old->uid, o->uid) || !cached_same_field(old, o, "spec.taints"))
		node_taints_on_node(h, o, false);
}

/* Its pods are orphans now, which the garbage collector of pods deletes. */
static void node_taints_on_node_delete(struct informer_handler *h, struct cached *last,
				       bool unknown UNUSED)
{
	struct node_taints *t = CONTAINER_OF(h, struct node_taints, nodes.handler);
	struct node_taint_set *old = map_remove(&t->tainted, last->key);
	struct cache_walk walk = { 0 };
	struct cached *pod;

	if (!old)
		return;
	free(old);
	while ((pod = cache_next_by(informer_cache(t->pods.informer), PODS_BY_NODE, last->key,
				    &walk)))
		forget_leaving(t, pod->key);
}

/* --- events of pods -------------------------------------------------------------------------- */

static void node_taints_on_pod(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct node_taints *t = CONTAINER_OF(h, struct node_taints, pods.handler);
	struct str node = cached_field(o, "spec.nodeName", NULL);
	const struct node_taint_set *s = node.n > 0 ? map_get(&t->tainted, node) : NULL;

	if (s)
		judge_leaving(t, o, s);
	else
		spare_pod(t, o->key);
}

static void node_taints_on_pod_update(struct informer_handler *h, struct cached *old,
				      struct cached *o)
{
	static const char *const fields[] = { "spec.nodeName", "spec.tolerations" };

	if (!str_eq(old->uid, o->uid) || old->deleting != o->deleting ||
	    !cached_same_fields(old, o, fields, ARRAY_SIZE(fields)))
		node_taints_on_pod(h, o, false);
}

static void node_taints_on_pod_delete(struct informer_handler *h, struct cached *last,
				      bool unknown UNUSED)
{
	struct node_taints *t = CONTAINER_OF(h, struct node_taints, pods.handler);

	forget_leaving(t, last->key);
}

/* --- life ------------------------------------------------------------------------------------ */

static void node_taints_follow(struct node_taints *t)
{
	t->pods = (struct followed){
		.resource = resource_builtin("", "v1", "pods"),
		.indexes = pods_by_node,
		.handler = { .on_add = node_taints_on_pod,
			     .on_update = node_taints_on_pod_update,
			     .on_delete = node_taints_on_pod_delete },
	};
	t->nodes = (struct followed){
		.resource = resource_builtin("", "v1", "nodes"),
		.handler = { .on_add = node_taints_on_node,
			     .on_update = node_taints_on_node_update,
			     .on_delete = node_taints_on_node_delete },
	};
	follow(&t->following, &t->pods);
	follow(&t->following, &t->nodes);
}

struct node_taints *node_taints_new(const struct context *ctx, unsigned workers)
{
	struct node_taints *t = XNEW(struct node_taints);

	t->ctx = *ctx;
	map_init(&t->tainted);
	map_init(&t->leaving);
	arena_init(&t->scratch, REQUEST_WORK_MAX);
	t->deletions = metrics_counter_alone(ctx->metrics,
					     "taint_eviction_controller_pod_deletions_total",
					     "Pods deleted because of taints of their nodes.");
	t->queue = workqueue_new(&(struct workqueue_opts){ .loop = ctx->loop,
							   .name = "noexec_taint_pod",
							   .workers = workers ? workers : WORKERS,
							   .handle = node_taints_handle,
							   .arg = t,
							   .metrics = ctx->metrics });
	works_init(&t->jobs, t->queue, ctx->log, "pod", node_taints_job_release);
	following_init(&t->following, ctx->informers);
	following_hold(&t->following, t->queue);
	node_taints_follow(t);
	return t;
}

bool node_taints_synced(const struct node_taints *t)
{
	return following_synced(&t->following);
}

void node_taints_free(struct node_taints *t)
{
	if (!t)
		return;
	following_end(&t->following);
	works_release(&t->jobs);
	workqueue_free(t->queue);
	map_free_values(&t->tainted);
	map_free_values(&t->leaving);
	arena_release(&t->scratch);
	free(t);
}
