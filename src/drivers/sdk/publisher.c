/*
 * One request at a time, decided from the informer's copy. After a write it waits until the copy
 * has reached the resourceVersion in the reply. If that event never comes (the watch is being
 * re-established), a timer ends the wait.
 */
#include "drivers/sdk/publisher.h"

#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "base/time/backoff.h"
#include "client/informer/informer.h"
#include "drivers/sdk/slice_plan.h"

enum {
	RETRY_MS = 200, /* after a failure; doubles */
	RETRY_MAX_MS = 30000,
	CATCH_UP_MS = 5000, /* limit of the wait for the copy to show a write */
	LOOK_MS = 5000, /* interval of checks that the copy makes progress */
};

struct publisher {
	struct publisher_opts opts;
	struct slice_plan plan;
	const struct device_table *table;
	struct informers *informers;
	struct publisher_copy {
		struct informer *informer;
		struct informer_handler handler;
		struct publisher *owner;
	} node, common; /* slices of the node; those of no node, followed once a pool needs it */
	struct publisher_copy *written; /* that the last write must reach */
	struct resource slices, nodes;
	struct client_request request;
	struct slice_step step; /* of the request in flight; its pointers are no longer valid */
	struct loop_task task; /* decide */
	struct loop_timer retry; /* after a failure, or if the copy does not catch up */
	struct loop_timer look; /* checks that the copy makes progress */
	struct backoff backoff;
	uint64_t awaited; /* the version that the copy must reach; 0: not waiting */
	char *gone_uid; /* a deleted slice that must leave the copy; or NULL */
	char *node_uid; /* NULL: must be fetched */
	struct error failure; /* code ERR_OK: no failure */
	bool settled; /* the slices match the table */
	struct metrics_counter *writes, *failures; /* or NULL */
};

static void plan_soon(struct publisher *p)
{
	loop_defer(client_loop(p->opts.client), &p->task);
}

static void publisher_count(struct metrics_counter *c)
{
	if (c)
		metrics_counter_add(c, 1);
}

/* --- waiting for the copy ----------------------------------------------------------------- */

static bool has_uid(const struct publisher *p, const char *uid)
{
	const struct cache *c = informer_cache(p->written->informer);
	struct cache_walk w = { 0 };
	struct cached *o;

	while ((o = cache_next(c, &w))) {
		if (str_eqz(o->uid, uid)) {
			cache_walk_end(&w);
			return true;
		}
	}
	return false;
}

static bool caught_up(struct publisher *p)
{
	uint64_t seen = 0;

	if (p->gone_uid && has_uid(p, p->gone_uid))
		return false;
	if (p->awaited && str_to_u64(informer_resource_version(p->written->informer), &seen) &&
	    seen < p->awaited)
		return false;
	free(TAKE(p->gone_uid));
	p->awaited = 0;
	return true;
}

/* --- requests ----------------------------------------------------------------------------- */

/* Logs each distinct error once: a server that is down for an hour is one line. */
static void publisher_complain(struct publisher *p, const char *what, const struct error *err)
{
	if (strcmp(p->failure.msg, err->msg) != 0)
		driver_log(p->opts.log, DP_LOG_WARN, "cannot %s: %s; retrying", what, err->msg);
	p->failure = *err;
}

static void publisher_fail(struct publisher *p, const char *what, const struct error *err)
{
	int64_t delay = backoff_next(&p->backoff, loop_prng(client_loop(p->opts.client)));

	publisher_complain(p, what, err);
	publisher_count(p->failures);
	loop_timer_start(&p->retry, delay);
}

static const char *action_words(enum slice_action action)
{
	static const char *const words[] = { "look", "delete a ResourceSlice",
					     "update a ResourceSlice", "create a ResourceSlice" };

	return words[action];
}

/* Somebody else wrote first; the copy will show the result. */
static bool is_race(enum slice_action action, const struct error *err)
{
	return err->code == ERR_CONFLICT || (action != SLICE_CREATE && err->code == ERR_NOT_FOUND);
}

static void note_version(struct publisher *p, const struct client_answer *answer)
{
	struct arena a;
	struct json *tree;

	arena_init(&a, OBJECT_MAX * 8);
	if (client_answer_tree(answer, &a, &tree, NULL) == 0)
		(void)str_to_u64(json_text_at(json_getz(tree, "metadata"), "resourceVersion"),
				 &p->awaited);
	arena_release(&a);
}

static void publisher_on_written(struct client_request *r, const struct client_answer *answer,
				 const struct error *err)
{
	struct publisher *p = r->arg;

	if (err && is_race(p->step.action, err)) {
		free(TAKE(p->gone_uid));
		loop_timer_start(&p->retry, RETRY_MS);
		return;
	}
	if (err) {
		free(TAKE(p->gone_uid));
		publisher_fail(p, action_words(p->step.action), err);
		return;
	}
	publisher_count(p->writes);
	backoff_reset(&p->backoff);
	p->failure.code = ERR_OK;
	p->failure.msg[0] = 0;
	if (p->step.action != SLICE_DELETE)
		note_version(p, answer);
	loop_timer_start(&p->retry, CATCH_UP_MS);
	plan_soon(p);
}

static void publisher_on_node(struct client_request *r, const struct client_answer *answer,
			      const struct error *err)
{
	struct publisher *p = r->arg;
	struct arena a;
	struct json *tree;
	struct error why;

	if (err) {
		publisher_fail(p, "find the Node that the ResourceSlices belong to", err);
		return;
	}
	arena_init(&a, OBJECT_MAX * 8);
	if (client_answer_tree(answer, &a, &tree, &why) < 0)
		publisher_fail(p, "read the Node", &why);
	else
		p->node_uid = str_dup(json_text_at(json_getz(tree, "metadata"), "uid"));
	arena_release(&a);
	plan_soon(p);
}

static void send_step(struct publisher *p, const struct slice_step *s, struct arena *a)
{
	struct client_delete_opts only = { 0 };

	p->step.action = s->action;
	p->written = s->common ? &p->common : &p->node;
	p->request.on_done = publisher_on_written;
	if (s->action == SLICE_DELETE) {
		only.uid = s->of->uid;
		p->gone_uid = str_dup(s->of->uid);
		client_delete(p->opts.client, &p->request, &p->slices, STR_NULL, s->of->key, &only);
	} else if (s->action == SLICE_UPDATE) {
		client_update(p->opts.client, &p->request, &p->slices, STR_NULL, s->of->key,
			      s->object);
	} else {
		if (!s->common)
			slice_plan_own(&p->plan, a, s->object, str_from(p->node_uid));
		client_create(p->opts.client, &p->request, &p->slices, STR_NULL, s->object);
	}
}

/* A driver that may not list these slices still publishes those of its node. */
static bool common_is_known(const struct publisher *p)
{
	return p->common.informer && informer_synced(p->common.informer);
}

static void publisher_decide(struct publisher *p)
{
	struct slice_caches caches = { .node = informer_cache(p->node.informer) };
	struct slice_step s;
	struct arena a;
	struct error err;

	arena_init(&a, SIZE_MAX);
	if (common_is_known(p))
		caches.common = informer_cache(p->common.informer);
	if (slice_plan_next(&p->plan, p->table, &caches, &a, &s, &err) < 0) {
		publisher_fail(p, "read the ResourceSlices", &err);
	} else if (s.action == SLICE_CREATE && !s.common && !p->node_uid) {
		p->settled = false;
		p->request.on_done = publisher_on_node;
		client_get(p->opts.client, &p->request, &p->nodes, STR_NULL, p->opts.node);
	} else if (s.action != SLICE_NONE) {
		p->settled = false;
		send_step(p, &s, &a);
	} else {
		if (!p->settled && (!p->common.informer || caches.common))
			driver_log(p->opts.log, DP_LOG_DEBUG, "ResourceSlices are published");
		p->failure.msg[0] = 0;
		p->settled = !p->common.informer || caches.common;
	}
	arena_release(&a);
}

/* Why the slices cannot be read; code ERR_OK if they can. */
static const struct error *read_failure(const struct publisher *p)
{
	const struct error *err = informer_failure(p->node.informer);

	return err->code == ERR_OK && p->common.informer ? informer_failure(p->common.informer)
							 : err;
}

static void publisher_on_task(struct loop_task *t)
{
	struct publisher *p = CONTAINER_OF(t, struct publisher, task);

	if (!p->table || !informer_synced(p->node.informer) || client_busy(&p->request))
		return;
	if (p->awaited || p->gone_uid) {
		if (!caught_up(p))
			return;
		loop_timer_stop(&p->retry);
	}
	/* Otherwise the back-off is still running. */
	if (!loop_timer_running(&p->retry))
		publisher_decide(p);
}

static void publisher_on_retry(struct loop_timer *t)
{
	struct publisher *p = CONTAINER_OF(t, struct publisher, retry);

	free(TAKE(p->gone_uid));
	p->awaited = 0;
	plan_soon(p);
}

static void publisher_on_look(struct loop_timer *t)
{
	struct publisher *p = CONTAINER_OF(t, struct publisher, look);
	const struct error *err = read_failure(p);

	if (err->code != ERR_OK)
		publisher_complain(p, "read the ResourceSlices", err);
	loop_timer_start(t, LOOK_MS);
}

/* --- the copy ----------------------------------------------------------------------------- */

static struct publisher *of_handler(struct informer_handler *h)
{
	return CONTAINER_OF(h, struct publisher_copy, handler)->owner;
}

static void publisher_on_add(struct informer_handler *h, struct cached *o UNUSED,
			     bool initial UNUSED)
{
	plan_soon(of_handler(h));
}

static void publisher_on_update(struct informer_handler *h, struct cached *old UNUSED,
				struct cached *o UNUSED)
{
	plan_soon(of_handler(h));
}

/* The slice may have been deleted with its Node; a new Node has a different UID. */
static void publisher_on_delete(struct informer_handler *h, struct cached *last UNUSED,
				bool unknown UNUSED)
{
	free(TAKE(of_handler(h)->node_uid));
	plan_soon(of_handler(h));
}

static void publisher_on_synced(struct informer_handler *h)
{
	plan_soon(of_handler(h));
}

/* An empty `node`: slices that name no node. */
static void publisher_follow(struct publisher *p, struct publisher_copy *copy, struct str node)
{
	CLEANUP(buf_release) struct buf selector = BUF_INIT(4 * KIB);
	struct informer_spec spec = { .resource = &p->slices, .slim = true };

	(void)buf_printf(&selector, "spec.driver=%.*s,spec.nodeName=%.*s", STR_ARG(p->opts.driver),
			 STR_ARG(node));
	spec.field_selector = buf_str(&selector);
	copy->owner = p;
	copy->informer = informers_get(p->informers, &spec);
	copy->handler = (struct informer_handler){ .on_add = publisher_on_add,
						   .on_update = publisher_on_update,
						   .on_delete = publisher_on_delete,
						   .on_synced = publisher_on_synced };
	informer_add_handler(copy->informer, &copy->handler);
	informers_start(p->informers);
}

static bool has_common_pool(const struct device_table *t)
{
	for (size_t i = 0; i < t->npools; i++)
		if (t->pools[i].common && !t->pools[i].prepare_only)
			return true;
	return false;
}

static void publisher_add_metrics(struct publisher *p)
{
	static const char *const labels[] = { "result" };
	struct metrics_spec spec = { .name = "devplane_driver_slice_writes_total",
				     .help = "Writes of ResourceSlices, by result.",
				     .type = METRICS_COUNTER,
				     .labels = labels,
				     .labels_n = 1 };
	struct metrics_family *f;

	if (!p->opts.metrics || metrics_register(p->opts.metrics, &spec, &f, NULL) < 0)
		return;
	p->writes = metrics_counter(f, STR("success"));
	p->failures = metrics_counter(f, STR("failure"));
}

/* --- life --------------------------------------------------------------------------------- */

struct publisher *publisher_new(const struct publisher_opts *opts)
{
	struct publisher *p = XNEW(struct publisher);

	p->opts = *opts;
	p->plan = (struct slice_plan){ .driver = opts->driver,
				       .node = opts->node,
				       .instance = opts->instance,
				       .started = opts->started,
				       .taint_unhealthy = opts->taint_unhealthy };
	slice_plan_init(&p->plan);
	p->slices = resource_builtin("resource.k8s.io", "v1", "resourceslices");
	p->nodes = resource_builtin("", "v1", "nodes");
	p->request.arg = p;
	p->backoff = (struct backoff){
		.initial_ms = RETRY_MS, .max_ms = RETRY_MAX_MS, .factor = 2, .jitter = 0.2
	};
	loop_task_init(&p->task, publisher_on_task);
	loop_timer_init(&p->retry, client_loop(opts->client), publisher_on_retry);
	loop_timer_init(&p->look, client_loop(opts->client), publisher_on_look);
	loop_timer_start(&p->look, LOOK_MS);
	publisher_add_metrics(p);
	p->informers = informers_new(p->opts.client, p->opts.metrics);
	p->written = &p->node;
	publisher_follow(p, &p->node, p->opts.node);
	return p;
}

void publisher_free(struct publisher *p)
{
	if (!p)
		return;
	client_cancel(&p->request);
	loop_task_cancel(&p->task);
	loop_timer_stop(&p->retry);
	loop_timer_stop(&p->look);
	informer_remove_handler(&p->node.handler);
	if (p->common.informer)
		informer_remove_handler(&p->common.handler);
	informers_free(p->informers);
	slice_plan_release(&p->plan);
	free(p->gone_uid);
	free(p->node_uid);
	free(p);
}

void publisher_set(struct publisher *p, const struct device_table *t)
{
	p->table = t;
	if (!p->common.informer && has_common_pool(t))
		publisher_follow(p, &p->common, STR_NULL);
	publisher_changed(p);
}

void publisher_changed(struct publisher *p)
{
	slice_plan_reset(&p->plan);
	p->settled = false;
	plan_soon(p);
}

int publisher_check(const struct publisher *p, struct error *err)
{
	const struct error *f = read_failure(p);

	if (f->code != ERR_OK)
		return error_set(err, f->code, "ResourceSlices cannot be read: %s", f->msg);
	if (!p->settled && p->failure.code != ERR_OK)
		return error_set(err, p->failure.code, "%s", p->failure.msg);
	if (!p->settled)
		return error_set(err, ERR_UNAVAILABLE, "ResourceSlices are not published yet");
	return 0;
}
