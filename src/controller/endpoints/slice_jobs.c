/*
 * A job lives from the queue's call to its last reply; its arena has the plan.
 */
#include "controller/endpoints/slice_jobs.h"

#include "api/api_limits.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "client/events/recorder.h"
#include "client/work/workqueue.h"
#include "controller/endpoints/slices.h"
#include "controller/shared/context.h"

enum { BEHIND_MS = 1000 }; /* check again, in case the informer's event never comes */

#define BY_SERVICE "service" /* slices, by their manager and the key of their Service */

struct slice_job {
	struct work work;
	struct slice_jobs *owner;
	struct network_write *writes; /* the first is under way */
	bool again; /* the plan asked for that */
};

/* --- our slices ------------------------------------------------------------------------------ */

/* The key of the Service that a slice names; empty: none. */
static struct str service_of(const struct cached *slice, struct arena *a)
{
	struct str name = cached_label(slice, NETWORK_SERVICE_NAME_LABEL, a);

	if (name.n == 0)
		return STR_NULL;
	return str_from(arena_printf(a, "%.*s/%.*s", STR_ARG(cached_ns(slice)), STR_ARG(name)));
}

static struct str index_value(struct arena *a, struct str manager, struct str service)
{
	return str_from(arena_printf(a, "%.*s %.*s", STR_ARG(manager), STR_ARG(service)));
}

static void index_service(const struct cached *o, struct arena *a, struct cache_values *v)
{
	struct str key = service_of(o, a);

	if (key.n > 0)
		cache_values_add(v,
				 index_value(a, cached_label(o, NETWORK_MANAGED_BY_LABEL, a), key));
}

static void on_slice(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct slice_jobs *s = CONTAINER_OF(h, struct slice_jobs, slices.handler);
	struct str key = service_of(o, &s->scratch);

	if (key.n > 0 &&
	    str_eqz(cached_label(o, NETWORK_MANAGED_BY_LABEL, &s->scratch), s->manager))
		workqueue_add(s->queue, key);
	arena_clear(&s->scratch);
}

static void on_slice_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	on_slice(h, old, false);
	on_slice(h, o, false);
}

static void on_slice_delete(struct informer_handler *h, struct cached *last, bool unknown UNUSED)
{
	on_slice(h, last, false);
}

/* Whether the informer has not yet seen our last write for this Service. */
static bool is_behind(struct slice_jobs *s, struct str key)
{
	uint64_t seen = 0;

	(void)str_to_u64(informer_resource_version(s->slices.informer), &seen);
	return written_is_ahead(&s->written, key, seen);
}

/* --- deciding -------------------------------------------------------------------------------- */

/* Our slices of the Service, in the job's arena. */
static size_t read_slices(struct slice_job *j, struct json ***ret_slices)
{
	const struct cache *cache = informer_cache(j->owner->slices.informer);
	struct str value = index_value(&j->work.arena, str_from(j->owner->manager), j->work.key);
	struct cache_walk walk = { 0 };
	struct json **slices;
	struct cached *o;
	size_t n = 0, room = 0;

	while (cache_next_by(cache, BY_SERVICE, value, &walk))
		room++;
	slices = ARENA_ARRAY(&j->work.arena, struct json *, room);
	walk = (struct cache_walk){ 0 };
	while ((o = cache_next_by(cache, BY_SERVICE, value, &walk))) {
		if (cached_tree_held(o, &j->work.arena, &slices[n], NULL) == 0)
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

	if (!o)
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

static void write_next(struct slice_job *j)
{
	const struct network_write *w = j->writes;
	struct client *c = j->owner->ctx->client;
	const struct resource *slices = &j->owner->slices.resource;
	const struct json *meta = json_getz(w ? w->slice : NULL, "metadata");
	struct str ns = json_text_at(meta, "namespace"), name = json_text_at(meta, "name");

	if (!w)
		work_end(&j->work, j->again);
	else if (w->verb == NETWORK_CREATE)
		client_create(c, &j->work.request, slices, ns, w->slice);
	else if (w->verb == NETWORK_UPDATE)
		client_update(c, &j->work.request, slices, ns, name, w->slice);
	else
		client_delete(c, &j->work.request, slices, ns, name,
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
static void job_fail(struct slice_job *j, const struct error *err)
{
	struct slice_jobs *s = j->owner;
	char text[sizeof(err->msg) + 64];

	if (err->code != ERR_CONFLICT && err->code != ERR_NOT_FOUND) {
		(void)snprintf(text, sizeof(text), "%s: %s", s->failure, err->msg);
		log_warn(s->ctx->log, "cannot write endpoint slices",
			 LOG_STR("service", j->work.key), LOG_ERR(err));
		slice_jobs_tell(s, j->work.key, "FailedToUpdateEndpointSlices", str_from(text));
	}
	work_end(&j->work, true);
}

static void job_on_written(struct client_request *r, const struct client_answer *a,
			   const struct error *err)
{
	struct slice_job *j = r->arg;
	struct json *slice;

	if (err && !is_harmless(j->writes->verb, a, err)) {
		job_fail(j, err);
		return;
	}
	if (!err && j->writes->verb != NETWORK_DELETE &&
	    client_answer_tree(a, &j->work.arena, &slice, NULL) == 0)
		written_note(&j->owner->written, j->work.key, slice);
	j->writes = j->writes->next;
	write_next(j);
}

void slice_jobs_handle(struct slice_jobs *s, struct str key)
{
	struct slice_job *j;
	struct json **slices;
	size_t n;

	if (is_behind(s, key)) {
		workqueue_add_after(s->queue, key, BEHIND_MS);
		workqueue_finish(s->queue, key, false);
		return;
	}
	j = work_new(&s->works, sizeof(*j), key);
	j->owner = s;
	j->work.request.on_done = job_on_written;
	n = read_slices(j, &slices);
	j->writes = s->plan(s, key, &j->work.arena, slices, n, &j->again);
	write_next(j);
}

void slice_jobs_init(struct slice_jobs *s, struct following *f)
{
	static const struct cache_index by_service[] = {
		{ BY_SERVICE, index_service, NULL },
		{ 0 },
	};

	works_init(&s->works, s->queue, s->ctx->log, "service", NULL);
	written_init(&s->written);
	arena_init(&s->scratch, REQUEST_WORK_MAX);
	s->slices = (struct followed){
		.resource = resource_builtin("discovery.k8s.io", "v1", "endpointslices"),
		.label_selector = str_from(arena_printf(
			&s->scratch, "%.*s=%s", STR_ARG(NETWORK_MANAGED_BY_LABEL), s->manager)),
		.indexes = by_service,
		.handler = { .on_add = on_slice,
			     .on_update = on_slice_update,
			     .on_delete = on_slice_delete },
	};
	follow(f, &s->slices);
	arena_clear(&s->scratch);
}

void slice_jobs_release(struct slice_jobs *s)
{
	works_release(&s->works);
	written_release(&s->written);
	arena_release(&s->scratch);
}
