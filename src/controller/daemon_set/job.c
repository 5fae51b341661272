/*
 * One DaemonSet at a time: its pods and revisions are claimed, the current revision is found or
 * made, pods are created and deleted, old ones replaced, old revisions deleted, and the status is
 * written. Texts of the book are copied before the job waits for a reply.
 */
#include "base/core/mem.h"
#include "base/report/log.h"
#include "client/events/recorder.h"
#include "client/work/workqueue.h"
#include "controller/daemon_set/daemon_sets_impl.h"

enum {
	BURST = 250, /* pods to create, and to delete, in one sync: as upstream */
	LOOK_AGAIN_MS = 1000, /* after an adoption, in case no event comes */
	SKEW_MS = 1000, /* added to waits for minReadySeconds, for clocks that differ */
};

/* --- ends ------------------------------------------------------------------------------------ */

void daemon_job_release(struct work *w)
{
	struct daemon_job *j = CONTAINER_OF(w, struct daemon_job, work);

	batch_release(&j->batch);
	owned_claim_release(&j->claim);
}

/* Conflicts are expected: the server was ahead of our copy. */
void daemon_job_fail(struct daemon_job *j, const struct error *err, const char *what)
{
	if (err->code != ERR_CONFLICT && err->code != ERR_CANCELED)
		log_warn(j->d->ctx.log, what, LOG_STR("daemonset", j->work.key), LOG_ERR(err));
	work_end(&j->work, true);
}

struct recorder_object daemon_job_about(const struct daemon_job *j)
{
	return owner_about(&j->owner,
			   json_text_at(json_getz(j->set, "metadata"), "resourceVersion"));
}

static void job_event(const struct daemon_job *j, enum recorder_type type, const char *reason,
		      struct str text)
{
	struct recorder_object about = daemon_job_about(j);

	recorder_event(j->d->ctx.recorder, &about, type, reason, text);
}

/* --- the status ------------------------------------------------------------------------------ */

static struct daemon_plan plan_of(struct daemon_job *j)
{
	struct daemon_place *places;
	struct daemon_plan p = { .arena = &j->work.arena,
				 .spec = &j->spec,
				 .revision = j->revision,
				 .now_ns = clock_wall(loop_clock(j->d->ctx.loop)) };

	p.nplaces = daemon_book_places(&j->d->book, &j->work.arena, j->owner.uid, &j->rules,
				       &places);
	p.places = places;
	return p;
}

/* Returns whether that is a change; an absent member is 0. */
static bool put_count(struct arena *a, struct json *status, const char *name, int64_t n)
{
	bool changed = json_i64_at(status, name, 0) != n;

	json_put_i64(a, status, name, n);
	return changed;
}

/* A copy of the DaemonSet with this status; NULL if it has it already. */
static struct json *with_status(struct daemon_job *j, const struct daemon_status *s)
{
	struct arena *a = &j->work.arena;
	int64_t generation = json_i64_at(json_getz(j->set, "metadata"), "generation", 0);
	struct json *copy, *status;
	bool changed = false;

	if (json_copy(a, j->set, &copy, NULL) < 0)
		return NULL;
	status = json_need_object(a, copy, "status");
	changed |= put_count(a, status, "desiredNumberScheduled", s->desired);
	changed |= put_count(a, status, "currentNumberScheduled", s->current);
	changed |= put_count(a, status, "numberMisscheduled", s->misscheduled);
	changed |= put_count(a, status, "numberReady", s->ready);
	changed |= put_count(a, status, "updatedNumberScheduled", s->updated);
	changed |= put_count(a, status, "numberAvailable", s->available);
	changed |= put_count(a, status, "numberUnavailable", s->unavailable);
	if (j->observed && json_i64_at(status, "observedGeneration", 0) < generation)
		changed |= put_count(a, status, "observedGeneration", generation);
	return changed ? copy : NULL;
}

static void on_status(struct client_request *r, const struct client_answer *answer UNUSED,
		      const struct error *err)
{
	struct daemon_job *j = r->arg;
	struct error first = j->first;

	if (first.code != ERR_OK)
		daemon_job_fail(j, &first, "cannot sync the daemon set");
	else if (err && err->code != ERR_NOT_FOUND)
		daemon_job_fail(j, err, "cannot write the daemon set's status");
	else
		work_end(&j->work, false);
}

static void job_status(struct daemon_job *j)
{
	struct daemon_plan p = plan_of(j);
	struct daemon_status s;
	struct json *changed;

	daemon_plan_status(&p, &s);
	if (s.wait_ns > 0)
		workqueue_add_after(j->d->queue, j->work.key, s.wait_ns / 1000000 + SKEW_MS);
	changed = with_status(j, &s);
	if (!changed) {
		on_status(&j->work.request, NULL, NULL);
		return;
	}
	j->work.request.on_done = on_status;
	client_update_status(j->d->ctx.client, &j->work.request, &j->d->sets.resource, j->owner.ns,
			     j->owner.name, changed);
}

/* --- writing pods ---------------------------------------------------------------------------- */

static void on_pod_written(struct batch *b, struct batch_item *it,
			   const struct client_answer *answer UNUSED)
{
	struct daemon_job *j = b->arg;
	struct expectations *e = &j->d->expectations;

	if (it->fate == BATCH_DONE && it->verb == BATCH_CREATE)
		return; /* the cache will show it */
	if (it->verb == BATCH_CREATE)
		expectations_created(e, j->work.key);
	else if (it->fate != BATCH_DONE || !answer || answer->status == 404)
		expectations_deleted(e, j->work.key, it->uid);
}

static void start_batch(struct daemon_job *j, struct batch_item *items);

static void batch_ended(struct batch *b, const struct error *err)
{
	struct daemon_job *j = b->arg;

	if (err && j->first.code == ERR_OK)
		(void)error_copy(&j->first, err);
	if (j->deletions)
		start_batch(j, TAKE(j->deletions));
	else
		j->next(j);
}

static void start_batch(struct daemon_job *j, struct batch_item *items)
{
	j->batch = (struct batch){ .ctx = &j->d->ctx,
				   .resource = &j->d->pods.resource,
				   .ns = j->owner.ns,
				   .about = daemon_job_about(j),
				   .arena = &j->work.arena,
				   .items = items,
				   .ended = on_pod_written,
				   .done = batch_ended,
				   .arg = j };
	batch_start(&j->batch);
}

/* Not the name of a failed pod: who waits until that is gone would see its successor. */
static unsigned first_attempt(const struct daemon_job *j, struct str node)
{
	const struct daemon_entry *e = daemon_entry_of(j->d, j->work.key, j->owner.uid);

	return e ? daemon_backoff_count(&e->backoff, node) : 0;
}

static struct batch_item *creation_of(struct daemon_job *j, const struct daemon_place *place)
{
	struct arena *a = &j->work.arena;
	const struct cache *pods = informer_cache(j->d->pods.informer);
	const struct json *template = json_getz(json_getz(j->set, "spec"), "template");
	struct str node = arena_str(a, place->node), name;
	struct batch_item *it = ARENA_NEW(a, struct batch_item);
	unsigned attempt = first_attempt(j, node);

	do
		name = daemon_pod_name(a, &j->owner, node, j->revision, attempt++);
	while (cache_get_in(pods, j->owner.ns, name));
	it->verb = BATCH_CREATE;
	it->body = daemon_pod_make(a, template, &j->owner, node, j->revision);
	json_put_str(a, json_getz(it->body, "metadata"), "name", name);
	return it;
}

static struct batch_item *deletion_of(struct daemon_job *j, const struct daemon_deletion *d)
{
	struct batch_item *it = ARENA_NEW(&j->work.arena, struct batch_item);

	it->verb = BATCH_DELETE;
	it->name = arena_str(&j->work.arena, d->pod->name);
	it->uid = arena_str(&j->work.arena, d->pod->uid);
	return it;
}

static void tell_reason(const struct daemon_job *j, const struct daemon_deletion *d)
{
	bool failed = d->reason == DAEMON_FAILED;
	char text[1024];

	if (d->reason == DAEMON_REPLACED)
		return;
	(void)snprintf(text, sizeof(text),
		       "Found %s daemon pod %.*s/%.*s on node %.*s, will try to %s it",
		       failed ? "failed" : "succeeded", STR_ARG(j->owner.ns), STR_ARG(d->pod->name),
		       STR_ARG(d->pod->node), failed ? "kill" : "delete");
	job_event(j, failed ? RECORDER_WARNING : RECORDER_NORMAL,
		  failed ? "FailedDaemonPod" : "SucceededDaemonPod", str_from(text));
}

/* Creates, then deletes, then calls `next`; at once if there is nothing to do. */
static void job_execute(struct daemon_job *j, const struct daemon_plan *p,
			void (*next)(struct daemon_job *j))
{
	size_t creations = MIN(p->ncreations, (size_t)BURST);
	size_t deletions = MIN(p->ndeletions, (size_t)BURST);
	struct str *uids = ARENA_ARRAY(&j->work.arena, struct str, deletions);
	struct batch_item *first = NULL, **last = &first;

	if (creations + deletions == 0) {
		next(j);
		return;
	}
	for (size_t i = 0; i < creations; i++, last = &(*last)->next)
		*last = creation_of(j, p->creations[i]);
	last = &j->deletions;
	for (size_t i = 0; i < deletions; i++, last = &(*last)->next) {
		tell_reason(j, &p->deletions[i]);
		*last = deletion_of(j, &p->deletions[i]);
		uids[i] = (*last)->uid;
	}
	expectations_set(&j->d->expectations, j->work.key, creations, uids, deletions,
			 loop_now(j->d->ctx.loop));
	j->next = next;
	start_batch(j, first ? first : TAKE(j->deletions));
}

/* --- acting ---------------------------------------------------------------------------------- */

static bool job_settled(const struct daemon_job *j)
{
	return expectations_met(&j->d->expectations, j->work.key, loop_now(j->d->ctx.loop));
}

static void after_roll(struct daemon_job *j)
{
	j->next = job_status;
	if (j->first.code != ERR_OK)
		job_status(j);
	else
		daemon_job_cleanup(j);
}

static void after_manage(struct daemon_job *j)
{
	struct daemon_plan p;

	if (j->first.code != ERR_OK || !job_settled(j)) {
		after_roll(j);
		return;
	}
	p = plan_of(j);
	daemon_plan_roll(&p);
	job_execute(j, &p, after_roll);
}

void daemon_job_act(struct daemon_job *j)
{
	struct daemon_entry *e = daemon_entry_of(j->d, j->work.key, j->owner.uid);
	struct daemon_plan p;

	if (!e) {
		work_end(&j->work, false);
		return;
	}
	if (!job_settled(j)) {
		job_status(j);
		return;
	}
	j->observed = true;
	p = plan_of(j);
	daemon_plan_manage(&p, &e->backoff, loop_now(j->d->ctx.loop));
	if (p.wait_ms > 0)
		workqueue_add_after(j->d->queue, j->work.key, p.wait_ms);
	job_execute(j, &p, after_manage);
}

/* --- beginning ------------------------------------------------------------------------------- */

/* An adopted pod is in the book when the cache shows it; an event then brings the next sync. */
static void on_pods_claimed(struct owned_claim *c, const struct error *err)
{
	struct daemon_job *j = c->arg;
	struct daemon_entry *e = daemon_entry_of(j->d, j->work.key, j->owner.uid);
	bool moved = c->adopt.n + c->release.n > 0;

	if (err && e)
		e->claim = true;
	if (err) {
		daemon_job_fail(j, err, "cannot claim pods");
	} else if (moved) {
		workqueue_add_after(j->d->queue, j->work.key, LOOK_AGAIN_MS);
		work_end(&j->work, false);
	} else {
		owned_claim_release(c);
		daemon_job_history(j);
	}
}

static void claim_pods(struct daemon_job *j)
{
	j->claim = (struct owned_claim){ .ctx = &j->d->ctx,
					 .owner = &j->owner,
					 .cache = informer_cache(j->d->pods.informer),
					 .resource = &j->d->pods.resource,
					 .arena = &j->work.arena,
					 .done = on_pods_claimed,
					 .arg = j };
	owned_claim(&j->claim);
}

static void job_read(struct daemon_job *j)
{
	const struct json *meta = json_getz(j->set, "metadata");
	const struct json *spec = json_getz(j->set, "spec");

	j->selector = selector_of_tree(&j->work.arena, json_getz(spec, "selector"));
	j->owner = (struct owner){ .resource = j->d->sets.resource,
				   .api_version = STR("apps/v1"),
				   .kind = STR("DaemonSet"),
				   .ns = json_text_at(meta, "namespace"),
				   .name = json_text_at(meta, "name"),
				   .uid = json_text_at(meta, "uid"),
				   .selector = &j->selector };
	daemon_spec_read(spec, &j->spec);
	daemon_rules_read(&j->work.arena, json_getz(spec, "template"), &j->rules);
}

static struct daemon_job *daemon_job_new(struct daemon_sets *d, struct str key)
{
	struct daemon_job *j = work_new(&d->jobs, sizeof(*j), key);

	j->d = d;
	j->next = job_status;
	return j;
}

static struct str label_in(const void *labels, struct str key)
{
	return json_str(json_get(labels, key));
}

/* The server makes sure of that. Otherwise each new pod would be released at once, without end. */
static bool selects_own_pods(const struct daemon_job *j)
{
	const struct json *template = json_getz(json_getz(j->set, "spec"), "template");

	return selector_matches(&j->selector, label_in,
				json_getz(json_getz(template, "metadata"), "labels"));
}

void daemon_sets_handle(void *arg, struct str key)
{
	struct daemon_sets *d = arg;
	struct cached *o = cache_get(informer_cache(d->sets.informer), key);
	struct daemon_entry *e = o ? daemon_entry_of(d, key, o->uid) : NULL;
	struct daemon_job *j;

	if (!e || o->deleting) {
		workqueue_finish(d->queue, key, false);
		return;
	}
	j = daemon_job_new(d, key);
	if (cached_tree_held(o, &j->work.arena, &j->set, NULL) < 0) {
		work_end(&j->work, false);
		return;
	}
	job_read(j);
	if (j->selector.n == 0) {
		job_event(j, RECORDER_WARNING, "SelectingAll",
			  STR("This daemon set is selecting all pods. A non-empty selector is "
			      "required."));
		work_end(&j->work, false);
	} else if (!selects_own_pods(j)) {
		work_end(&j->work, false);
	} else if (e->claim) {
		e->claim = false;
		claim_pods(j);
	} else {
		daemon_job_history(j);
	}
}
