/*
 * One Deployment at a time: its ReplicaSets are claimed, then a plan is made from the caches, then
 * deployment/writes.c does the plan's writes.
 */
#include "api/api_limits.h"
#include "api/selector/label_selector.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "client/events/recorder.h"
#include "client/work/workqueue.h"
#include "controller/deployment/deployments_impl.h"
#include "controller/pods/pod_state.h"

enum { BEHIND_MS = 1000 }; /* check again, in case the informer's event never comes */

/* --- ends ------------------------------------------------------------------------------------ */

static void deployment_job_free(struct deployment_job *j)
{
	list_remove(&j->link);
	loop_timer_stop(&j->again);
	client_cancel(&j->request);
	owned_claim_release(&j->claim);
	cached_unref(j->object);
	arena_release(&j->arena);
	free(j);
}

void deployment_job_end(struct deployment_job *j, bool again)
{
	struct workqueue *queue = j->owner->queue;
	struct str key = j->key;

	deployment_job_free(j);
	workqueue_finish(queue, key, again);
}

/* Conflicts are expected: the server was ahead of our copy. */
void deployment_job_fail(struct deployment_job *j, const struct error *err)
{
	const struct log *log = j->owner->ctx.log;

	if (err->code == ERR_CONFLICT || err->code == ERR_NOT_FOUND)
		log_debug(log, "cannot sync deployment", LOG_STR("key", j->key), LOG_ERR(err));
	else
		log_warn(log, "cannot sync deployment", LOG_STR("key", j->key), LOG_ERR(err));
	deployment_job_end(j, true);
}

void deployment_job_event(const struct deployment_job *j, bool warning, const char *reason,
			  struct str message)
{
	struct recorder_object about = { .api_version = j->identity.api_version,
					 .kind = j->identity.kind,
					 .ns = j->identity.ns,
					 .name = j->identity.name,
					 .uid = j->identity.uid,
					 .resource_version = j->object->resource_version };

	if (j->owner->ctx.recorder)
		recorder_event(j->owner->ctx.recorder, &about,
			       warning ? RECORDER_WARNING : RECORDER_NORMAL, reason, message);
}

/* --- planning -------------------------------------------------------------------------------- */

/* Whether a ReplicaSet has pods that are not finished. */
static bool set_has_pods(struct deployments *c, const struct cached *set)
{
	const struct cache *pods = informer_cache(c->pods.informer);
	struct cache_walk walk = { 0 };
	const struct cached *pod;
	bool found = false;

	while (!found && (pod = cache_next_by(pods, OWNED_BY_CONTROLLER, set->uid, &walk))) {
		struct str phase = cached_field(pod, "status.phase", NULL);

		found = !str_eq(phase, STR("Succeeded")) && !str_eq(phase, STR("Failed"));
	}
	if (found)
		cache_walk_end(&walk);
	return found;
}

static void deployment_job_read_sets(struct deployment_job *j)
{
	const struct owned_list *owned = &j->claim.owned;
	struct deployment_plan *p = &j->plan;
	struct str strategy = json_text_at(json_getz(json_getz(p->tree, "spec"), "strategy"),
					   "type");
	bool recreate = str_eq(strategy, STR("Recreate"));

	p->sets = ARENA_ARRAY(&j->arena, struct deployment_set *, owned->n + 1);
	for (size_t i = 0; i < owned->n; i++) {
		struct deployment_set *s = ARENA_NEW(&j->arena, struct deployment_set);

		if (cached_tree_held(owned->v[i], &j->arena, &s->tree, NULL) < 0)
			continue;
		deployment_set_read(s);
		s->runs = recreate && set_has_pods(j->owner, owned->v[i]);
		p->sets[p->n++] = s;
	}
}

static void deployment_job_on_claimed(struct owned_claim *claim, const struct error *err)
{
	struct deployment_job *j = claim->arg;
	struct deployment_plan *p = &j->plan;

	if (err) {
		deployment_job_fail(j, err);
		return;
	}
	p->arena = &j->arena;
	p->owner = &j->identity;
	p->now_ns = clock_wall(loop_clock(j->owner->ctx.loop));
	deployment_job_read_sets(j);
	deployment_plan(p);
	for (const struct deployment_event *e = p->warnings; e; e = e->next)
		deployment_job_event(j, true, e->reason, e->message);
	if (p->check_after_ns >= 0)
		workqueue_add_after(j->owner->queue, j->key, p->check_after_ns / CLOCK_MS);
	deployment_job_write(j);
}

/* --- begin ----------------------------------------------------------------------------------- */

static bool deployment_job_read(struct deployment_job *j)
{
	const struct json *selector;

	if (cached_tree_held(j->object, &j->arena, &j->plan.tree, NULL) < 0)
		return false;
	selector = json_getz(json_getz(j->plan.tree, "spec"), "selector");
	j->selector = selector_of_tree(&j->arena, selector);
	j->identity = (struct owner){ .resource = j->owner->deployments.resource,
				      .api_version = STR("apps/v1"),
				      .kind = STR("Deployment"),
				      .ns = cached_ns(j->object),
				      .name = cached_name(j->object),
				      .uid = j->object->uid,
				      .selector = &j->selector,
				      .deleting = j->object->deleting };
	return true;
}

/* An empty selector claims nothing. */
static void deployment_job_claim(struct deployment_job *j)
{
	struct deployments *c = j->owner;

	j->claim = (struct owned_claim){ .ctx = &c->ctx,
					 .owner = &j->identity,
					 .cache = informer_cache(c->sets.informer),
					 .resource = &c->sets.resource,
					 .arena = &j->arena,
					 .done = deployment_job_on_claimed,
					 .arg = j };
	if (label_selector_is_empty(json_getz(json_getz(j->plan.tree, "spec"), "selector")))
		deployment_job_on_claimed(&j->claim, NULL);
	else
		owned_claim(&j->claim);
}

static struct deployment_job *deployment_job_new(struct deployments *c, struct str key,
						 struct cached *object)
{
	struct deployment_job *j = XNEW(struct deployment_job);

	j->owner = c;
	j->key = key;
	j->object = cached_ref(object);
	j->request.arg = j;
	arena_init(&j->arena, REQUEST_WORK_MAX);
	loop_timer_init(&j->again, c->ctx.loop, deployment_job_read_again);
	list_push_back(&c->jobs, &j->link);
	return j;
}

void deployments_handle(void *arg, struct str key)
{
	struct deployments *c = arg;
	struct cached *object = cache_get(informer_cache(c->deployments.informer), key);
	struct deployment_job *j;

	if (!object || deployments_behind(c, object)) {
		if (object)
			workqueue_add_after(c->queue, key, BEHIND_MS);
		else
			deployments_forget_written(c, key);
		workqueue_finish(c->queue, key, false);
		return;
	}
	j = deployment_job_new(c, key, object);
	if (deployment_job_read(j))
		deployment_job_claim(j);
	else
		deployment_job_end(j, false);
}

void deployments_jobs_release(struct deployments *c)
{
	LIST_FOREACH_SAFE (l, &c->jobs)
		deployment_job_free(LIST_ENTRY(l, struct deployment_job, link));
}
