/*
 * Pods that nobody will count any more: their Job is gone, has ended, or has lost them. They lose
 * the tracking finalizer, so that they can be deleted. The Job's own check removes it otherwise.
 */
#include "base/report/log.h"
#include "client/work/workqueue.h"
#include "controller/job/job_impl.h"

static void orphan_on_done(struct client_request *r, const struct client_answer *answer UNUSED,
			   const struct error *err)
{
	struct work *w = r->arg;
	bool failed = err && err->code != ERR_NOT_FOUND;

	if (failed)
		log_debug(w->of->log, "cannot remove a Job's finalizer", LOG_STR("pod", w->key),
			  LOG_ERR(err));
	work_end(w, failed);
}

/* Whether the Job of the pod, which the cache has, still counts it. */
static bool job_counts(struct job_controller *c, const struct cached *job, struct arena *a)
{
	struct json *tree;

	if (cached_tree(job, a, &tree, NULL) < 0)
		return true;
	return job_spec_foreign(tree) || !job_status_finished(tree);
}

/* References of other groups may also have the kind Job. */
static bool is_of_batch(const struct json *pod)
{
	JSON_FOREACH (it, json_getz(json_getz(pod, "metadata"), "ownerReferences")) {
		if (json_true_at(it, "controller"))
			return str_eqz(json_text_at(it, "kind"), "Job") &&
			       str_eqz(json_text_at(it, "apiVersion"), "batch/v1");
	}
	return true; /* it has no controller */
}

static bool must_release(struct job_controller *c, const struct cached *pod, struct arena *a)
{
	struct cached *job;
	struct json *tree;

	if (cached_tree(pod, a, &tree, NULL) < 0 || !is_of_batch(tree) ||
	    !json_has_text(json_getz(json_getz(tree, "metadata"), "finalizers"),
			   STR(JOB_FINALIZER)))
		return false;
	job = job_controller_owner(c, pod);
	return !job || !job_counts(c, job, a);
}

void job_orphan_handle(void *arg, struct str key)
{
	struct job_controller *c = arg;
	struct cached *pod = cache_get(informer_cache(c->pods.informer), key);
	struct work *w;

	if (!pod) {
		workqueue_finish(c->orphans, key, false);
		return;
	}
	w = work_new(&c->releases, sizeof(*w), key);
	if (!must_release(c, pod, &w->arena)) {
		work_end(w, false);
		return;
	}
	w->request.on_done = orphan_on_done;
	client_patch(c->ctx.client, &w->request, &c->pods.resource,
		     (struct resource_name){ .ns = cached_ns(pod), .name = cached_name(pod) },
		     CLIENT_PATCH_STRATEGIC, job_pod_release_patch(&w->arena, pod->uid));
}

void job_orphans_add_all(struct job_controller *c, struct str uid)
{
	struct cache_walk walk = { 0 };
	struct cached *pod;

	while ((pod = cache_next_by(informer_cache(c->pods.informer), OWNED_BY_CONTROLLER, uid,
				    &walk)))
		workqueue_add(c->orphans, pod->key);
}
