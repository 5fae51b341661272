/*
 * Finds the Jobs that a change affects. From a pod to its Job leads the controller reference; from
 * an orphan, the label with the Job's name, or the selectors of those Jobs of its namespace that
 * have one of their own.
 */
#include "controller/job/job_controller.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "client/work/workqueue.h"
#include "controller/job/job_impl.h"

#define NAME_LABEL "batch.kubernetes.io/job-name"

enum { SYNC_WORKERS = 32, ORPHAN_WORKERS = 16 };

/* --- records --------------------------------------------------------------------------------- */

struct job_record *job_controller_record(struct job_controller *c, struct str uid, bool create)
{
	struct job_record *r = map_get(&c->records, uid);

	if (!r && create) {
		r = xmalloc(sizeof(*r) + uid.n);
		*r = (struct job_record){ 0 };
		str_put(r->uid, uid);
		(void)map_put(&c->records, str_of(r->uid, uid.n), r);
	}
	return r;
}

void job_controller_drop_record(struct job_controller *c, struct str uid)
{
	free(map_remove(&c->records, uid));
}

/* --- from pods to Jobs ----------------------------------------------------------------------- */

struct cached *job_controller_owner(struct job_controller *c, const struct cached *pod)
{
	return owned_controller_in(informer_cache(c->jobs.informer), "Job", pod, &c->scratch);
}

static void add_later(struct job_controller *c, const struct cached *job)
{
	workqueue_add_after(c->queue, job->key, JOB_BATCH_MS);
}

static bool has_finalizer(const struct cached *pod)
{
	struct str list = cached_field(pod, "metadata.finalizers", NULL);

	return str_find(list, STR("\"" JOB_FINALIZER "\"")) >= 0;
}

static bool selects(struct job_controller *c, const struct cached *job, const struct cached *pod)
{
	struct cached_labels labels = { pod, &c->scratch };
	const struct json *selector;
	struct selector s;
	struct json *tree;

	if (cached_tree(job, &c->scratch, &tree, NULL) < 0)
		return false;
	selector = json_getz(json_getz(tree, "spec"), "selector");
	if (!json_count(selector))
		return false;
	s = selector_of_tree(&c->scratch, selector);
	return selector_matches(&s, cached_labels_get, &labels);
}

/* Queues the Jobs that may adopt the pod. */
static void add_adopters(struct job_controller *c, const struct cached *pod)
{
	const struct cache *jobs = informer_cache(c->jobs.informer);
	struct str name = cached_label(pod, STR(NAME_LABEL), &c->scratch);
	struct cache_walk walk = { 0 };
	struct cached *job;

	job = name.n > 0 ? cache_get_in(jobs, cached_ns(pod), name) : NULL;
	if (job)
		add_later(c, job);
	while ((job = cache_next_by(jobs, JOB_MANUAL, cached_ns(pod), &walk))) {
		if (selects(c, job, pod))
			add_later(c, job);
	}
	arena_clear(&c->scratch);
}

/* --- pods ------------------------------------------------------------------------------------ */

/*
 * A pod is being deleted, or is gone. A deletion counts as seen as soon as it has begun, so that
 * the Job need not wait for the node.
 */
static void pod_deleted(struct job_controller *c, const struct cached *pod, bool gone)
{
	struct cached *job = job_controller_owner(c, pod);
	bool finalizer = has_finalizer(pod);

	if (!gone && finalizer)
		workqueue_add(c->orphans, pod->key);
	if (!job)
		return;
	expectations_deleted(&c->expected, job->uid, pod->uid);
	if (gone || !finalizer)
		expectations_deleted(&c->finalizers, job->uid, pod->uid);
	add_later(c, job);
}

static void pod_changed(struct job_controller *c, const struct cached *old,
			const struct cached *pod)
{
	struct cached *job = job_controller_owner(c, pod);
	bool finalizer = has_finalizer(pod);

	if (job) {
		if (!old)
			expectations_created(&c->expected, job->uid);
		if (!finalizer)
			expectations_deleted(&c->finalizers, job->uid, pod->uid);
		add_later(c, job);
	} else if (owned_is_orphan(pod, &c->scratch)) {
		if (finalizer)
			workqueue_add(c->orphans, pod->key);
		if (!old || !owned_is_orphan(old, &c->scratch) ||
		    !cached_same_field(old, pod, "metadata.labels"))
			add_adopters(c, pod);
	}
}

/* The pod had another controller before. */
static void controller_changed(struct job_controller *c, const struct cached *old,
			       const struct cached *pod)
{
	struct cached *was = job_controller_owner(c, old);

	if (!was || was == job_controller_owner(c, pod))
		return;
	if (!has_finalizer(pod))
		expectations_deleted(&c->finalizers, was->uid, pod->uid);
	add_later(c, was);
}

static void job_on_pod(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct job_controller *c = CONTAINER_OF(h, struct job_controller, pods.handler);

	if (o->deleting)
		pod_deleted(c, o, false);
	else
		pod_changed(c, NULL, o);
}

static void job_on_pod_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	struct job_controller *c = CONTAINER_OF(h, struct job_controller, pods.handler);

	pod_deleted(c, last, true);
}

static void job_on_pod_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct job_controller *c = CONTAINER_OF(h, struct job_controller, pods.handler);

	if (old == o)
		return;
	if (!str_eq(old->uid, o->uid)) {
		job_on_pod_delete(h, old, true);
		job_on_pod(h, o, false);
		return;
	}
	controller_changed(c, old, o);
	if (o->deleting)
		pod_deleted(c, o, false);
	else
		pod_changed(c, old, o);
}

/* --- Jobs ------------------------------------------------------------------------------------ */

static bool is_finished(struct job_controller *c, const struct cached *job)
{
	struct json *tree;
	bool is = cached_tree(job, &c->scratch, &tree, NULL) == 0 && job_status_finished(tree);

	arena_clear(&c->scratch);
	return is;
}

static void on_job_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	struct job_controller *c = CONTAINER_OF(h, struct job_controller, jobs.handler);

	expectations_forget(&c->expected, last->uid);
	expectations_forget(&c->finalizers, last->uid);
	job_controller_drop_record(c, last->uid);
	job_orphans_add_all(c, last->uid);
	workqueue_add(c->queue, last->key);
}

/* A new status follows from pods mostly, and waits with their events. */
static void on_job_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	struct job_controller *c = CONTAINER_OF(h, struct job_controller, jobs.handler);

	if (old == o)
		return;
	if (!str_eq(old->uid, o->uid))
		on_job_delete(h, old, true);
	if (is_finished(c, o)) {
		job_orphans_add_all(c, o->uid);
		job_controller_drop_record(c, o->uid);
	} else if (cached_same_field(old, o, "metadata.generation") &&
		   old->deleting == o->deleting) {
		add_later(c, o);
	} else {
		workqueue_add(c->queue, o->key);
	}
}

/* --- life ------------------------------------------------------------------------------------ */

static void job_index_manual(const struct cached *o, struct arena *a UNUSED, struct cache_values *v)
{
	if (str_eqz(cached_field(o, "spec.manualSelector", NULL), "true"))
		cache_values_add(v, cached_ns(o));
}

static void job_follow(struct job_controller *c)
{
	static const struct cache_index of_jobs[] = { { JOB_MANUAL, job_index_manual, NULL },
						      { 0 } };

	c->jobs = (struct followed){
		.resource = resource_builtin("batch", "v1", "jobs"),
		.indexes = of_jobs,
		.handler = { .on_add = followed_on_add,
			     .on_update = on_job_update,
			     .on_delete = on_job_delete },
	};
	c->pods = (struct followed){
		.resource = resource_builtin("", "v1", "pods"),
		.indexes = owned_indexes,
		.handler = { .on_add = job_on_pod,
			     .on_update = job_on_pod_update,
			     .on_delete = job_on_pod_delete },
	};
	follow(&c->following, &c->jobs);
	follow(&c->following, &c->pods);
}

static struct workqueue *job_queue(struct job_controller *c, const char *name, unsigned workers,
				   void (*handle)(void *arg, struct str key))
{
	struct workqueue *q = workqueue_new(
		&(struct workqueue_opts){ .loop = c->ctx.loop,
					  .name = name,
					  .workers = workers,
					  .handle = handle,
					  .arg = c,
					  .backoff_base_ms = JOB_RETRY_MIN_MS,
					  .backoff_max_ms = JOB_RETRY_MAX_MS,
					  .retries_per_s = -1,
					  .metrics = c->ctx.metrics });

	following_hold(&c->following, q);
	return q;
}

struct job_controller *job_controller_new(const struct context *ctx)
{
	struct job_controller *c = XNEW(struct job_controller);

	c->ctx = *ctx;
	following_init(&c->following, ctx->informers);
	expectations_init(&c->expected);
	expectations_init(&c->finalizers);
	map_init(&c->records);
	arena_init(&c->scratch, REQUEST_WORK_MAX);
	job_metrics_init(&c->metrics, ctx->metrics);
	c->queue = job_queue(c, "job", SYNC_WORKERS, job_sync_handle);
	c->orphans = job_queue(c, "job_orphan_pod", ORPHAN_WORKERS, job_orphan_handle);
	works_init(&c->syncs, c->queue, ctx->log, "job", job_sync_release);
	works_init(&c->releases, c->orphans, ctx->log, "pod", NULL);
	job_follow(c);
	return c;
}

void job_controller_free(struct job_controller *c)
{
	if (!c)
		return;
	following_end(&c->following);
	works_release(&c->syncs);
	works_release(&c->releases);
	workqueue_free(c->queue);
	workqueue_free(c->orphans);
	expectations_release(&c->expected);
	expectations_release(&c->finalizers);
	map_free_values(&c->records);
	arena_release(&c->scratch);
	free(c);
}
