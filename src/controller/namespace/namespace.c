/*
 * A pass over one namespace is a job: a chain of requests, one resource after the other. It begins
 * with a live read and a discovery refresh; the informer only says which namespaces to check.
 */
#include "controller/namespace/namespace.h"

#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "base/time/timestamp.h"
#include "client/api/discovery.h"
#include "client/informer/informer.h"
#include "client/work/workqueue.h"
#include "controller/namespace/content.h"
#include "controller/namespace/status.h"
#include "controller/shared/context.h"
#include "controller/shared/served.h"
#include "controller/shared/work.h"

enum { BACKOFF_MAX_MS = 60 * 1000 };

struct namespaces {
	struct context ctx;
	struct namespaces_opts opts;
	struct resource resource;
	struct informer_handler handler;
	struct workqueue *queue;
	struct works jobs;
};

/* One resource to be emptied. */
struct target {
	struct resource resource;
	bool collection;
};

struct job {
	struct work work; /* its key is the namespace's name */
	struct namespaces *owner;
	void (*on_answer)(struct job *j, const struct client_answer *a, const struct error *err);
	struct served_wait wait;
	struct json *ns; /* the Namespace as last read or written */
	struct namespace_status status;
	struct namespace_content content;
	struct target *targets;
	size_t ntargets, at;
	int64_t estimate_s;
	bool incomplete; /* discovery was incomplete */
};

static void read_namespace(struct job *j);

/* --- a job's end ----------------------------------------------------------------------------- */

static void namespace_job_release(struct work *w)
{
	struct job *j = CONTAINER_OF(w, struct job, work);

	served_cancel(&j->wait);
	namespace_content_cancel(&j->content);
	namespace_status_release(&j->status);
}

static void job_fail(struct job *j, const struct error *err)
{
	log_warn(j->owner->ctx.log, "namespace is not empty yet", LOG_STR("namespace", j->work.key),
		 LOG_ERR(err));
	work_end(&j->work, true);
}

/* The rest disappears by itself: check again after half the estimated time. */
static void job_wait(struct job *j)
{
	struct namespaces *n = j->owner;

	log_info(n->ctx.log, "content remaining in namespace", LOG_STR("namespace", j->work.key),
		 LOG_INT("seconds", j->estimate_s));
	workqueue_add_after(n->queue, j->work.key, (j->estimate_s / 2 + 1) * 1000);
	work_end(&j->work, false);
}

static void namespace_on_done(struct client_request *r, const struct client_answer *a,
			      const struct error *err)
{
	struct job *j = r->arg;

	j->on_answer(j, a, err);
}

/* --- the last step --------------------------------------------------------------------------- */

static void on_finalized(struct job *j, const struct client_answer *a UNUSED,
			 const struct error *err)
{
	if (err && err->code == ERR_CONFLICT) {
		read_namespace(j);
		return;
	}
	if (err && err->code != ERR_NOT_FOUND) {
		job_fail(j, err);
		return;
	}
	log_info(j->owner->ctx.log, "namespace is emptied", LOG_STR("namespace", j->work.key));
	work_end(&j->work, false);
}

static void finalize(struct job *j)
{
	struct json *finalizers = json_getz(json_getz(j->ns, "spec"), "finalizers");

	JSON_FOREACH_SAFE (f, finalizers) {
		if (str_eq(json_str(f), STR("kubernetes")))
			(void)json_unlink(finalizers, f);
	}
	j->on_answer = on_finalized;
	j->work.request.method = STR("PUT");
	client_call(j->owner->ctx.client, &j->work.request, &j->owner->resource,
		    (struct resource_name){ .name = j->work.key, .subresource = STR("finalize") },
		    j->ns);
}

/* --- conditions ------------------------------------------------------------------------------ */

static void after_pass(struct job *j)
{
	struct error err;

	if (j->status.content_failures.n > 0)
		(void)error_set(&err, ERR_CONFLICT, "%.*s",
				STR_ARG(j->status.content_failures.v[0]));
	else if (j->incomplete)
		(void)error_set(&err, ERR_UNAVAILABLE, "%.*s",
				STR_ARG(j->status.discovery_failure));
	else if (j->estimate_s == 0) {
		finalize(j);
		return;
	} else {
		job_wait(j);
		return;
	}
	job_fail(j, &err);
}

/* A failed write of conditions does not stop the deletion. */
static void on_told(struct job *j, const struct client_answer *a, const struct error *err)
{
	struct json *ns;

	if (err && err->code == ERR_NOT_FOUND) {
		work_end(&j->work, false);
		return;
	}
	if (!err && client_answer_tree(a, &j->work.arena, &ns, NULL) == 0)
		j->ns = ns;
	after_pass(j);
}

static void end_pass(struct job *j)
{
	const struct clock *clock = loop_clock(j->owner->ctx.loop);

	if (!namespace_status_apply(&j->status, j->ns, clock_wall(clock))) {
		after_pass(j);
		return;
	}
	j->on_answer = on_told;
	client_update_status(j->owner->ctx.client, &j->work.request, &j->owner->resource, STR_NULL,
			     j->work.key, j->ns);
}

/* --- content --------------------------------------------------------------------------------- */

static void next_target(struct job *j);

static bool is_pods(const struct resource *r)
{
	return r->group.n == 0 && str_eq(r->resource, STR("pods"));
}

static void on_content(struct namespace_content *c, const struct error *err)
{
	struct job *j = c->arg;
	const struct target *t = &j->targets[j->at++];

	if (err)
		namespace_status_content_failed(&j->status, err->msg);
	j->estimate_s = MAX(j->estimate_s, c->estimate_s);
	/* Objects that pods use (claims, secrets, accounts) must stay until the pods have ended. */
	if (is_pods(&t->resource) && c->remaining > 0)
		j->at = j->ntargets;
	next_target(j);
}

static void next_target(struct job *j)
{
	const struct target *t = &j->targets[j->at];

	if (j->at == j->ntargets) {
		end_pass(j);
		return;
	}
	namespace_content_start(&j->content, &t->resource, t->collection);
}

/* In the order of discovery, but pods first. */
static void take_targets(struct job *j, const struct discovery *d)
{
	size_t n;
	const struct discovery_resource *all = discovery_resources(d, &n);

	j->targets = ARENA_ARRAY(&j->work.arena, struct target, n + 1);
	for (size_t i = 0; i < n; i++) {
		const struct discovery_resource *r = &all[i];
		bool collection = r->verbs & DISCOVERY_DELETE_COLLECTION;
		struct target t;

		if (!r->preferred || !r->resource.namespaced || !(r->verbs & DISCOVERY_DELETE) ||
		    !(r->verbs & (DISCOVERY_LIST | DISCOVERY_DELETE_COLLECTION)))
			continue;
		t = (struct target){ resource_copy(&j->work.arena, &r->resource), collection };
		j->targets[j->ntargets++] = t;
		if (is_pods(&t.resource)) {
			j->targets[j->ntargets - 1] = j->targets[0];
			j->targets[0] = t;
		}
	}
}

static void namespace_on_looked(struct served_wait *w, const struct error *err)
{
	struct job *j = CONTAINER_OF(w, struct job, wait);
	const struct discovery *d = served_discovery(j->owner->ctx.served);
	int64_t deleted_at = clock_wall(loop_clock(j->owner->ctx.loop));

	j->incomplete = err || discovery_incomplete(d);
	if (j->incomplete)
		namespace_status_discovery_failed(
			&j->status, err ? err->msg
					: "Discovery failed for some groups: their servers do not "
					  "answer");
	(void)timestamp_parse(json_text_at(json_getz(j->ns, "metadata"), "deletionTimestamp"),
			      &deleted_at, NULL);
	take_targets(j, d);
	j->content = (struct namespace_content){ .client = j->owner->ctx.client,
						 .ns = j->work.key,
						 .deleted_at_ns = deleted_at,
						 .status = &j->status,
						 .done = on_content,
						 .arg = j };
	next_target(j);
}

/* --- the beginning --------------------------------------------------------------------------- */

static void begin_pass(struct job *j)
{
	namespace_status_release(&j->status);
	namespace_status_init(&j->status, &j->work.arena);
	j->estimate_s = 0;
	j->at = j->ntargets = 0;
	j->wait.done = namespace_on_looked;
	served_look(j->owner->ctx.served, &j->wait);
}

static void on_marked(struct job *j, const struct client_answer *a, const struct error *err)
{
	struct error why;

	if (err && err->code == ERR_CONFLICT) {
		read_namespace(j);
		return;
	}
	if (!err && client_answer_tree(a, &j->work.arena, &j->ns, &why) < 0)
		err = &why;
	if (err && err->code == ERR_NOT_FOUND)
		work_end(&j->work, false);
	else if (err)
		job_fail(j, err);
	else
		begin_pass(j);
}

/* The server should set the phase; if it does not, we do. */
static void namespace_mark(struct job *j)
{
	struct json *status = json_getz(j->ns, "status");

	if (!json_is(status, JSON_OBJECT)) {
		status = json_make_object(&j->work.arena);
		json_setz(j->ns, "status", status);
	}
	json_put_str(&j->work.arena, status, "phase", STR("Terminating"));
	j->on_answer = on_marked;
	client_update_status(j->owner->ctx.client, &j->work.request, &j->owner->resource, STR_NULL,
			     j->work.key, j->ns);
}

static void namespace_on_read(struct job *j, const struct client_answer *a, const struct error *err)
{
	struct error why;

	if (!err && client_answer_tree(a, &j->work.arena, &j->ns, &why) < 0)
		err = &why;
	if (err && err->code != ERR_NOT_FOUND) {
		job_fail(j, err);
		return;
	}
	if (err || !json_getz(json_getz(j->ns, "metadata"), "deletionTimestamp") ||
	    !json_has_text(json_getz(json_getz(j->ns, "spec"), "finalizers"), STR("kubernetes"))) {
		work_end(&j->work, false);
		return;
	}
	if (str_eq(json_text_at(json_getz(j->ns, "status"), "phase"), STR("Terminating")))
		begin_pass(j);
	else
		namespace_mark(j);
}

static void read_namespace(struct job *j)
{
	j->on_answer = namespace_on_read;
	client_get(j->owner->ctx.client, &j->work.request, &j->owner->resource, STR_NULL,
		   j->work.key);
}

static void namespace_handle(void *arg, struct str key)
{
	struct namespaces *n = arg;
	struct job *j = work_new(&n->jobs, sizeof(*j), key);

	j->owner = n;
	j->work.request.on_done = namespace_on_done;
	namespace_status_init(&j->status, &j->work.arena);
	read_namespace(j);
}

/* --- which namespaces ------------------------------------------------------------------------ */

static void consider(struct namespaces *n, const struct cached *o)
{
	struct str finalizers = cached_field(o, "spec.finalizers", NULL);

	if (!o->deleting || str_find(finalizers, STR("\"kubernetes\"")) < 0)
		return;
	if (n->opts.delay_ms > 0)
		workqueue_add_after(n->queue, cached_name(o), n->opts.delay_ms);
	else
		workqueue_add(n->queue, cached_name(o));
}

static void namespace_on_add(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	consider(CONTAINER_OF(h, struct namespaces, handler), o);
}

static void namespace_on_update(struct informer_handler *h, struct cached *old UNUSED,
				struct cached *o)
{
	consider(CONTAINER_OF(h, struct namespaces, handler), o);
}

struct namespaces *namespaces_new(const struct context *ctx, const struct namespaces_opts *opts)
{
	struct namespaces *n = XNEW(struct namespaces);
	struct informer_spec spec = { .resource = &n->resource };

	n->ctx = *ctx;
	n->opts = *opts;
	if (n->opts.delay_ms == 0)
		n->opts.delay_ms = 5000;
	if (n->opts.resync_ms == 0)
		n->opts.resync_ms = 5 * 60 * 1000;
	n->resource = resource_builtin("", "v1", "namespaces");
	n->queue = workqueue_new(
		&(struct workqueue_opts){ .loop = ctx->loop,
					  .name = "namespace",
					  .workers = opts->workers ? opts->workers : 10,
					  .handle = namespace_handle,
					  .arg = n,
					  .backoff_max_ms = BACKOFF_MAX_MS,
					  .retries_per_s = -1,
					  .metrics = ctx->metrics });
	works_init(&n->jobs, n->queue, ctx->log, "namespace", namespace_job_release);
	n->handler = (struct informer_handler){ .on_add = namespace_on_add,
						.on_update = namespace_on_update,
						.resync_ms = n->opts.resync_ms };
	informer_add_handler(informers_get(ctx->informers, &spec), &n->handler);
	return n;
}

void namespaces_free(struct namespaces *n)
{
	if (!n)
		return;
	informer_remove_handler(&n->handler);
	works_release(&n->jobs);
	workqueue_free(n->queue);
	free(n);
}
