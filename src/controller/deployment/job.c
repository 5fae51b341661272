/*
 * One Deployment at a time: its ReplicaSets are claimed, then a plan is made from the caches, then
 * deployment/writes.c does the plan's writes.
 */
#include "api/selector/label_selector.h"
#include "base/core/clock.h"
#include "base/json/json.h"
#include "client/events/recorder.h"
#include "client/work/workqueue.h"
#include "controller/deployment/deployments_impl.h"
#include "controller/pods/pod_state.h"

enum { BEHIND_MS = 1000 }; /* check again, in case the informer's event never comes */

void deployment_job_release(struct work *w)
{
	struct deployment_job *j = CONTAINER_OF(w, struct deployment_job, work);

	loop_timer_stop(&j->again);
	owned_claim_release(&j->claim);
	cached_unref(j->object);
}

void deployment_job_event(const struct deployment_job *j, bool warning, const char *reason,
			  struct str message)
{
	struct recorder_object about = owner_about(&j->identity, j->object->resource_version);

	recorder_event(j->owner->ctx.recorder, &about, warning ? RECORDER_WARNING : RECORDER_NORMAL,
		       reason, message);
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

	p->sets = ARENA_ARRAY(&j->work.arena, struct deployment_set *, owned->n + 1);
	for (size_t i = 0; i < owned->n; i++) {
		struct deployment_set *s = ARENA_NEW(&j->work.arena, struct deployment_set);

		if (cached_tree_held(owned->v[i], &j->work.arena, &s->tree, NULL) < 0)
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
		work_fail(&j->work, "cannot sync deployment", err);
		return;
	}
	p->arena = &j->work.arena;
	p->owner = &j->identity;
	p->now_ns = clock_wall(loop_clock(j->owner->ctx.loop));
	deployment_job_read_sets(j);
	deployment_plan(p);
	for (const struct deployment_event *e = p->warnings; e; e = e->next)
		deployment_job_event(j, true, e->reason, e->message);
	if (p->check_after_ns >= 0)
		workqueue_add_after(j->owner->queue, j->work.key, p->check_after_ns / CLOCK_MS);
	deployment_job_write(j);
}

/* --- begin ----------------------------------------------------------------------------------- */

static bool deployment_job_read(struct deployment_job *j)
{
	const struct json *selector;

	if (cached_tree_held(j->object, &j->work.arena, &j->plan.tree, NULL) < 0)
		return false;
	selector = json_getz(json_getz(j->plan.tree, "spec"), "selector");
	j->selector = selector_of_tree(&j->work.arena, selector);
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
					 .arena = &j->work.arena,
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
	struct deployment_job *j = work_new(&c->jobs, sizeof(*j), key);

	j->owner = c;
	j->object = cached_ref(object);
	loop_timer_init(&j->again, c->ctx.loop, deployment_job_read_again);
	return j;
}

/* Whether the caches do not show our last writes yet. */
static bool deployments_behind(struct deployments *c, const struct cached *deployment)
{
	uint64_t sets = 0;

	(void)str_to_u64(informer_resource_version(c->sets.informer), &sets);
	return written_is_ahead(&c->own_written, deployment->key, deployment->revision) ||
	       written_is_ahead(&c->sets_written, deployment->key, sets);
}

static void deployments_forget(struct deployments *c, struct str key)
{
	written_forget(&c->own_written, key);
	written_forget(&c->sets_written, key);
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
			deployments_forget(c, key);
		workqueue_finish(c->queue, key, false);
		return;
	}
	j = deployment_job_new(c, key, object);
	if (deployment_job_read(j))
		deployment_job_claim(j);
	else
		work_end(&j->work, false);
}
