/*
 * Finds the Deployments that a change affects: a ReplicaSet's controller by its name and uid, an
 * orphan's by the labels that selectors demand, and for Recreate that of a pod that is gone.
 */
#include "controller/deployment/deployments.h"

#include "base/core/mem.h"
#include "client/client_limits.h"
#include "client/work/workqueue.h"
#include "controller/deployment/deployments_impl.h"
#include "controller/pods/selecting.h"

enum { WORKERS = 5 /* as upstream */ };

/* --- what changes affect --------------------------------------------------------------------- */

static struct cached *deployment_of_set(struct deployments *c, const struct cached *set)
{
	return owned_controller_in(informer_cache(c->deployments.informer), "Deployment", set,
				   &c->scratch);
}

static void deployments_on_set(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct deployments *c = CONTAINER_OF(h, struct deployments, sets.handler);
	const struct cached *d = deployment_of_set(c, o);

	if (d)
		workqueue_add(c->queue, d->key);
	else if (!o->deleting && owned_is_orphan(o, &c->scratch))
		selecting_each(informer_cache(c->deployments.informer), o, &c->scratch,
			       selecting_queue, c->queue);
}

static void deployments_on_set_delete(struct informer_handler *h, struct cached *last,
				      bool unknown UNUSED)
{
	struct deployments *c = CONTAINER_OF(h, struct deployments, sets.handler);
	const struct cached *d = deployment_of_set(c, last);

	if (d)
		workqueue_add(c->queue, d->key);
}

static void deployments_on_set_update(struct informer_handler *h, struct cached *old,
				      struct cached *o)
{
	struct deployments *c = CONTAINER_OF(h, struct deployments, sets.handler);
	bool moved = !str_eq(old->uid, o->uid) ||
		     !cached_same_field(old, o, "metadata.ownerReferences");

	if (moved)
		deployments_on_set_delete(h, old, false);
	if (moved || !cached_same_field(old, o, "metadata.labels") ||
	    !owned_is_orphan(o, &c->scratch))
		deployments_on_set(h, o, false);
}

static void deployments_on_pod_delete(struct informer_handler *h, struct cached *last,
				      bool unknown UNUSED)
{
	struct deployments *c = CONTAINER_OF(h, struct deployments, pods.handler);
	const struct cached *set = owned_controller_in(informer_cache(c->sets.informer),
						       "ReplicaSet", last, &c->scratch);
	const struct cached *d = set ? deployment_of_set(c, set) : NULL;

	if (d && str_eq(cached_field(d, "spec.strategy.type", NULL), STR("Recreate")))
		workqueue_add(c->queue, d->key);
}

/* --- life ------------------------------------------------------------------------------------ */

static void deployments_follow(struct deployments *c)
{
	static const struct cache_index by_selector[] = {
		{ SELECTING, selecting_index, NULL },
		{ 0 },
	};

	c->deployments = (struct followed){
		.resource = resource_builtin("apps", "v1", "deployments"),
		.indexes = by_selector,
		.handler = { .on_add = followed_on_add,
			     .on_update = followed_on_update,
			     .on_delete = followed_on_delete },
	};
	c->sets = (struct followed){
		.resource = resource_builtin("apps", "v1", "replicasets"),
		.indexes = owned_indexes,
		.handler = { .on_add = deployments_on_set,
			     .on_update = deployments_on_set_update,
			     .on_delete = deployments_on_set_delete },
	};
	c->pods = (struct followed){
		.resource = resource_builtin("", "v1", "pods"),
		.indexes = owned_indexes,
		.handler = { .on_delete = deployments_on_pod_delete },
	};
	follow(&c->following, &c->deployments);
	follow(&c->following, &c->sets);
	follow(&c->following, &c->pods);
}

struct deployments *deployments_new(const struct context *ctx, const struct deployments_opts *opts)
{
	struct deployments *c = XNEW(struct deployments);

	c->ctx = *ctx;
	written_init(&c->own_written);
	written_init(&c->sets_written);
	arena_init(&c->scratch, CLIENT_EVENT_MAX);
	c->queue = workqueue_new(
		&(struct workqueue_opts){ .loop = ctx->loop,
					  .name = "deployment",
					  .workers = opts->workers ? opts->workers : WORKERS,
					  .handle = deployments_handle,
					  .arg = c,
					  .metrics = ctx->metrics });
	works_init(&c->jobs, c->queue, ctx->log, "key", deployment_job_release);
	following_init(&c->following, ctx->informers);
	following_hold(&c->following, c->queue);
	deployments_follow(c);
	return c;
}

bool deployments_synced(const struct deployments *c)
{
	return following_synced(&c->following);
}

void deployments_free(struct deployments *c)
{
	if (!c)
		return;
	following_end(&c->following);
	works_release(&c->jobs);
	workqueue_free(c->queue);
	written_release(&c->own_written);
	written_release(&c->sets_written);
	arena_release(&c->scratch);
	free(c);
}
