/*
 * The queue's delays are the timers. A Job that is due is read from the server first, because the
 * cache may be behind.
 */
#include "controller/ttl/ttl_controller.h"

#include "api/api_limits.h"
#include "base/core/clock.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "client/informer/informer.h"
#include "client/work/workqueue.h"
#include "controller/shared/context.h"
#include "controller/shared/work.h"
#include "controller/ttl/decide.h"

enum { WORKERS = 5 /* as upstream's controller */ };

struct ttl_controller {
	struct context ctx;
	struct resource resource;
	struct informer *informer;
	struct informer_handler handler;
	struct workqueue *queue; /* keys of Jobs */
	struct works deletions;
	struct arena scratch; /* for one event */
};

static int64_t ttl_now(const struct ttl_controller *c)
{
	return clock_wall(loop_clock(c->ctx.loop));
}

/* --- deleting -------------------------------------------------------------------------------- */

static void deletion_fail(struct work *w, const struct error *err)
{
	bool gone = err->code == ERR_NOT_FOUND;

	if (!gone)
		log_debug(w->of->log, "cannot delete a finished Job", LOG_STR("job", w->key),
			  LOG_ERR(err));
	work_end(w, !gone);
}

static void on_deleted(struct client_request *r, const struct client_answer *answer UNUSED,
		       const struct error *err)
{
	struct work *w = r->arg;

	if (err)
		deletion_fail(w, err);
	else
		work_end(w, false);
}

/* Decides again on the newest version. Returns true if a request is under way. */
static bool delete_if_due(struct work *w, const struct json *job)
{
	struct ttl_controller *c = CONTAINER_OF(w->of, struct ttl_controller, deletions);
	const struct json *meta = json_getz(job, "metadata");
	int64_t left;

	if (!ttl_decide(job, ttl_now(c), &left))
		return false;
	if (left > 0) {
		workqueue_add_after(c->queue, w->key, left / CLOCK_MS + 1);
		return false;
	}
	w->request.on_done = on_deleted;
	client_delete(c->ctx.client, &w->request, &c->resource, json_text_at(meta, "namespace"),
		      json_text_at(meta, "name"),
		      &(struct client_delete_opts){
			      .uid = json_text_at(meta, "uid"),
			      .resource_version = json_text_at(meta, "resourceVersion"),
			      .propagation = "Foreground" });
	return true;
}

static void on_read(struct client_request *r, const struct client_answer *answer,
		    const struct error *err)
{
	struct work *w = r->arg;
	struct json *job;
	struct error bad;

	if (!err && client_answer_tree(answer, &w->arena, &job, &bad) < 0)
		err = &bad;
	if (err)
		deletion_fail(w, err);
	else if (!delete_if_due(w, job))
		work_end(w, false);
}

static void ttl_handle(void *arg, struct str key)
{
	struct ttl_controller *c = arg;
	struct cached *o = cache_get(informer_cache(c->informer), key);
	struct work *w;
	struct json *job;
	int64_t left = 0;
	bool due;

	due = o && cached_tree(o, &c->scratch, &job, NULL) == 0 &&
	      ttl_decide(job, ttl_now(c), &left);
	arena_clear(&c->scratch);
	if (!due || left > 0) {
		if (due)
			workqueue_add_after(c->queue, key, left / CLOCK_MS + 1);
		workqueue_finish(c->queue, key, false);
		return;
	}
	w = work_new(&c->deletions, sizeof(*w), key);
	w->request.on_done = on_read;
	client_get(c->ctx.client, &w->request, &c->resource, cached_ns(o), cached_name(o));
}

/* --- following ------------------------------------------------------------------------------- */

static bool has_ttl(const struct cached *o)
{
	return !o->deleting && cached_field(o, "spec.ttlSecondsAfterFinished", NULL).n > 0;
}

static void ttl_on_add(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct ttl_controller *c = CONTAINER_OF(h, struct ttl_controller, handler);

	if (has_ttl(o))
		workqueue_add(c->queue, o->key);
}

static void ttl_on_update(struct informer_handler *h, struct cached *old, struct cached *o)
{
	if (old != o)
		ttl_on_add(h, o, false);
}

struct ttl_controller *ttl_controller_new(const struct context *ctx)
{
	struct ttl_controller *c = XNEW(struct ttl_controller);

	c->ctx = *ctx;
	arena_init(&c->scratch, REQUEST_WORK_MAX);
	c->queue = workqueue_new(&(struct workqueue_opts){ .loop = ctx->loop,
							   .name = "ttl_jobs_to_delete",
							   .workers = WORKERS,
							   .handle = ttl_handle,
							   .arg = c,
							   .metrics = ctx->metrics });
	works_init(&c->deletions, c->queue, ctx->log, "job", NULL);
	c->resource = resource_builtin("batch", "v1", "jobs");
	c->handler = (struct informer_handler){ .on_add = ttl_on_add, .on_update = ttl_on_update };
	c->informer = informers_get(
		ctx->informers, &(struct informer_spec){ .resource = &c->resource, .slim = true });
	informer_add_handler(c->informer, &c->handler);
	return c;
}

void ttl_controller_free(struct ttl_controller *c)
{
	if (!c)
		return;
	informer_remove_handler(&c->handler);
	works_release(&c->deletions);
	workqueue_free(c->queue);
	arena_release(&c->scratch);
	free(c);
}
