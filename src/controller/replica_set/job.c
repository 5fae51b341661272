/*
 * One ReplicaSet at a time: its pods are claimed, created or deleted, and then its status is
 * written. Pods are created and deleted only when the cache shows everything that was done before
 * (expectations). A deletion whose reply was lost is repeated until there is an answer: otherwise
 * the next sync, with a stale cache, might choose another pod. The status is written with the
 * version it is based on, so a stale one conflicts.
 */
#include "api/selector/label_selector.h"
#include "base/core/clock.h"
#include "base/json/json.h"
#include "client/work/workqueue.h"
#include "controller/pods/pod_template.h"
#include "controller/replica_set/replica_sets_impl.h"

enum {
	AGAIN_MIN_MS = 100,
	AGAIN_MAX_MS = 5000,
};

#define CANNOT_SYNC "cannot sync replica set"

/* --- ends ------------------------------------------------------------------------------------ */

void replica_job_release(struct work *w)
{
	struct replica_job *j = CONTAINER_OF(w, struct replica_job, work);

	loop_timer_stop(&j->again);
	batch_release(&j->batch);
	owned_claim_release(&j->claim);
	cached_unref(j->object);
}

static int64_t replica_job_wall(const struct replica_job *j)
{
	return clock_wall(loop_clock(j->owner->ctx.loop));
}

/* --- status ---------------------------------------------------------------------------------- */

/* After the status is right: what else may change it is time. */
static void replica_job_finish(struct replica_job *j)
{
	struct replica_sets *c = j->owner;

	if (j->failed) {
		work_fail(&j->work, CANNOT_SYNC, &j->failure);
		return;
	}
	if (j->counts.next_ns > 0)
		workqueue_add_after(c->queue, j->work.key, j->counts.next_ns / CLOCK_MS + 1);
	if (!j->may_manage)
		workqueue_add_after(c->queue, j->work.key, EXPECTATIONS_MS + 1);
	work_end(&j->work, false);
}

static void replica_job_on_status(struct client_request *r,
				  const struct client_answer *answer UNUSED,
				  const struct error *err)
{
	struct replica_job *j = r->arg;

	if (err && err->code == ERR_NOT_FOUND)
		work_end(&j->work, false);
	else if (err)
		work_fail(&j->work, CANNOT_SYNC, err);
	else
		replica_job_finish(j);
}

/*
 * Pods that were just deleted do not count, although the cache still shows them. Upstream counts
 * them, so that a Deployment may rely on pods that are gone.
 */
static void replica_job_count(struct replica_job *j)
{
	const struct owned_list *owned = &j->claim.owned;
	int64_t now = replica_job_wall(j);

	j->counts = (struct replica_counts){ 0 };
	for (size_t i = 0; i < owned->n; i++) {
		struct replica_pod pod = replica_sets_see(j, owned->v[i]);

		if (!expectations_deleting(&j->owner->expectations, j->work.key, owned->v[i]->uid))
			replica_counts_add(&j->counts, &pod, &j->spec, now);
	}
}

static void replica_job_write_status(struct replica_job *j)
{
	struct replica_sets *c = j->owner;
	struct str failure = j->failed ? str_from(j->failure.msg) : STR_NULL;
	struct json *status;

	replica_job_count(j);
	status = replica_set_status(&j->work.arena, j->set, &j->counts, failure, j->may_manage,
				    replica_job_wall(j));
	if (!status) {
		replica_job_finish(j);
		return;
	}
	json_setz(j->set, "status", status);
	j->work.request.on_done = replica_job_on_status;
	client_update_status(c->ctx.client, &j->work.request, &c->sets.resource, j->identity.ns,
			     j->identity.name, j->set);
}

/* --- pods ------------------------------------------------------------------------------------ */

/* Drops expectations that the cache will never meet. */
static void replica_job_on_item(struct batch *b, struct batch_item *it,
				const struct client_answer *answer)
{
	struct replica_job *j = b->arg;
	struct expectations *e = &j->owner->expectations;
	bool gone = answer && answer->status == 404;

	if (it->verb == BATCH_CREATE && it->fate != BATCH_DONE)
		expectations_created(e, j->work.key);
	else if (it->verb == BATCH_DELETE &&
		 (it->fate == BATCH_FAILED || it->fate == BATCH_SKIPPED || gone))
		expectations_deleted(e, j->work.key, it->uid);
}

/* The items whose replies were lost. */
static struct batch_item *replica_job_doubtful(struct batch_item *items)
{
	struct batch_item *first = NULL, **last = &first, *next;

	for (struct batch_item *it = items; it; it = next) {
		next = it->next;
		if (it->fate != BATCH_DOUBTFUL)
			continue;
		it->next = NULL;
		it->error.code = ERR_OK;
		*last = it;
		last = &it->next;
	}
	return first;
}

static void replica_job_on_batch(struct batch *b, const struct error *err)
{
	struct replica_job *j = b->arg;
	int64_t wait = (int64_t)AGAIN_MIN_MS << MIN(j->attempts, 10U);

	b->items = replica_job_doubtful(b->items);
	if (b->items) {
		j->attempts++;
		loop_timer_start(&j->again, MIN(wait, (int64_t)AGAIN_MAX_MS));
		return;
	}
	if (err && err->code != ERR_CONFLICT && err->code != ERR_NOT_FOUND) {
		j->failed = true;
		(void)error_copy(&j->failure, err);
	}
	replica_job_write_status(j);
}

static void replica_job_send(struct replica_job *j, struct batch_item *items)
{
	j->batch = (struct batch){
		.ctx = &j->owner->ctx,
		.resource = &j->owner->pods.resource,
		.ns = j->identity.ns,
		.about = owner_about(&j->identity, j->object->resource_version),
		.arena = &j->work.arena,
		.items = items,
		.ended = replica_job_on_item,
		.done = replica_job_on_batch,
		.arg = j,
	};
	batch_start(&j->batch);
}

static void replica_job_on_again(struct loop_timer *t)
{
	struct replica_job *j = CONTAINER_OF(t, struct replica_job, again);

	replica_job_send(j, j->batch.items);
}

static void replica_job_create(struct replica_job *j, size_t n)
{
	const struct json *template = json_getz(json_getz(j->set, "spec"), "template");
	struct batch_item *items = ARENA_ARRAY(&j->work.arena, struct batch_item, n);

	for (size_t i = 0; i < n; i++) {
		items[i].verb = BATCH_CREATE;
		items[i].next = i + 1 < n ? &items[i + 1] : NULL;
		items[i].body = pod_template_share(&j->work.arena, template, &j->identity);
	}
	expectations_set(&j->owner->expectations, j->work.key, n, NULL, 0,
			 loop_now(j->owner->ctx.loop));
	replica_job_send(j, items);
}

/* The active pods in the order in which they are deleted. */
static size_t replica_job_ranks(struct replica_job *j, struct pod_rank **ret_ranks)
{
	struct replica_trees own = replica_job_trees(j), related = replica_job_related(j);
	struct pod_rank *ranks = ARENA_ARRAY(&j->work.arena, struct pod_rank, own.n + 1);
	int64_t now = replica_job_wall(j);
	size_t n = 0;

	for (size_t i = 0; i < own.n; i++) {
		if (own.v[i])
			ranks[n++] = (struct pod_rank){ .pod = own.v[i], .now_ns = now };
	}
	replica_pods_rank(ranks, n, related.v, related.n);
	replica_pods_sort(ranks, n);
	*ret_ranks = ranks;
	return n;
}

static void replica_job_delete(struct replica_job *j, size_t want)
{
	struct pod_rank *ranks;
	size_t n = MIN(want, replica_job_ranks(j, &ranks));
	struct batch_item *items = ARENA_ARRAY(&j->work.arena, struct batch_item, n + 1);
	struct str *uids = ARENA_ARRAY(&j->work.arena, struct str, n + 1);

	for (size_t i = 0; i < n; i++) {
		const struct json *meta = json_getz(ranks[i].pod, "metadata");

		uids[i] = json_text_at(meta, "uid");
		items[i] = (struct batch_item){ .verb = BATCH_DELETE,
						.next = i + 1 < n ? &items[i + 1] : NULL,
						.name = json_text_at(meta, "name"),
						.uid = uids[i] };
	}
	expectations_set(&j->owner->expectations, j->work.key, 0, uids, n,
			 loop_now(j->owner->ctx.loop));
	replica_job_send(j, n > 0 ? items : NULL);
}

static void replica_job_on_claimed(struct owned_claim *claim, const struct error *err)
{
	struct replica_job *j = claim->arg;
	int64_t diff;

	if (err) {
		work_fail(&j->work, CANNOT_SYNC, err);
		return;
	}
	replica_job_count(j);
	diff = replica_set_difference(&j->spec, (size_t)j->counts.replicas);
	if (!j->may_manage || j->object->deleting || diff == 0)
		replica_job_write_status(j);
	else if (diff > 0)
		replica_job_create(j, (size_t)diff);
	else
		replica_job_delete(j, (size_t)-diff);
}

/* --- begin ----------------------------------------------------------------------------------- */

/* A finished pod is neither adopted nor released. */
static bool replica_job_leaves(const struct cached *pod)
{
	struct str phase = cached_field(pod, "status.phase", NULL);

	return str_eq(phase, STR("Succeeded")) || str_eq(phase, STR("Failed"));
}

/* The selector that holds if all of the template's labels do. */
static struct selector labels_selector(struct arena *a, const struct json *set)
{
	const struct json *template = json_getz(json_getz(set, "spec"), "template");
	struct json *labels = json_getz(json_getz(template, "metadata"), "labels");
	struct json *tree = json_make_object(a);

	if (labels)
		json_setz(tree, "matchLabels", json_alias(a, labels));
	return selector_of_tree(a, tree);
}

/* False if there is nothing to do: the selector would select nothing, or everything. */
static bool replica_job_read(struct replica_job *j)
{
	const struct json *selector;

	if (cached_tree_held(j->object, &j->work.arena, &j->set, NULL) < 0)
		return false;
	selector = json_getz(json_getz(j->set, "spec"), "selector");
	if (label_selector_is_empty(selector))
		return false;
	j->selector = selector_of_tree(&j->work.arena, selector);
	j->labels = labels_selector(&j->work.arena, j->set);
	j->spec = replica_set_spec(j->set);
	j->identity = (struct owner){ .resource = j->owner->sets.resource,
				      .api_version = STR("apps/v1"),
				      .kind = STR("ReplicaSet"),
				      .ns = cached_ns(j->object),
				      .name = cached_name(j->object),
				      .uid = j->object->uid,
				      .selector = &j->selector,
				      .deleting = j->object->deleting };
	return true;
}

static struct replica_job *replica_job_new(struct replica_sets *c, struct str key,
					   struct cached *object)
{
	struct replica_job *j = work_new(&c->jobs, sizeof(*j), key);

	j->owner = c;
	j->object = cached_ref(object);
	loop_timer_init(&j->again, c->ctx.loop, replica_job_on_again);
	return j;
}

void replica_sets_handle(void *arg, struct str key)
{
	struct replica_sets *c = arg;
	struct cached *object = cache_get(informer_cache(c->sets.informer), key);
	struct replica_job *j;

	if (!object) {
		expectations_forget(&c->expectations, key);
		workqueue_finish(c->queue, key, false);
		return;
	}
	j = replica_job_new(c, key, object);
	if (!replica_job_read(j)) {
		work_end(&j->work, false);
		return;
	}
	j->may_manage = expectations_met(&c->expectations, key, loop_now(c->ctx.loop));
	j->claim = (struct owned_claim){ .ctx = &c->ctx,
					 .owner = &j->identity,
					 .cache = informer_cache(c->pods.informer),
					 .resource = &c->pods.resource,
					 .arena = &j->work.arena,
					 .leave = replica_job_leaves,
					 .done = replica_job_on_claimed,
					 .arg = j };
	owned_claim(&j->claim);
}
