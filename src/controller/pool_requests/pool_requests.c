/*
 * One request at a time, as upstream: its spec is answered from the inventory, and the answer is
 * written with the version that was read, so that one of two controllers gets a conflict. Expired
 * requests are found in the informer's copy, and deleted one after the other.
 */
#include "controller/pool_requests/pool_requests.h"

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/json.h"
#include "base/report/log.h"
#include "base/time/timestamp.h"
#include "client/informer/informer.h"
#include "client/work/workqueue.h"
#include "controller/devices/devices.h"
#include "controller/pool_requests/metrics.h"
#include "controller/shared/context.h"
#include "dra/availability/availability.h"

/* All are upstream's. */
enum {
	RETRIES = 5,
	CLEAN_UP_MS = 10 * 60 * 1000,
	RESYNC_MS = 12 * 60 * 60 * 1000, /* an abandoned request is checked again */
};
#define ANSWERED_NS (3600 * CLOCK_SEC)
#define PENDING_NS  (24 * 3600 * CLOCK_SEC)

struct pool_requests {
	struct context ctx;
	struct devices *devices;
	struct devices_watcher watcher;
	struct arena own; /* text of the resource */
	struct resource resource;
	struct informer *informer;
	struct informer_handler handler;
	struct workqueue *queue; /* names */
	struct pool_requests_metrics metrics;
	bool working;
	/* The request being answered. */
	struct arena arena;
	struct client_request answer;
	struct json *tree;
	struct str key, driver;
	int64_t begun; /* monotonic, ns */
	bool refused; /* the server rejected the answer; the reason is written instead */
	/* The clean-up. */
	struct loop_timer clean_up;
	struct cache_walk walk;
	struct client_request removal;
};

/* --- the answer ------------------------------------------------------------------------------ */

static bool is_answered(const struct cached *o)
{
	return str_starts(cached_field(o, "status", NULL), STR("{"));
}

/* The status without its pools. */
static struct json *make_status(struct pool_requests *p, struct json *pools, int64_t total,
				const char *type, const char *reason, const char *message)
{
	struct arena *a = &p->arena;
	struct json *status = json_make_object(a), *condition = json_make_object(a);
	char now[TIMESTAMP_SIZE];
	struct str since = timestamp_print(clock_wall(loop_clock(p->ctx.loop)), TIMESTAMP_SECONDS,
					   now);

	if (json_count(pools) > 0)
		json_setz(status, "pools", pools);
	json_put_str(a, condition, "type", str_from(type));
	json_put_str(a, condition, "status", STR("True"));
	json_put_str(a, condition, "lastTransitionTime", arena_str(a, since));
	json_put_str(a, condition, "reason", str_from(reason));
	json_put_str(a, condition, "message", str_from(message));
	json_append(json_need_array(a, status, "conditions"), condition);
	json_put_i64(a, status, "poolCount", total);
	return status;
}

/* Returns NULL if a requested pool is incomplete, so that there is no answer yet. */
static struct json *make_answer(struct pool_requests *p)
{
	struct arena *a = &p->arena;
	size_t told, wrong = 0;
	const char *message;
	struct json *pools;
	int64_t total;

	pools = availability_pools(devices_inventory(p->devices), json_getz(p->tree, "spec"), a,
				   &total);
	JSON_FOREACH (it, pools) {
		struct str error = json_text_at(it, "validationError");

		if (str_starts(error, STR("PoolIncomplete:")))
			return NULL;
		wrong += error.n > 0;
	}
	told = json_count(pools);
	message = wrong ? arena_printf(a, "Calculated status for %zu pools (%zu incomplete)", told,
				       wrong)
			: arena_printf(a, "Calculated status for %zu pools", told);
	return make_status(p, pools, total, "Complete", "CalculationComplete", message);
}

/* --- one request ----------------------------------------------------------------------------- */

static void pool_requests_finish(struct pool_requests *p, const struct error *err)
{
	struct str key = p->key;
	bool again = err && workqueue_num_requeues(p->queue, key) < RETRIES;

	if (again)
		log_debug(p->ctx.log, "pool status request failed, retrying", LOG_STR("name", key),
			  LOG_ERR(err));
	else if (err)
		log_warn(p->ctx.log, "pool status request failed; it is retried when it changes",
			 LOG_STR("name", key), LOG_ERR(err));
	arena_clear(&p->arena);
	p->tree = NULL;
	workqueue_finish(p->queue, key, again);
}

static void send_status(struct pool_requests *p, struct json *status)
{
	json_setz(p->tree, "status", status);
	client_update_status(p->ctx.client, &p->answer, &p->resource, STR_NULL, p->key, p->tree);
}

/* Writes the reason why there is no answer; the same answer would be rejected again. */
static void send_failure(struct pool_requests *p, const struct error *err)
{
	p->refused = true;
	send_status(p, make_status(p, NULL, 0, "Failed", "CalculationFailed",
				   arena_printf(&p->arena, "Failed to store the status: %s",
						err->msg)));
}

static void pool_requests_on_written(struct client_request *r, const struct client_answer *a UNUSED,
				     const struct error *err)
{
	struct pool_requests *p = r->arg;
	int64_t took = clock_monotonic(loop_clock(p->ctx.loop)) - p->begun;

	pool_requests_metrics_count(&p->metrics, p->driver, !err, (double)took / CLOCK_SEC);
	if (err && (err->code == ERR_TOO_LARGE || err->code == ERR_INVALID) && !p->refused)
		send_failure(p, err);
	else
		pool_requests_finish(p, err && err->code == ERR_NOT_FOUND ? NULL : err);
}

static void pool_requests_handle(void *arg, struct str key)
{
	struct pool_requests *p = arg;
	struct cached *o = cache_get(informer_cache(p->informer), key);
	struct json *status;
	struct error err;

	p->key = key;
	p->refused = false;
	p->begun = clock_monotonic(loop_clock(p->ctx.loop));
	if (!o || is_answered(o) || cached_tree_held(o, &p->arena, &p->tree, NULL) < 0) {
		pool_requests_finish(p, NULL);
		return;
	}
	p->driver = json_text_at(json_getz(p->tree, "spec"), "driver");
	status = make_answer(p);
	if (status) {
		send_status(p, status);
		return;
	}
	(void)error_set(&err, ERR_UNAVAILABLE, "incomplete pools detected, requeueing");
	pool_requests_finish(p, &err);
}

/* --- clean-up -------------------------------------------------------------------------------- */

static bool is_older(struct str time, int64_t now, int64_t than)
{
	int64_t then;

	return timestamp_parse(time, &then, NULL) == 0 && now - then > than;
}

static bool is_expired(struct pool_requests *p, const struct cached *o, struct arena *a)
{
	int64_t now = clock_wall(loop_clock(p->ctx.loop));
	struct str created = cached_field(o, "metadata.creationTimestamp", NULL);
	struct json *tree;

	if (!is_answered(o))
		return is_older(created, now, PENDING_NS);
	if (cached_tree(o, a, &tree, NULL) < 0)
		return false;
	JSON_FOREACH (it, json_getz(json_getz(tree, "status"), "conditions")) {
		struct str type = json_text_at(it, "type");

		if (str_eqz(type, "Complete") || str_eqz(type, "Failed"))
			return is_older(json_text_at(it, "lastTransitionTime"), now, ANSWERED_NS);
	}
	return is_older(created, now, ANSWERED_NS);
}

/* Deletes the next expired request; after the last, starts over after a while. */
static void clean_up_more(struct pool_requests *p)
{
	struct cached *o;

	while ((o = cache_next(informer_cache(p->informer), &p->walk))) {
		struct arena a;
		bool expired;

		arena_init(&a, REQUEST_WORK_MAX);
		expired = is_expired(p, o, &a);
		arena_release(&a);
		if (!expired)
			continue;
		log_debug(p->ctx.log, "pool status request has expired", LOG_STR("name", o->key));
		client_delete(p->ctx.client, &p->removal, &p->resource, STR_NULL, o->key,
			      &(struct client_delete_opts){ .uid = o->uid });
		return;
	}
	loop_timer_start(&p->clean_up, CLEAN_UP_MS);
}

static void pool_requests_on_removed(struct client_request *r, const struct client_answer *a UNUSED,
				     const struct error *err)
{
	struct pool_requests *p = r->arg;

	if (err && err->code != ERR_NOT_FOUND)
		log_warn(p->ctx.log, "cannot delete an expired pool status request", LOG_ERR(err));
	clean_up_more(p);
}

static void on_clean_up(struct loop_timer *t)
{
	struct pool_requests *p = CONTAINER_OF(t, struct pool_requests, clean_up);

	p->walk = (struct cache_walk){ 0 };
	clean_up_more(p);
}

/* --- life ------------------------------------------------------------------------------------ */

static void pool_requests_on_add(struct informer_handler *h, struct cached *o, bool initial UNUSED)
{
	struct pool_requests *p = CONTAINER_OF(h, struct pool_requests, handler);

	if (!is_answered(o))
		workqueue_add(p->queue, o->key);
}

static void pool_requests_on_update(struct informer_handler *h, struct cached *old UNUSED,
				    struct cached *o)
{
	pool_requests_on_add(h, o, false);
}

static void pool_requests_begin(struct pool_requests *p)
{
	if (p->working || !pool_requests_synced(p))
		return;
	p->working = true;
	workqueue_hold(p->queue, false);
	loop_timer_start(&p->clean_up, 0);
}

static void pool_requests_on_synced(struct informer_handler *h)
{
	pool_requests_begin(CONTAINER_OF(h, struct pool_requests, handler));
}

static void on_devices_synced(struct devices_watcher *w)
{
	pool_requests_begin(CONTAINER_OF(w, struct pool_requests, watcher));
}

struct pool_requests *pool_requests_new(const struct context *ctx, struct devices *devices,
					const struct resource *requests)
{
	struct pool_requests *p = XNEW(struct pool_requests);

	p->ctx = *ctx;
	p->devices = devices;
	arena_init(&p->own, KIB);
	arena_init(&p->arena, REQUEST_WORK_MAX);
	p->resource = resource_copy(&p->own, requests);
	p->answer = (struct client_request){ .on_done = pool_requests_on_written, .arg = p };
	p->removal = (struct client_request){ .on_done = pool_requests_on_removed, .arg = p };
	loop_timer_init(&p->clean_up, ctx->loop, on_clean_up);
	pool_requests_metrics_init(&p->metrics, ctx->metrics);
	p->queue = workqueue_new(
		&(struct workqueue_opts){ .loop = ctx->loop,
					  .name = "resourcepoolstatusrequest_controller",
					  .handle = pool_requests_handle,
					  .arg = p,
					  .metrics = ctx->metrics });
	workqueue_hold(p->queue, true);
	p->watcher.on_synced = on_devices_synced;
	devices_watch(devices, &p->watcher);
	p->informer = informers_get(
		ctx->informers, &(struct informer_spec){ .resource = &p->resource, .slim = true });
	p->handler = (struct informer_handler){ .on_add = pool_requests_on_add,
						.on_update = pool_requests_on_update,
						.on_synced = pool_requests_on_synced,
						.resync_ms = RESYNC_MS };
	informer_add_handler(p->informer, &p->handler);
	return p;
}

bool pool_requests_synced(const struct pool_requests *p)
{
	return p->handler.synced && devices_synced(p->devices);
}

void pool_requests_free(struct pool_requests *p)
{
	if (!p)
		return;
	devices_unwatch(&p->watcher);
	informer_remove_handler(&p->handler);
	loop_timer_stop(&p->clean_up);
	client_cancel(&p->answer);
	client_cancel(&p->removal);
	cache_walk_end(&p->walk);
	workqueue_free(p->queue);
	arena_release(&p->arena);
	arena_release(&p->own);
	free(p);
}
