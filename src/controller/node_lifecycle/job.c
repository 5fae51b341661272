/*
 * One request per turn of a job: a node's status comes before its taints, which follow from it. The
 * next turn begins when the watch shows what was written. A conflict means that the cache is late,
 * so the key is tried again.
 */
#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "client/events/recorder.h"
#include "client/work/workqueue.h"
#include "controller/node_lifecycle/node_lifecycle_impl.h"

/* Upstream's reporter, as field manager. */
#define LIFECYCLE_MANAGER STR("fieldManager=node-controller")

struct lifecycle_job {
	struct list link;
	struct node_lifecycle *owner;
	struct workqueue *queue;
	struct str key; /* borrowed from the queue */
	struct cached *object; /* reference */
	struct json *tree; /* of the object */
	struct arena arena;
	struct client_request request;
	void (*on_answer)(struct lifecycle_job *j, const struct client_answer *a,
			  const struct error *err);
	bool was_ready; /* before the write */
	bool granted; /* the write uses the grant */
};

/* --- life of a job --------------------------------------------------------------------------- */

static void lifecycle_job_free(struct lifecycle_job *j)
{
	list_remove(&j->link);
	client_cancel(&j->request);
	cached_unref(j->object);
	arena_release(&j->arena);
	free(j);
}

static void lifecycle_job_end(struct lifecycle_job *j, bool again)
{
	struct workqueue *queue = j->queue;
	struct str key = j->key;

	lifecycle_job_free(j);
	workqueue_finish(queue, key, again);
}

/* A missing object needs nothing any more. */
static void lifecycle_job_fail(struct lifecycle_job *j, const char *what, const struct error *err)
{
	if (err->code == ERR_CONFLICT || err->code == ERR_NOT_FOUND)
		log_debug(j->owner->ctx.log, what, LOG_STR("name", j->key), LOG_ERR(err));
	else
		log_warn(j->owner->ctx.log, what, LOG_STR("name", j->key), LOG_ERR(err));
	lifecycle_job_end(j, err->code != ERR_NOT_FOUND);
}

static void lifecycle_on_done(struct client_request *r, const struct client_answer *a,
			      const struct error *err)
{
	struct lifecycle_job *j = r->arg;

	r->query = STR_NULL;
	j->on_answer(j, a, err);
}

/* NULL: there is no such object; the key is finished. */
static struct lifecycle_job *lifecycle_job_new(struct node_lifecycle *n, struct workqueue *queue,
					       struct informer *from, struct str key)
{
	struct cached *o = cache_get(informer_cache(from), key);
	struct lifecycle_job *j;

	if (!o) {
		workqueue_finish(queue, key, false);
		return NULL;
	}
	j = XNEW(struct lifecycle_job);
	j->owner = n;
	j->queue = queue;
	j->key = key;
	j->object = cached_ref(o);
	j->request.arg = j;
	j->request.on_done = lifecycle_on_done;
	arena_init(&j->arena, REQUEST_WORK_MAX);
	list_push_back(&n->jobs, &j->link);
	if (cached_tree(o, &j->arena, &j->tree, NULL) < 0)
		j->tree = NULL;
	return j;
}

void lifecycle_jobs_release(struct node_lifecycle *n)
{
	LIST_FOREACH_SAFE (it, &n->jobs)
		lifecycle_job_free(LIST_ENTRY(it, struct lifecycle_job, link));
}

static int64_t lifecycle_job_now(const struct lifecycle_job *j)
{
	return clock_wall(loop_clock(j->owner->ctx.loop));
}

/* --- a node's status ------------------------------------------------------------------------- */

static void lifecycle_on_status(struct lifecycle_job *j, const struct client_answer *a UNUSED,
				const struct error *err)
{
	struct node_lifecycle *n = j->owner;

	if (err) {
		lifecycle_job_fail(j, "cannot write that a node is lost", err);
		return;
	}
	log_info(n->ctx.log, "a node has stopped sending heartbeats", LOG_STR("node", j->key));
	if (j->was_ready)
		lifecycle_event(n, j->key, j->object->uid, "NodeNotReady",
				"status is now: NodeNotReady");
	lifecycle_job_end(j, false);
}

static void lifecycle_write_status(struct lifecycle_job *j)
{
	struct node_lifecycle *n = j->owner;
	struct json *patch = node_decision_lost(&j->arena, j->tree, lifecycle_job_now(j));
	struct resource_name name = { .name = j->key, .subresource = STR("status") };

	if (!patch) {
		lifecycle_job_end(j, false);
		return;
	}
	j->was_ready = node_decision_ready(j->tree) == NODE_READY_TRUE;
	j->on_answer = lifecycle_on_status;
	j->request.query = LIFECYCLE_MANAGER;
	client_patch(n->ctx.client, &j->request, &n->nodes.resource, name, CLIENT_PATCH_STRATEGIC,
		     patch);
}

/* --- its lease ------------------------------------------------------------------------------- */

/* Whether the lease on the server is another version than ours, so that our watch is late. */
static bool lease_has_changed(struct lifecycle_job *j, const struct json *lease)
{
	const struct cache *cache = informer_cache(j->owner->leases.informer);
	const struct cached *known = cache_get_in(cache, STR(NODE_LEASES), j->key);
	struct str version = json_text_at(json_getz(lease, "metadata"), "resourceVersion");

	return !known || !str_eq(known->resource_version, version);
}

static void lifecycle_on_lease_read(struct lifecycle_job *j, const struct client_answer *a,
				    const struct error *err)
{
	struct lifecycle_node *node = lifecycle_node_find(j->owner, j->key);
	struct json *lease = NULL;
	struct error bad;

	if (err && err->code != ERR_NOT_FOUND) {
		lifecycle_job_fail(j, "cannot read the lease of a silent node", err);
		return;
	}
	if (!err && client_answer_tree(a, &j->arena, &lease, &bad) < 0) {
		lifecycle_job_fail(j, "cannot read the lease of a silent node", &bad);
		return;
	}
	if (!node || !node->lost || !str_eq(node->uid, j->object->uid)) {
		lifecycle_job_end(j, false);
	} else if (lease && lease_has_changed(j, lease)) {
		lifecycle_node_beat(node);
		lifecycle_job_end(j, false);
	} else {
		lifecycle_write_status(j);
	}
}

static void lifecycle_read_lease(struct lifecycle_job *j)
{
	struct node_lifecycle *n = j->owner;

	j->on_answer = lifecycle_on_lease_read;
	client_get(n->ctx.client, &j->request, &n->leases.resource, STR(NODE_LEASES), j->key);
}

/* --- its taints ------------------------------------------------------------------------------ */

static void lifecycle_on_taints(struct lifecycle_job *j, const struct client_answer *a UNUSED,
				const struct error *err)
{
	struct node_lifecycle *n = j->owner;
	struct lifecycle_node *node = lifecycle_node_find(n, j->key);

	if (err) {
		lifecycle_job_fail(j, "cannot write the taints of a node", err);
		return;
	}
	if (j->granted && node)
		node->tainted = true;
	if (j->granted && n->evictions)
		metrics_counter_add(n->evictions, 1);
	lifecycle_job_end(j, false);
}

static void lifecycle_write_taints(struct lifecycle_job *j, const struct lifecycle_node *node)
{
	struct node_lifecycle *n = j->owner;
	struct node_decision_facts facts = { .granted = node->granted,
					     .stopped = n->zones.stopped,
					     .now_ns = lifecycle_job_now(j) };
	struct json *patch = node_decision_taints(&j->arena, j->tree, &facts, &j->granted);
	struct resource_name name = { .name = j->key };

	if (!patch) {
		lifecycle_job_end(j, false);
		return;
	}
	j->on_answer = lifecycle_on_taints;
	j->request.query = LIFECYCLE_MANAGER;
	client_patch(n->ctx.client, &j->request, &n->nodes.resource, name, CLIENT_PATCH_MERGE,
		     patch);
}

void lifecycle_node_handle(void *arg, struct str name)
{
	struct node_lifecycle *n = arg;
	const struct lifecycle_node *node = lifecycle_node_find(n, name);
	struct lifecycle_job *j = lifecycle_job_new(n, n->node_queue, n->nodes.informer, name);

	if (!j)
		return;
	if (!node || !j->tree)
		lifecycle_job_end(j, false);
	else if (node->lost && node_decision_ready(j->tree) != NODE_READY_UNKNOWN)
		lifecycle_read_lease(j);
	else
		lifecycle_write_taints(j, node);
}

/* --- pods ------------------------------------------------------------------------------------ */

static void lifecycle_pod_event(struct lifecycle_job *j)
{
	struct recorder_object about = { .api_version = STR("v1"),
					 .kind = STR("Pod"),
					 .ns = cached_ns(j->object),
					 .name = cached_name(j->object),
					 .uid = j->object->uid };

	if (j->owner->ctx.recorder)
		recorder_event(j->owner->ctx.recorder, &about, RECORDER_WARNING, "NodeNotReady",
			       STR("Node is not ready"));
}

static void lifecycle_on_pod_marked(struct lifecycle_job *j, const struct client_answer *a UNUSED,
				    const struct error *err)
{
	if (err) {
		lifecycle_job_fail(j, "cannot mark a pod of a lost node as not ready", err);
		return;
	}
	lifecycle_pod_event(j);
	lifecycle_job_end(j, false);
}

void lifecycle_pod_handle(void *arg, struct str key)
{
	struct node_lifecycle *n = arg;
	struct lifecycle_job *j = lifecycle_job_new(n, n->pod_queue, n->pods.informer, key);
	struct resource_name name = { .subresource = STR("status") };
	const struct lifecycle_node *node;
	struct json *patch = NULL;

	if (!j)
		return;
	name.ns = cached_ns(j->object);
	name.name = cached_name(j->object);
	node = lifecycle_node_find(n, json_text_at(json_getz(j->tree, "spec"), "nodeName"));
	if (node && node->ready == NODE_READY_UNKNOWN)
		patch = node_decision_pod(&j->arena, j->tree, lifecycle_job_now(j));
	if (!patch) {
		lifecycle_job_end(j, false);
		return;
	}
	j->on_answer = lifecycle_on_pod_marked;
	j->request.query = LIFECYCLE_MANAGER;
	client_patch(n->ctx.client, &j->request, &n->pods.resource, name, CLIENT_PATCH_STRATEGIC,
		     patch);
}
