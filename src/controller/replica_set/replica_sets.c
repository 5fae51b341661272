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

/* The ReplicaSet that a controller reference names; NULL if it is gone or has another uid. */
static struct cached *set_of_ref(struct replica_sets *c, struct str ns, const struct owned_ref *ref)
{
	struct cached *set;

	if (!str_eq(ref->kind, STR("ReplicaSet")))
		return NULL;
	set = cache_get_in(informer_cache(c->sets.informer), ns, ref->name);
	return set && str_eq(set->uid, ref->uid) ? set : NULL;
}

/* The key of the pod's ReplicaSet, in the cache's memory; empty if it is gone. */
static struct str key_of_pod(struct replica_sets *c, const struct cached *pod)
{
	struct owned_ref ref = owned_ref_of(pod, &c->scratch);
	struct cached *set = ref.uid.n > 0 ? set_of_ref(c, cached_ns(pod), &ref) : NULL;

	arena_clear(&c->scratch);
	return set ? set->key : STR_NULL;
}

static bool has_controller(struct replica_sets *c, const struct cached *pod)
{
	bool has = owned_ref_of(pod, &c->scratch).uid.n > 0;

	arena_clear(&c->scratch);
	return has;
}

static void on_selecting(void *arg, const struct cached *set)
{
	workqueue_add(((struct replica_sets *)arg)->queue, set->key);
}

static void add_adopters(struct replica_sets *c, const struct cached *pod)
{
	selecting_each(informer_cache(c->sets.informer), pod, &c->scratch, on_selecting, c);
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
	} else if (!has_controller(c, o)) {
		add_adopters(c, o);
	}
}

static bool same_field(const struct cached *a, const struct cached *b, const char *path)
{
	return str_eq(cached_field(a, path, NULL), cached_field(b, path, NULL));
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
	moved = !same_field(old, o, "metadata.ownerReferences");
	before = moved ? key_of_pod(c, old) : STR_NULL;
	key = key_of_pod(c, o);
	if (before.n > 0 && !str_eq(before, key))
		workqueue_add(c->queue, before);
	if (key.n > 0)
		workqueue_add(c->queue, key);
	else if ((moved || !same_field(old, o, "metadata.labels")) && !has_controller(c, o))
		add_adopters(c, o);
}

static void replica_sets_on_pod_delete(struct informer_handler *h, struct cached *last,
				       bool unknown UNUSED)
{
	struct replica_sets *c = CONTAINER_OF(h, struct replica_sets, pods.handler);

	replica_sets_unsee(c, last->uid);
	replica_sets_pod_gone(c, last);
}

static void replica_sets_on_set(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	workqueue_add(CONTAINER_OF(h, struct replica_sets, sets.handler)->queue, o->key);
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
	replica_sets_on_set(h, o, false);
}

/* --- life ------------------------------------------------------------------------------------ */

bool replica_sets_synced(const struct replica_sets *c)
{
	return c->sets.handler.synced && c->pods.handler.synced;
}

/* Before that, pods would seem to be missing. */
static void replica_sets_on_synced(struct replica_sets *c)
{
	if (replica_sets_synced(c))
		workqueue_hold(c->queue, false);
}

static void replica_sets_on_sets_synced(struct informer_handler *h)
{
	replica_sets_on_synced(CONTAINER_OF(h, struct replica_sets, sets.handler));
}

static void replica_sets_on_pods_synced(struct informer_handler *h)
{
	replica_sets_on_synced(CONTAINER_OF(h, struct replica_sets, pods.handler));
}

static void replica_sets_follow(struct replica_sets *c, struct replica_sets_followed *f,
				const struct cache_index *indexes)
{
	f->informer = informers_get(
		c->ctx.informers,
		&(struct informer_spec){ .resource = &f->resource, .slim = true });
	for (; indexes->name; indexes++)
		informer_add_index(f->informer, indexes);
	informer_add_handler(f->informer, &f->handler);
}

static void replica_sets_follow_all(struct replica_sets *c)
{
	static const struct cache_index of_sets[] = {
		{ OWNED_BY_CONTROLLER, owned_index_controller, NULL },
		{ SELECTING, selecting_index, NULL },
		{ 0 },
	};
	static const struct cache_index of_pods[] = {
		{ OWNED_BY_CONTROLLER, owned_index_controller, NULL },
		{ OWNED_ORPHANS, owned_index_orphan, NULL },
		{ 0 },
	};

	c->sets = (struct replica_sets_followed){
		.resource = resource_builtin("apps", "v1", "replicasets"),
		.handler = { .on_add = replica_sets_on_set,
			     .on_update = replica_sets_on_set_update,
			     .on_delete = replica_sets_on_set_delete,
			     .on_synced = replica_sets_on_sets_synced },
	};
	c->pods = (struct replica_sets_followed){
		.resource = resource_builtin("", "v1", "pods"),
		.handler = { .on_add = replica_sets_on_pod,
			     .on_update = replica_sets_on_pod_update,
			     .on_delete = replica_sets_on_pod_delete,
			     .on_synced = replica_sets_on_pods_synced },
	};
	replica_sets_follow(c, &c->sets, of_sets);
	replica_sets_follow(c, &c->pods, of_pods);
}

struct replica_sets *replica_sets_new(const struct context *ctx,
				      const struct replica_sets_opts *opts)
{
	struct replica_sets *c = XNEW(struct replica_sets);

	c->ctx = *ctx;
	list_init(&c->jobs);
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
	workqueue_hold(c->queue, true);
	replica_sets_follow_all(c);
	return c;
}

void replica_sets_free(struct replica_sets *c)
{
	size_t at = 0;
	struct str uid;
	void *seen;

	if (!c)
		return;
	informer_remove_handler(&c->sets.handler);
	informer_remove_handler(&c->pods.handler);
	replica_sets_jobs_release(c);
	workqueue_free(c->queue);
	while (map_next(&c->seen, &at, &uid, &seen))
		free(seen);
	map_release(&c->seen);
	expectations_release(&c->expectations);
	arena_release(&c->scratch);
	free(c);
}
