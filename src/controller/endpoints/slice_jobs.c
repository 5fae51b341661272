/*
 * A job lives from the queue's call to its last reply; its arena has the plan.
 */
#include "controller/endpoints/slice_jobs.h"

#include "api/api_limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "client/api/client.h"
#include "client/events/recorder.h"
#include "client/work/workqueue.h"
#include "client/informer/informer.h"
#include "controller/endpoints/slices.h"
#include "controller/shared/context.h"

enum { BEHIND_MS = 1000 }; /* check again, in case the informer's event never comes */

/* The write that the informer must have seen before a Service is checked again. */
struct written {
	uint64_t revision;
	char key[];
};

struct job {
	struct list link;
	struct slice_jobs *owner;
	struct str key; /* borrowed from the queue until it is done */
	struct arena arena;
	struct network_write *writes; /* the first is under way */
	bool again; /* the plan asked for that */
	struct client_request request;
};

/* --- our own writes -------------------------------------------------------------------------- */

static void note_written(struct slice_jobs *s, struct str key, uint64_t revision)
{
	struct written *w = omap_get(&s->written, key);

	if (!w) {
		w = xmalloc(sizeof(*w) + key.n);
		*w = (struct written){ 0 };
		str_put(w->key, key);
		(void)omap_put(&s->written, str_of(w->key, key.n), w);
	}
	w->revision = MAX(w->revision, revision);
}

/* Whether the informer has not yet seen our last write for this Service. */
static bool is_behind(struct slice_jobs *s, struct str key)
{
	struct written *w = omap_get(&s->written, key);
	uint64_t seen = 0;

	if (!w)
		return false;
	(void)str_to_u64(informer_resource_version(s->slices), &seen);
	if (seen < w->revision)
		return true;
	(void)omap_remove(&s->written, key);
	free(w);
	return false;
}

/* --- deciding -------------------------------------------------------------------------------- */

/* Our slices of the Service, in the job's arena. */
static size_t read_slices(struct job *j, struct json ***ret_slices)
{
	const struct cache *cache = informer_cache(j->owner->slices);
	struct cache_walk walk = { 0 };
	struct json **slices;
	struct cached *o;
	size_t n = 0, room = 0;

	while (cache_next_by(cache, "service", j->key, &walk))
		room++;
	slices = ARENA_ARRAY(&j->arena, struct json *, room);
	walk = (struct cache_walk){ 0 };
	while ((o = cache_next_by(cache, "service", j->key, &walk))) {
		if (cached_tree_held(o, &j->arena, &slices[n], NULL) == 0)
			n++;
	}
	*ret_slices = slices;
	return n;
}

struct network_write *slice_jobs_delete(struct arena *a, struct json **slices, size_t n)
{
	struct network_write *first = NULL, **last = &first;

	for (size_t i = 0; i < n; i++) {
		struct network_write *w = ARENA_NEW(a, struct network_write);

		*w = (struct network_write){ .verb = NETWORK_DELETE, .slice = slices[i] };
		*last = w;
		last = &w->next;
	}
	return first;
}

void slice_jobs_tell(struct slice_jobs *s, struct str key, const char *reason, struct str text)
{
	const struct cached *o = cache_get(informer_cache(s->services), key);
	struct recorder_object about;

	if (!o || !s->ctx->recorder)
		return;
	about = (struct recorder_object){ .api_version = STR("v1"),
					  .kind = STR("Service"),
					  .ns = cached_ns(o),
					  .name = cached_name(o),
					  .uid = o->uid,
					  .resource_version = o->resource_version };
	recorder_event(s->ctx->recorder, &about, RECORDER_WARNING, reason, text);
}

/* --- writing --------------------------------------------------------------------------------- */

static void endpoints_job_free(struct job *j)
{
	list_remove(&j->link);
	client_cancel(&j->request);
	arena_release(&j->arena);
	free(j);
}

static void job_end(struct job *j, bool again)
{
	struct workqueue *queue = j->owner->queue;
	struct str key = j->key;

	endpoints_job_free(j);
	workqueue_finish(queue, key, again);
}

static void write_next(struct job *j)
{
	const struct network_write *w = j->writes;
	struct client *c = j->owner->ctx->client;
	const struct resource *slices = j->owner->resource;
	const struct json *meta = json_getz(w ? w->slice : NULL, "metadata");
	struct str ns = json_text_at(meta, "namespace"), name = json_text_at(meta, "name");

	if (!w)
		job_end(j, j->again);
	else if (w->verb == NETWORK_CREATE)
		client_create(c, &j->request, slices, ns, w->slice);
	else if (w->verb == NETWORK_UPDATE)
		client_update(c, &j->request, slices, ns, name, w->slice);
	else
		client_delete(c, &j->request, slices, ns, name,
			      &(struct client_delete_opts){ .uid = json_text_at(meta, "uid") });
}

/* The object is gone, or its namespace is being deleted. */
static bool is_harmless(enum network_verb verb, const struct client_answer *answer,
			const struct error *err)
{
	return (err->code == ERR_NOT_FOUND && verb != NETWORK_UPDATE) ||
	       (err->code == ERR_CONFLICT && verb == NETWORK_DELETE) ||
	       client_answer_has_cause(answer, STR("NamespaceTerminating"));
}

/* Conflicts are expected: the server was ahead of our copy. */
static void job_fail(struct job *j, const struct error *err)
{
	struct slice_jobs *s = j->owner;
	char text[sizeof(err->msg) + 64];

	if (err->code != ERR_CONFLICT && err->code != ERR_NOT_FOUND) {
		(void)snprintf(text, sizeof(text), "%s: %s", s->failure, err->msg);
		log_warn(s->ctx->log, "cannot write endpoint slices", LOG_STR("service", j->key),
			 LOG_ERR(err));
		slice_jobs_tell(s, j->key, "FailedToUpdateEndpointSlices", str_from(text));
	}
	job_end(j, true);
}

static void job_on_written(struct client_request *r, const struct client_answer *a,
			   const struct error *err)
{
	struct job *j = r->arg;
	struct json *slice;
	uint64_t revision = 0;

	if (err && !is_harmless(j->writes->verb, a, err)) {
		job_fail(j, err);
		return;
	}
	if (!err && j->writes->verb != NETWORK_DELETE &&
	    client_answer_tree(a, &j->arena, &slice, NULL) == 0 &&
	    str_to_u64(json_text_at(json_getz(slice, "metadata"), "resourceVersion"), &revision))
		note_written(j->owner, j->key, revision);
	j->writes = j->writes->next;
	write_next(j);
}

void slice_jobs_handle(struct slice_jobs *s, struct str key)
{
	struct json **slices;
	struct job *j;
	size_t n;

	if (is_behind(s, key)) {
		workqueue_add_after(s->queue, key, BEHIND_MS);
		workqueue_finish(s->queue, key, false);
		return;
	}
	j = XNEW(struct job);
	j->owner = s;
	j->key = key;
	j->request.arg = j;
	j->request.on_done = job_on_written;
	arena_init(&j->arena, REQUEST_WORK_MAX);
	list_push_back(&s->jobs, &j->link);
	n = read_slices(j, &slices);
	j->writes = s->plan(s, key, &j->arena, slices, n, &j->again);
	write_next(j);
}

void slice_jobs_init(struct slice_jobs *s)
{
	list_init(&s->jobs);
	omap_init(&s->written);
}

void slice_jobs_release(struct slice_jobs *s)
{
	struct omap_cursor c;

	LIST_FOREACH_SAFE (l, &s->jobs)
		endpoints_job_free(LIST_ENTRY(l, struct job, link));
	for (bool ok = omap_first(&s->written, &c); ok; ok = omap_next(&c))
		free(omap_value(&c));
	omap_release(&s->written);
}
