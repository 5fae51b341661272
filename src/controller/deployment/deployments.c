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

/* The object of that kind which controls `o`; NULL if the cache has none with its uid. */
static struct cached *controller_of(struct deployments *c, const struct cache *cache,
				    const char *kind, const struct cached *o)
{
	struct owned_ref ref = owned_ref_of(o, &c->scratch);
	struct cached *found = NULL;

	if (ref.uid.n > 0 && str_eqz(ref.kind, kind))
		found = cache_get_in(cache, cached_ns(o), ref.name);
	if (found && !str_eq(found->uid, ref.uid))
		found = NULL;
	arena_clear(&c->scratch);
	return found;
}

static struct cached *deployment_of_set(struct deployments *c, const struct cached *set)
{
	return controller_of(c, informer_cache(c->deployments.informer), "Deployment", set);
}

static bool deployments_is_orphan(struct deployments *c, const struct cached *set)
{
	bool orphan = owned_ref_of(set, &c->scratch).uid.n == 0;

	arena_clear(&c->scratch);
	return orphan;
}

static void on_selecting(void *arg, const struct cached *deployment)
{
	workqueue_add(((struct deployments *)arg)->queue, deployment->key);
}

static void deployments_on_set(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct deployments *c = CONTAINER_OF(h, struct deployments, sets.handler);
	const struct cached *d = deployment_of_set(c, o);

	if (d)
		workqueue_add(c->queue, d->key);
	else if (!o->deleting && deployments_is_orphan(c, o))
		selecting_each(informer_cache(c->deployments.informer), o, &c->scratch,
			       on_selecting, c);
}

static bool same_field(const struct cached *a, const struct cached *b, const char *path)
{
	return str_eq(cached_field(a, path, NULL), cached_field(b, path, NULL));
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
	bool moved = !str_eq(old->uid, o->uid) || !same_field(old, o, "metadata.ownerReferences");

	if (moved)
		deployments_on_set_delete(h, old, false);
	if (moved || !same_field(old, o, "metadata.labels") || !deployments_is_orphan(c, o))
		deployments_on_set(h, o, false);
}

static void deployments_on_pod_delete(struct informer_handler *h, struct cached *last,
				      bool unknown UNUSED)
{
	struct deployments *c = CONTAINER_OF(h, struct deployments, pods.handler);
	const struct cached *set = controller_of(c, informer_cache(c->sets.informer), "ReplicaSet",
						 last);
	const struct cached *d = set ? deployment_of_set(c, set) : NULL;

	if (d && str_eq(cached_field(d, "spec.strategy.type", NULL), STR("Recreate")))
		workqueue_add(c->queue, d->key);
}

static void deployments_on_deployment(struct informer_handler *h, struct cached *o,
				      bool initial UNUSED)
{
	workqueue_add(CONTAINER_OF(h, struct deployments, deployments.handler)->queue, o->key);
}

static void deployments_on_deployment_update(struct informer_handler *h, struct cached *old UNUSED,
					     struct cached *o)
{
	deployments_on_deployment(h, o, false);
}

static void deployments_on_deployment_delete(struct informer_handler *h, struct cached *last,
					     bool unknown UNUSED)
{
	deployments_on_deployment(h, last, false);
}

/* --- life ------------------------------------------------------------------------------------ */

bool deployments_synced(const struct deployments *c)
{
	return c->deployments.handler.synced && c->sets.handler.synced && c->pods.handler.synced;
}

/* Before that, ReplicaSets would seem to be missing. */
static void deployments_on_synced(struct deployments *c)
{
	if (deployments_synced(c))
		workqueue_hold(c->queue, false);
}

static void deployments_on_deployments_synced(struct informer_handler *h)
{
	deployments_on_synced(CONTAINER_OF(h, struct deployments, deployments.handler));
}

static void deployments_on_sets_synced(struct informer_handler *h)
{
	deployments_on_synced(CONTAINER_OF(h, struct deployments, sets.handler));
}

static void deployments_on_pods_synced(struct informer_handler *h)
{
	deployments_on_synced(CONTAINER_OF(h, struct deployments, pods.handler));
}

static void deployments_follow(struct deployments *c, struct deployments_followed *f,
			       const struct cache_index *indexes)
{
	f->informer = informers_get(
		c->ctx.informers,
		&(struct informer_spec){ .resource = &f->resource, .slim = true });
	for (; indexes->name; indexes++)
		informer_add_index(f->informer, indexes);
	informer_add_handler(f->informer, &f->handler);
}

static void deployments_follow_all(struct deployments *c)
{
	static const struct cache_index of_deployments[] = {
		{ SELECTING, selecting_index, NULL },
		{ 0 },
	};
	static const struct cache_index of_sets[] = {
		{ OWNED_BY_CONTROLLER, owned_index_controller, NULL },
		{ OWNED_ORPHANS, owned_index_orphan, NULL },
		{ 0 },
	};

	c->deployments = (struct deployments_followed){
		.resource = resource_builtin("apps", "v1", "deployments"),
		.handler = { .on_add = deployments_on_deployment,
			     .on_update = deployments_on_deployment_update,
			     .on_delete = deployments_on_deployment_delete,
			     .on_synced = deployments_on_deployments_synced },
	};
	c->sets = (struct deployments_followed){
		.resource = resource_builtin("apps", "v1", "replicasets"),
		.handler = { .on_add = deployments_on_set,
			     .on_update = deployments_on_set_update,
			     .on_delete = deployments_on_set_delete,
			     .on_synced = deployments_on_sets_synced },
	};
	c->pods = (struct deployments_followed){
		.resource = resource_builtin("", "v1", "pods"),
		.handler = { .on_delete = deployments_on_pod_delete,
			     .on_synced = deployments_on_pods_synced },
	};
	deployments_follow(c, &c->deployments, of_deployments);
	deployments_follow(c, &c->sets, of_sets);
	deployments_follow(c, &c->pods, of_sets);
}

struct deployments *deployments_new(const struct context *ctx, const struct deployments_opts *opts)
{
	struct deployments *c = XNEW(struct deployments);

	c->ctx = *ctx;
	list_init(&c->jobs);
	map_init(&c->written);
	arena_init(&c->scratch, CLIENT_EVENT_MAX);
	c->queue = workqueue_new(
		&(struct workqueue_opts){ .loop = ctx->loop,
					  .name = "deployment",
					  .workers = opts->workers ? opts->workers : WORKERS,
					  .handle = deployments_handle,
					  .arg = c,
					  .metrics = ctx->metrics });
	workqueue_hold(c->queue, true);
	deployments_follow_all(c);
	return c;
}

void deployments_free(struct deployments *c)
{
	if (!c)
		return;
	informer_remove_handler(&c->deployments.handler);
	informer_remove_handler(&c->sets.handler);
	informer_remove_handler(&c->pods.handler);
	deployments_jobs_release(c);
	workqueue_free(c->queue);
	deployments_written_release(c);
	arena_release(&c->scratch);
	free(c);
}
