/*
 * One request per turn of a job: a node's status comes before its taints, which follow from it. The
 * next turn begins when the watch shows what was written. A conflict means that the cache is late,
 * so the key is tried again.
 */
#include "base/core/clock.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "client/events/recorder.h"
#include "client/work/workqueue.h"
#include "controller/node_lifecycle/node_lifecycle_impl.h"

/* Upstream's reporter, as field manager. */
#define LIFECYCLE_MANAGER STR("fieldManager=node-controller")

struct lifecycle_job {
	struct work work;
	struct node_lifecycle *owner;
	struct cached *object; /* reference */
	struct json *tree; /* of the object */
	bool was_ready; /* before the write */
	bool granted; /* the write uses the grant */
};

/* --- life of a job --------------------------------------------------------------------------- */

void lifecycle_job_release(struct work *w)
{
	cached_unref(CONTAINER_OF(w, struct lifecycle_job, work)->object);
}

/* A missing object needs nothing any more. */
static void lifecycle_job_fail(struct lifecycle_job *j, const char *what, const struct error *err)
{
	work_log(&j->work, what, err);
	work_end(&j->work, err->code != ERR_NOT_FOUND);
}

/* NULL: there is no such object; the key is finished. */
static struct lifecycle_job *lifecycle_job_new(struct node_lifecycle *n, struct works *jobs,
					       struct informer *from, struct str key)
{
	struct cached *o = cache_get(informer_cache(from), key);
	struct lifecycle_job *j;

	if (!o) {
		workqueue_finish(jobs->queue, key, false);
		return NULL;
	}
	j = work_new(jobs, sizeof(*j), key);
	j->owner = n;
	j->object = cached_ref(o);
	if (cached_tree(o, &j->work.arena, &j->tree, NULL) < 0)
		j->tree = NULL;
	return j;
}

static int64_t lifecycle_job_now(const struct lifecycle_job *j)
{
	return clock_wall(loop_clock(j->owner->ctx.loop));
}

/* --- a node's status ------------------------------------------------------------------------- */

static void lifecycle_on_status(struct client_request *r, const struct client_answer *a UNUSED,
				const struct error *err)
{
	struct lifecycle_job *j = r->arg;
	struct node_lifecycle *n = j->owner;

	if (err) {
		lifecycle_job_fail(j, "cannot write that a node is lost", err);
		return;
	}
	log_info(n->ctx.log, "a node has stopped sending heartbeats", LOG_STR("node", j->work.key));
	if (j->was_ready)
		lifecycle_event(n, j->work.key, j->object->uid, "NodeNotReady",
				"status is now: NodeNotReady");
	work_end(&j->work, false);
}

static void lifecycle_write_status(struct lifecycle_job *j)
{
	struct node_lifecycle *n = j->owner;
	struct json *patch = node_decision_lost(&j->work.arena, j->tree, lifecycle_job_now(j));
	struct resource_name name = { .name = j->work.key, .subresource = STR("status") };

	if (!patch) {
		work_end(&j->work, false);
		return;
	}
	j->was_ready = node_decision_ready(j->tree) == NODE_READY_TRUE;
	j->work.request.on_done = lifecycle_on_status;
	j->work.request.query = LIFECYCLE_MANAGER;
	client_patch(n->ctx.client, &j->work.request, &n->nodes.resource, name,
		     CLIENT_PATCH_STRATEGIC, patch);
}

/* --- its lease ------------------------------------------------------------------------------- */

/* Whether the lease on the server is another version than ours, so that our watch is late. */
static bool lease_has_changed(struct lifecycle_job *j, const struct json *lease)
{
	const struct cache *cache = informer_cache(j->owner->leases.informer);
	const struct cached *known = cache_get_in(cache, STR(NODE_LEASES), j->work.key);
	struct str version = json_text_at(json_getz(lease, "metadata"), "resourceVersion");

	return !known || !str_eq(known->resource_version, version);
}

static void lifecycle_on_lease_read(struct client_request *r, const struct client_answer *a,
				    const struct error *err)
{
	struct lifecycle_job *j = r->arg;
	struct lifecycle_node *node = lifecycle_node_find(j->owner, j->work.key);
	struct json *lease = NULL;
	struct error bad;

	if (err && err->code != ERR_NOT_FOUND) {
		lifecycle_job_fail(j, "cannot read the lease of a silent node", err);
		return;
	}
	if (!err && client_answer_tree(a, &j->work.arena, &lease, &bad) < 0) {
		lifecycle_job_fail(j, "cannot read the lease of a silent node", &bad);
		return;
	}
	if (!node || !node->lost || !str_eq(node->uid, j->object->uid)) {
		work_end(&j->work, false);
	} else if (lease && lease_has_changed(j, lease)) {
		lifecycle_node_beat(node);
		work_end(&j->work, false);
	} else {
		lifecycle_write_status(j);
	}
}

static void lifecycle_read_lease(struct lifecycle_job *j)
{
	struct node_lifecycle *n = j->owner;

	j->work.request.on_done = lifecycle_on_lease_read;
	client_get(n->ctx.client, &j->work.request, &n->leases.resource, STR(NODE_LEASES),
		   j->work.key);
}

/* --- its taints ------------------------------------------------------------------------------ */

static void lifecycle_on_taints(struct client_request *r, const struct client_answer *a UNUSED,
				const struct error *err)
{
	struct lifecycle_job *j = r->arg;
	struct node_lifecycle *n = j->owner;
	struct lifecycle_node *node = lifecycle_node_find(n, j->work.key);

	if (err) {
		lifecycle_job_fail(j, "cannot write the taints of a node", err);
		return;
	}
	if (j->granted && node)
		node->tainted = true;
	if (j->granted && n->evictions)
		metrics_counter_add(n->evictions, 1);
	work_end(&j->work, false);
}

static void lifecycle_write_taints(struct lifecycle_job *j, const struct lifecycle_node *node)
{
	struct node_lifecycle *n = j->owner;
	struct node_decision_facts facts = { .granted = node->granted,
					     .stopped = n->zones.stopped,
					     .now_ns = lifecycle_job_now(j) };
	struct json *patch = node_decision_taints(&j->work.arena, j->tree, &facts, &j->granted);
	struct resource_name name = { .name = j->work.key };

	if (!patch) {
		work_end(&j->work, false);
		return;
	}
	j->work.request.on_done = lifecycle_on_taints;
	j->work.request.query = LIFECYCLE_MANAGER;
	client_patch(n->ctx.client, &j->work.request, &n->nodes.resource, name, CLIENT_PATCH_MERGE,
		     patch);
}

void lifecycle_node_handle(void *arg, struct str name)
{
	struct node_lifecycle *n = arg;
	const struct lifecycle_node *node = lifecycle_node_find(n, name);
	struct lifecycle_job *j = lifecycle_job_new(n, &n->node_jobs, n->nodes.informer, name);

	if (!j)
		return;
	if (!node || !j->tree)
		work_end(&j->work, false);
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

	recorder_event(j->owner->ctx.recorder, &about, RECORDER_WARNING, "NodeNotReady",
		       STR("Node is not ready"));
}

static void lifecycle_on_pod_marked(struct client_request *r, const struct client_answer *a UNUSED,
				    const struct error *err)
{
	struct lifecycle_job *j = r->arg;

	if (err) {
		lifecycle_job_fail(j, "cannot mark a pod of a lost node as not ready", err);
		return;
	}
	lifecycle_pod_event(j);
	work_end(&j->work, false);
}

void lifecycle_pod_handle(void *arg, struct str key)
{
	struct node_lifecycle *n = arg;
	struct lifecycle_job *j = lifecycle_job_new(n, &n->pod_jobs, n->pods.informer, key);
	struct resource_name name = { .subresource = STR("status") };
	const struct lifecycle_node *node;
	struct json *patch = NULL;

	if (!j)
		return;
	name.ns = cached_ns(j->object);
	name.name = cached_name(j->object);
	node = lifecycle_node_find(n, json_text_at(json_getz(j->tree, "spec"), "nodeName"));
	if (node && node->ready == NODE_READY_UNKNOWN)
		patch = node_decision_pod(&j->work.arena, j->tree, lifecycle_job_now(j));
	if (!patch) {
		work_end(&j->work, false);
		return;
	}
	j->work.request.on_done = lifecycle_on_pod_marked;
	j->work.request.query = LIFECYCLE_MANAGER;
	client_patch(n->ctx.client, &j->work.request, &n->pods.resource, name,
		     CLIENT_PATCH_STRATEGIC, patch);
}
