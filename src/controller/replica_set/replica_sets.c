/*
 * Finds the ReplicaSets that a change affects: a pod's controller by its name and uid, an orphan's
 * by the labels that selectors demand. replica_set/job.c does the work.
 */
#include "controller/replica_set/replica_sets.h"

#include "base/core/mem.h"
#include "client/client_limits.h"
#include "client/work/workqueue.h"
#include "controller/pods/selecting.h"
#include "controller/replica_set/replica_sets_impl.h"

enum { WORKERS = 5 /* as upstream */ };

/* --- what changes affect --------------------------------------------------------------------- */

/* The key of the pod's ReplicaSet, in the cache's memory; empty if it is gone. */
static struct str key_of_pod(struct replica_sets *c, const struct cached *pod)
{
	const struct cached *set = owned_controller_in(informer_cache(c->sets.informer),
						       "ReplicaSet", pod, &c->scratch);

	return set ? set->key : STR_NULL;
}

static void add_adopters(struct replica_sets *c, const struct cached *pod)
{
	selecting_each(informer_cache(c->sets.informer), pod, &c->scratch, selecting_queue,
		       c->queue);
}

/* The pod is gone, or is being deleted. */
static void replica_sets_pod_gone(struct replica_sets *c, const struct cached *pod)
{
	struct str key = key_of_pod(c, pod);

	if (key.n == 0)
		return;
	expectations_deleted(&c->expectations, key, pod->uid);
	workqueue_add(c->queue, key);
}

static void replica_sets_on_pod(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct replica_sets *c = CONTAINER_OF(h, struct replica_sets, pods.handler);
	struct str key;

	if (o->deleting) {
		replica_sets_pod_gone(c, o);
		return;
	}
	key = key_of_pod(c, o);
	if (key.n > 0) {
		expectations_created(&c->expectations, key);
		workqueue_add(c->queue, key);
	} else if (owned_is_orphan(o, &c->scratch)) {
		add_adopters(c, o);
	}
}

/* Another pod took the name: the first one's end was not shown. */
static void replica_sets_on_replaced(struct replica_sets *c, struct cached *old, struct cached *o)
{
	replica_sets_unsee(c, old->uid);
	replica_sets_pod_gone(c, old);
	replica_sets_on_pod(&c->pods.handler, o, false);
}

static void replica_sets_on_pod_update(struct informer_handler *h, struct cached *old,
				       struct cached *o)
{
	struct replica_sets *c = CONTAINER_OF(h, struct replica_sets, pods.handler);
	struct str key, before;
	bool moved;

	if (!str_eq(old->uid, o->uid)) {
		replica_sets_on_replaced(c, old, o);
		return;
	}
	if (o->deleting) {
		replica_sets_pod_gone(c, o);
		return;
	}
	moved = !cached_same_field(old, o, "metadata.ownerReferences");
	before = moved ? key_of_pod(c, old) : STR_NULL;
	key = key_of_pod(c, o);
	if (before.n > 0 && !str_eq(before, key))
		workqueue_add(c->queue, before);
	if (key.n > 0)
		workqueue_add(c->queue, key);
	else if ((moved || !cached_same_field(old, o, "metadata.labels")) &&
		 owned_is_orphan(o, &c->scratch))
		add_adopters(c, o);
}

static void replica_sets_on_pod_delete(struct informer_handler *h, struct cached *last,
				       bool unknown UNUSED)
{
	struct replica_sets *c = CONTAINER_OF(h, struct replica_sets, pods.handler);

	replica_sets_unsee(c, last->uid);
	replica_sets_pod_gone(c, last);
}

/* A new ReplicaSet of the same name must not inherit expectations. */
static void replica_sets_on_set_delete(struct informer_handler *h, struct cached *last,
				       bool unknown UNUSED)
{
	struct replica_sets *c = CONTAINER_OF(h, struct replica_sets, sets.handler);

	expectations_forget(&c->expectations, last->key);
	workqueue_add(c->queue, last->key);
}

static void replica_sets_on_set_update(struct informer_handler *h, struct cached *old,
				       struct cached *o)
{
	if (!str_eq(old->uid, o->uid))
		replica_sets_on_set_delete(h, old, false);
	followed_on_add(h, o, false);
}

/* --- life ------------------------------------------------------------------------------------ */

static void replica_sets_follow(struct replica_sets *c)
{
	static const struct cache_index of_sets[] = {
		{ OWNED_BY_CONTROLLER, owned_index_controller, NULL },
		{ SELECTING, selecting_index, NULL },
		{ 0 },
	};

	c->sets = (struct followed){
		.resource = resource_builtin("apps", "v1", "replicasets"),
		.indexes = of_sets,
		.handler = { .on_add = followed_on_add,
			     .on_update = replica_sets_on_set_update,
			     .on_delete = replica_sets_on_set_delete },
	};
	c->pods = (struct followed){
		.resource = resource_builtin("", "v1", "pods"),
		.indexes = owned_indexes,
		.handler = { .on_add = replica_sets_on_pod,
			     .on_update = replica_sets_on_pod_update,
			     .on_delete = replica_sets_on_pod_delete },
	};
	follow(&c->following, &c->sets);
	follow(&c->following, &c->pods);
}

struct replica_sets *replica_sets_new(const struct context *ctx,
				      const struct replica_sets_opts *opts)
{
	struct replica_sets *c = XNEW(struct replica_sets);

	c->ctx = *ctx;
	map_init(&c->seen);
	expectations_init(&c->expectations);
	arena_init(&c->scratch, CLIENT_EVENT_MAX);
	c->queue = workqueue_new(
		&(struct workqueue_opts){ .loop = ctx->loop,
					  .name = "replicaset",
					  .workers = opts->workers ? opts->workers : WORKERS,
					  .handle = replica_sets_handle,
					  .arg = c,
					  .metrics = ctx->metrics });
	works_init(&c->jobs, c->queue, ctx->log, "key", replica_job_release);
	following_init(&c->following, ctx->informers);
	following_hold(&c->following, c->queue);
	replica_sets_follow(c);
	return c;
}

bool replica_sets_synced(const struct replica_sets *c)
{
	return following_synced(&c->following);
}

void replica_sets_free(struct replica_sets *c)
{
	if (!c)
		return;
	following_end(&c->following);
	works_release(&c->jobs);
	workqueue_free(c->queue);
	map_free_values(&c->seen);
	expectations_release(&c->expectations);
	arena_release(&c->scratch);
	free(c);
}
