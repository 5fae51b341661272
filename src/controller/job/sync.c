/*
 * One Job at a time: claim its pods, decide (view.h), then send the requests that follow.
 *
 *	claim -> delete or create pods -> write the status -> remove finalizers -> write the status
 *
 * Steps without work are skipped. All decisions are made on one state of the cache, read after the
 * claim: together with it the expectations are read, so a pod that we have just created or released
 * is not mistaken. A check waits until the cache shows the status that the last check wrote. An
 * update from an outdated copy conflicts, and is decided anew.
 */
#include "api/api_limits.h"
#include "base/json/json.h"
#include "client/work/workqueue.h"
#include "controller/job/job_impl.h"

enum { BEHIND_MS = 1000 }; /* check again, in case the cache's event never comes */

struct counters {
	int64_t succeeded, failed;
};

struct job_sync {
	struct work work;
	struct job_controller *owner;
	struct str ns, name; /* of the Job, which the arena holds */
	struct json *job;
	struct owner who;
	struct selector selector;
	struct owned_claim claim;
	struct batch batch;
	struct job_view view;
	const char *action; /* for metrics */
	struct counters before; /* as last written, for metrics */
	bool ended; /* the status that is being written ends the Job */
	bool again; /* something failed: check again with back-off */
	bool batch_failed; /* a finalizer could not be removed */
	void (*after_write)(struct job_sync *s);
};

/* --- ends ------------------------------------------------------------------------------------ */

void job_sync_release(struct work *w)
{
	struct job_sync *s = CONTAINER_OF(w, struct job_sync, work);

	batch_release(&s->batch);
	owned_claim_release(&s->claim);
	job_view_release(&s->view);
}

static void sync_end(struct job_sync *s)
{
	struct job_controller *c = s->owner;
	int64_t wait = s->view.check_after_ns;

	if (s->action)
		job_metrics_sync(&c->metrics, s->view.spec.indexed, s->action, !s->again);
	if (wait > 0 && !s->ended)
		workqueue_add_after(c->queue, s->work.key, wait / CLOCK_MS + 1);
	work_end(&s->work, s->again);
}

static void sync_note(struct job_sync *s, const char *what, const struct error *err)
{
	s->again = true;
	work_log(&s->work, what, err);
}

/* --- events ---------------------------------------------------------------------------------- */

static struct recorder_object sync_about(const struct job_sync *s)
{
	return (struct recorder_object){
		.api_version = STR("batch/v1"),
		.kind = STR("Job"),
		.ns = s->ns,
		.name = s->name,
		.uid = s->who.uid,
		.resource_version = json_text_at(json_getz(s->job, "metadata"), "resourceVersion"),
	};
}

static void sync_event(struct job_sync *s, enum recorder_type type, const char *reason,
		       struct str message)
{
	struct recorder_object about = sync_about(s);

	recorder_event(s->owner->ctx.recorder, &about, type, reason, message);
}

static void report_end(struct job_sync *s)
{
	const struct job_view *v = &s->view;
	bool success = strcmp(v->end.type, "Complete") == 0;

	job_metrics_finished(&s->owner->metrics, v->spec.indexed, success, v->end.reason);
	if (!success) {
		sync_event(s, RECORDER_WARNING, arena_strdup(&s->work.arena, v->end.reason),
			   v->end.message);
		return;
	}
	if (v->spec.completions >= 0 &&
	    json_i64_at(v->status, "succeeded", 0) > v->spec.completions)
		sync_event(s, RECORDER_WARNING, "TooManySucceededPods",
			   STR("Too many succeeded pods running after completion count reached"));
	sync_event(s, RECORDER_NORMAL, "Completed", STR("Job completed"));
}

/* --- the status ------------------------------------------------------------------------------ */

/* The next write needs the new version; the next check waits until the cache has it. */
static void note_written(struct job_sync *s, const struct client_answer *answer)
{
	struct job_record *record = job_controller_record(s->owner, s->who.uid, true);
	struct json *tree;
	struct str version;

	record->backoff = s->view.backoff;
	if (client_answer_tree(answer, &s->work.arena, &tree, NULL) < 0)
		return;
	version = json_text_at(json_getz(tree, "metadata"), "resourceVersion");
	json_put_str(&s->work.arena, json_getz(s->job, "metadata"), "resourceVersion", version);
	(void)str_to_u64(version, &record->written);
}

static void report_counts(struct job_sync *s)
{
	struct counters now = { json_i64_at(s->view.status, "succeeded", 0),
				json_i64_at(s->view.status, "failed", 0) };
	struct job_metrics *m = &s->owner->metrics;

	job_metrics_pods(m, s->view.spec.indexed, true, now.succeeded - s->before.succeeded);
	job_metrics_pods(m, s->view.spec.indexed, false, now.failed - s->before.failed);
	s->before = now;
}

static void on_status(struct client_request *r, const struct client_answer *answer,
		      const struct error *err)
{
	struct job_sync *s = r->arg;

	if (err) {
		sync_note(s, "cannot write the status of a Job", err);
		s->ended = false;
		sync_end(s);
		return;
	}
	s->view.changed = false;
	note_written(s, answer);
	report_counts(s);
	s->after_write(s);
}

/* Writes the status if it has changed; then goes on. */
static void sync_write(struct job_sync *s, void (*next)(struct job_sync *s))
{
	if (!s->view.changed) {
		next(s);
		return;
	}
	s->after_write = next;
	s->work.request.on_done = on_status;
	client_update_status(s->owner->ctx.client, &s->work.request, &s->owner->jobs.resource,
			     s->ns, s->name, s->job);
}

static void on_last_write(struct job_sync *s)
{
	if (s->ended)
		report_end(s);
	sync_end(s);
}

/* Finalizers are gone: the uids become numbers. */
static void sync_count(struct job_sync *s)
{
	struct job_view *v = &s->view;

	v->changed |= job_count(v);
	if (!s->batch_failed && job_enact(v)) {
		s->ended = true;
		v->changed = true;
	}
	sync_write(s, on_last_write);
}

/* --- batches --------------------------------------------------------------------------------- */

static void sync_batch(struct job_sync *s, struct batch_item *items,
		       void (*ended)(struct batch *b, struct batch_item *it,
				     const struct client_answer *answer),
		       void (*done)(struct batch *b, const struct error *err))
{
	s->batch = (struct batch){ .ctx = &s->owner->ctx,
				   .resource = &s->owner->pods.resource,
				   .ns = s->ns,
				   .about = sync_about(s),
				   .arena = &s->work.arena,
				   .items = items,
				   .ended = ended,
				   .done = done,
				   .arg = s };
	batch_start(&s->batch);
}

static struct batch_item *item_of(struct job_sync *s, enum batch_verb verb, struct job_pod *p,
				  struct batch_item *next)
{
	struct batch_item *it = ARENA_NEW(&s->work.arena, struct batch_item);

	*it = (struct batch_item){
		.verb = verb, .name = p->name, .uid = p->uid, .arg = p, .next = next
	};
	if (verb == BATCH_PATCH)
		it->body = job_pod_release_patch(&s->work.arena, p->uid);
	return it;
}

static struct batch_item *items_of(struct job_sync *s, enum batch_verb verb, struct job_pod **pods,
				   size_t n)
{
	struct batch_item *items = NULL;

	while (n-- > 0)
		items = item_of(s, verb, pods[n], items);
	return items;
}

/* Whether the cache still has this pod, whose end it will then show. */
static bool cache_has(const struct job_sync *s, const struct batch_item *it)
{
	const struct cached *o = cache_get_in(informer_cache(s->owner->pods.informer), s->ns,
					      it->name);

	return o && str_eq(o->uid, it->uid);
}

static bool is_gone(const struct batch_item *it)
{
	return it->fate == BATCH_FAILED && it->error.code == ERR_NOT_FOUND;
}

/* --- finalizers ------------------------------------------------------------------------------ */

/*
 * If the answer was lost, the pod is not expected to lose its finalizer. Its uid is in the status,
 * so trying again counts nothing twice.
 */
static void on_released(struct batch *b, struct batch_item *it,
			const struct client_answer *answer UNUSED)
{
	struct job_sync *s = b->arg;
	struct job_pod *p = it->arg;

	if (it->fate == BATCH_DONE || is_gone(it))
		p->held = false;
	else
		s->batch_failed = true;
	if (it->fate != BATCH_DONE && !(is_gone(it) && cache_has(s, it)))
		expectations_deleted(&s->owner->finalizers, s->who.uid, it->uid);
	if (it->fate != BATCH_DONE && !is_gone(it))
		sync_note(s, "cannot remove a finalizer", &it->error);
}

static void on_all_released(struct batch *b, const struct error *err UNUSED)
{
	sync_count(b->arg);
}

static void sync_release(struct job_sync *s)
{
	struct job_view *v = &s->view;

	if (v->nrelease == 0) {
		sync_count(s);
		return;
	}
	for (size_t i = 0; i < v->nrelease; i++)
		expectations_add_deleted(&s->owner->finalizers, s->who.uid, v->release[i]->uid);
	sync_batch(s, items_of(s, BATCH_PATCH, v->release, v->nrelease), on_released,
		   on_all_released);
}

/* --- after the pods -------------------------------------------------------------------------- */

static void sync_settle(struct job_sync *s)
{
	struct job_view *v = &s->view;

	s->before = (struct counters){ json_i64_at(v->status, "succeeded", 0),
				       json_i64_at(v->status, "failed", 0) };
	job_settle(v);
	if (v->event)
		sync_event(s, RECORDER_NORMAL, v->event,
			   v->spec.suspended ? STR("Job suspended") : STR("Job resumed"));
	job_track(v);
	sync_write(s, sync_release);
}

static void on_batch_done(struct batch *b, const struct error *err)
{
	struct job_sync *s = b->arg;

	if (err)
		sync_note(s, "cannot create or delete pods of a Job", err);
	sync_settle(s);
}

/* --- deleting -------------------------------------------------------------------------------- */

static void on_deleted(struct batch *b, struct batch_item *it,
		       const struct client_answer *answer UNUSED)
{
	struct job_sync *s = b->arg;
	const struct job_pod *p = it->arg;

	if (it->fate != BATCH_DONE) {
		expectations_deleted(&s->owner->expected, s->who.uid, it->uid);
		return;
	}
	if (!cache_has(s, it))
		expectations_deleted(&s->owner->expected, s->who.uid, it->uid);
	s->view.active--;
	s->view.terminating++;
	s->view.ready -= p->ready;
}

/* The Job ends. The finalizers stay until the pods are counted. */
static void delete_active(struct job_sync *s)
{
	struct job_view *v = &s->view;
	struct batch_item *items = NULL;

	for (size_t i = v->n; i-- > 0;) {
		if (v->pods[i].active)
			items = item_of(s, BATCH_DELETE, &v->pods[i], items);
	}
	if (items)
		sync_batch(s, items, on_deleted, on_batch_done);
	else
		sync_settle(s);
}

static void on_unheld(struct batch *b, struct batch_item *it,
		      const struct client_answer *answer UNUSED)
{
	struct job_sync *s = b->arg;
	struct job_pod *p = it->arg;

	if (it->fate == BATCH_DONE || is_gone(it)) {
		p->held = false;
		return;
	}
	expectations_deleted(&s->owner->finalizers, s->who.uid, it->uid);
	expectations_deleted(&s->owner->expected, s->who.uid, it->uid);
}

static void on_all_unheld(struct batch *b, const struct error *err)
{
	struct job_sync *s = b->arg;
	struct job_view *v = &s->view;
	struct batch_item *items = NULL;

	if (err && err->code == ERR_CONFLICT)
		s->again = true; /* the pod has changed: look at it again */
	else if (err && err->code != ERR_NOT_FOUND)
		sync_note(s, "cannot remove a finalizer", err);
	for (size_t i = v->nremoved; i-- > 0;) {
		if (!v->removed[i]->held)
			items = item_of(s, BATCH_DELETE, v->removed[i], items);
	}
	sync_batch(s, items, on_deleted, on_batch_done);
}

/*
 * The pod loses its finalizer as we know it: one that has ended meanwhile is counted first. In
 * upstream the patch names no version, so the end of such a pod may be lost.
 */
static struct batch_item *unheld_item_of(struct job_sync *s, struct job_pod *p,
					 struct batch_item *next)
{
	struct batch_item *it = item_of(s, BATCH_PATCH, p, next);
	struct str version = str_from(
		arena_printf(&s->work.arena, "%llu", (unsigned long long)p->object->revision));

	json_put_str(&s->work.arena, json_getz(it->body, "metadata"), "resourceVersion", version);
	return it;
}

/* Too many pods: they end uncounted. */
static void delete_surplus(struct job_sync *s)
{
	struct job_view *v = &s->view;
	struct str *uids = ARENA_ARRAY(&s->work.arena, struct str, v->nremoved);
	struct batch_item *items = NULL;

	for (size_t i = v->nremoved; i-- > 0;) {
		uids[i] = v->removed[i]->uid;
		if (!v->removed[i]->held)
			continue;
		items = unheld_item_of(s, v->removed[i], items);
		expectations_add_deleted(&s->owner->finalizers, s->who.uid, uids[i]);
	}
	s->action = "pods_deleted";
	expectations_set(&s->owner->expected, s->who.uid, 0, uids, v->nremoved,
			 loop_now(s->owner->ctx.loop));
	sync_batch(s, items, on_unheld, on_all_unheld);
}

/* --- creating -------------------------------------------------------------------------------- */

static void on_created(struct batch *b, struct batch_item *it,
		       const struct client_answer *answer UNUSED)
{
	struct job_sync *s = b->arg;

	if (it->fate == BATCH_DONE)
		return;
	s->view.active--;
	/* In a namespace that is being deleted nothing is tried again soon. */
	if (!b->terminating)
		expectations_created(&s->owner->expected, s->who.uid);
}

static void create_missing(struct job_sync *s)
{
	struct job_view *v = &s->view;
	struct batch_item *items = NULL;

	for (size_t i = v->created; i-- > 0;) {
		struct batch_item *it = ARENA_NEW(&s->work.arena, struct batch_item);
		int64_t index = v->indexes ? v->indexes[i] : JOB_UNKNOWN_INDEX;

		it->verb = BATCH_CREATE;
		it->body = job_pod_make(&s->work.arena, &v->spec, &s->who, index,
					v->spec.per_index ? job_view_replaced(v, index) : NULL);
		it->next = items;
		items = it;
	}
	s->action = "pods_created";
	v->active += (int64_t)v->created;
	expectations_set(&s->owner->expected, s->who.uid, v->created, NULL, 0,
			 loop_now(s->owner->ctx.loop));
	sync_batch(s, items, on_created, on_batch_done);
}

/* --- the view -------------------------------------------------------------------------------- */

/*
 * The newest version of a claimed pod, or NULL if it is gone. A pod that was just adopted has the
 * finalizer, though the cache does not show it yet.
 */
static bool read_pod(struct job_sync *s, size_t i, struct arena *scratch, struct job_pod *ret_pod)
{
	const struct cache *cache = informer_cache(s->owner->pods.informer);
	struct cached **slot = &s->claim.owned.v[i], *o = cache_get(cache, (*slot)->key);
	struct json *tree;
	bool adopted;

	if (!o || !str_eq(o->uid, (*slot)->uid) || cached_tree(o, scratch, &tree, NULL) < 0)
		return false;
	cached_ref(o);
	cached_unref(*slot);
	*slot = o;
	adopted = owned_ref_of(o, scratch).uid.n == 0;
	*ret_pod = job_pod_read(&s->work.arena, &s->view.spec, tree);
	ret_pod->object = o;
	ret_pod->uid = o->uid;
	ret_pod->name = cached_name(o);
	ret_pod->finalizer |= adopted;
	ret_pod->held = ret_pod->finalizer &&
			!expectations_deleting(&s->owner->finalizers, s->who.uid, o->uid);
	return true;
}

static void sync_view(struct job_sync *s)
{
	struct job_controller *c = s->owner;
	const struct job_record *record = job_controller_record(c, s->who.uid, false);
	struct job_view *v = &s->view;
	struct arena scratch;

	arena_init(&scratch, REQUEST_WORK_MAX);
	v->pods = ARENA_ARRAY(&s->work.arena, struct job_pod, s->claim.owned.n);
	for (size_t i = 0; i < s->claim.owned.n; i++) {
		if (read_pod(s, i, &scratch, &v->pods[v->n]))
			v->n++;
		arena_clear(&scratch);
	}
	arena_release(&scratch);
	v->expected = expectations_met(&c->expected, s->who.uid, loop_now(c->ctx.loop));
	if (record)
		v->backoff = record->backoff;
	job_view_pods(v);
	job_assess(v);
	job_manage(v);
}

static void on_claimed(struct owned_claim *claim, const struct error *err)
{
	struct job_sync *s = claim->arg;
	struct job_view *v = &s->view;

	s->action = "reconciling";
	if (err) {
		sync_note(s, "cannot claim the pods of a Job", err);
		sync_end(s);
		return;
	}
	sync_view(s);
	if (v->managed)
		s->action = "tracking";
	if (v->end.type)
		delete_active(s);
	else if (v->nremoved > 0)
		delete_surplus(s);
	else if (v->created > 0)
		create_missing(s);
	else
		sync_settle(s);
}

/* --- the beginning --------------------------------------------------------------------------- */

/* Whether the cache has not yet seen our last write for this Job. */
static bool is_behind(struct job_sync *s, const struct cached *o)
{
	const struct job_record *record = job_controller_record(s->owner, o->uid, false);

	return record && o->revision < record->written;
}

static void sync_claim(struct job_sync *s, const struct cached *o)
{
	const struct json *selector = json_getz(json_getz(s->job, "spec"), "selector");

	s->selector = selector_of_tree(&s->work.arena, selector);
	s->who = (struct owner){ .resource = s->owner->jobs.resource,
				 .api_version = STR("batch/v1"),
				 .kind = STR("Job"),
				 .ns = s->ns,
				 .name = s->name,
				 .uid = o->uid,
				 .selector = &s->selector,
				 .deleting = o->deleting };
	s->claim.ctx = &s->owner->ctx;
	s->claim.owner = &s->who;
	s->claim.cache = informer_cache(s->owner->pods.informer);
	s->claim.resource = &s->owner->pods.resource;
	s->claim.finalizer = STR(JOB_FINALIZER);
	s->claim.arena = &s->work.arena;
	s->claim.done = on_claimed;
	s->claim.arg = s;
	owned_claim(&s->claim);
}

/* Whether there is anything to do for the Job. */
static bool sync_concerns(struct job_sync *s, struct cached *o)
{
	if (cached_tree_held(o, &s->work.arena, &s->job, NULL) < 0 || job_spec_foreign(s->job))
		return false;
	if (job_status_finished(s->job)) {
		job_controller_drop_record(s->owner, o->uid);
		return false;
	}
	if (is_behind(s, o)) {
		workqueue_add_after(s->owner->queue, s->work.key, BEHIND_MS);
		return false;
	}
	job_view_init(&s->view, &s->work.arena, s->job, clock_wall(loop_clock(s->owner->ctx.loop)));
	s->who.uid = o->uid;
	if (s->view.spec.bad_mode)
		sync_event(s, RECORDER_WARNING, "UnknownCompletionMode",
			   STR("Skipped Job sync because completion mode is unknown"));
	/* The server requires a selector; an empty one would take every pod. */
	return !s->view.spec.bad_mode &&
	       json_count(json_getz(json_getz(s->job, "spec"), "selector")) > 0;
}

void job_sync_handle(void *arg, struct str key)
{
	struct job_controller *c = arg;
	struct cached *o = cache_get(informer_cache(c->jobs.informer), key);
	struct job_sync *s;

	if (!o) {
		workqueue_finish(c->queue, key, false);
		return;
	}
	s = work_new(&c->syncs, sizeof(*s), key);
	s->owner = c;
	s->ns = cached_ns(o);
	s->name = cached_name(o);
	map_init(&s->view.by_uid);
	if (sync_concerns(s, o))
		sync_claim(s, o);
	else
		sync_end(s);
}
