/*
 * All changes end in one task at the end of the turn, which looks at the pods that are marked. A
 * change of a device's health marks all pods: a node has about a hundred, a look at one without a
 * change writes nothing, and health changes seldom.
 */
#include "node/beside/beside.h"

#include "base/core/mem.h"
#include "base/report/log.h"
#include "client/events/recorder.h"
#include "node/beside/beside_impl.h"
#include "node/pod/pod_condition.h"

enum {
	SETTLE_MS = 10 * 1000, /* for first reports, after the start */
	OFFERS_MS = 500, /* from a change of health until watchers of allocatable get it */
	GRACE_MS = 15 * 1000,
};

static void beside_on_dirty(struct loop_task *t)
{
	struct beside *b = CONTAINER_OF(t, struct beside, dirty_task);

	beside_pods_look(b);
	beside_events_due(b);
	beside_differences_look(b);
}

void beside_mark_all(struct beside *b)
{
	struct str key;
	size_t at = 0;
	void *v;

	while (map_next(&b->pods, &at, &key, &v))
		((struct beside_pod *)v)->dirty = true;
	loop_defer(b->opts.loop, &b->dirty_task);
	if (!loop_timer_running(&b->offers_timer))
		loop_timer_start(&b->offers_timer, OFFERS_MS);
}

/* --- timers ---------------------------------------------------------------------------------- */

static void beside_follow_expiry(struct beside *b)
{
	int64_t next = health_next_expiry(b->health);

	if (next == INT64_MAX)
		loop_timer_stop(&b->expiry_timer);
	else
		loop_timer_start(&b->expiry_timer, MAX(0, next - loop_now(b->opts.loop)));
}

static void beside_on_expiry(struct loop_timer *t)
{
	struct beside *b = CONTAINER_OF(t, struct beside, expiry_timer);

	health_expire(b->health, loop_now(b->opts.loop));
	beside_follow_expiry(b);
}

static void beside_on_events(struct loop_timer *t)
{
	beside_events_due(CONTAINER_OF(t, struct beside, events_timer));
}

static void beside_on_differ(struct loop_timer *t)
{
	beside_differences_look(CONTAINER_OF(t, struct beside, differ_timer));
}

static void beside_on_settled(struct loop_timer *t)
{
	struct beside *b = CONTAINER_OF(t, struct beside, settle_timer);

	b->settling = false;
	beside_mark_all(b);
	beside_node_touch(b);
}

static void beside_on_offers(struct loop_timer *t)
{
	beside_room_set(CONTAINER_OF(t, struct beside, offers_timer));
}

static void beside_on_refresh(void *arg)
{
	struct beside *b = arg;

	if (!loop_timer_running(&b->offers_timer))
		return;
	loop_timer_stop(&b->offers_timer);
	beside_room_set(b);
}

/* --- health ---------------------------------------------------------------------------------- */

static void beside_health_changed(void *arg, const struct health_device *now UNUSED,
				  enum assign_health before UNUSED)
{
	struct beside *b = arg;

	if (b->metrics.changes)
		metrics_counter_add(b->metrics.changes, 1);
	beside_mark_all(b);
	beside_node_touch(b);
}

/* A first report is not always a change, but a pod may wait for it. */
static void beside_reported(struct beside *b)
{
	beside_follow_expiry(b);
	if (b->settling)
		beside_mark_all(b);
}

static void beside_on_health(void *arg, struct str driver, const struct plugin_health *v, size_t n)
{
	struct beside *b = arg;
	size_t lost = health_report(b->health, driver, v, n, loop_now(b->opts.loop));

	if (lost > 0)
		log_warn(b->opts.log, "a driver reports too many devices; the rest are ignored",
			 LOG_STR("driver", driver), LOG_UINT("lost", lost));
	beside_reported(b);
}

static void beside_on_no_health(void *arg, struct str driver)
{
	struct beside *b = arg;

	log_info(b->opts.log, "the driver does not report device health",
		 LOG_STR("driver", driver));
	health_driver_gone(b->health, driver);
	beside_reported(b);
}

static void beside_on_driver(void *arg, struct str driver, bool registered)
{
	struct beside *b = arg;

	log_info(b->opts.log, registered ? "driver found" : "driver gone",
		 LOG_STR("driver", driver));
	if (!registered)
		health_driver_gone(b->health, driver);
	beside_follow_expiry(b);
}

static void beside_on_resource(void *arg, struct str resource, const struct assign_device *v,
			       size_t n)
{
	struct beside *b = arg;

	assign_set_resource(b->assign, resource, v, n);
	beside_reported(b);
}

static void beside_on_resource_gone(void *arg, struct str resource)
{
	struct beside *b = arg;

	log_info(b->opts.log, "device plugin gone", LOG_STR("resource", resource));
	assign_resource_gone(b->assign, resource);
}

static void beside_on_problem(void *arg, struct str what, const struct error *err)
{
	struct beside *b = arg;

	log_warn(b->opts.log, "cannot follow a device plugin or driver", LOG_STR("plugin", what),
		 LOG_ERR(err));
}

/* A change of the list may be a held device that is missing from it. */
static void beside_on_assign(struct assign_watcher *w, const struct assign_change *c)
{
	struct beside *b = CONTAINER_OF(w, struct beside, watcher);
	uint64_t changes = assign_health_changes(b->assign);

	if (b->metrics.changes)
		metrics_counter_add(b->metrics.changes, changes - b->counted_changes);
	b->counted_changes = changes;
	if (c->type == ASSIGN_DEVICE_HEALTH || c->type == ASSIGN_INVENTORY)
		beside_mark_all(b);
}

/* --- the writer ------------------------------------------------------------------------------ */

/* Each failure is logged once: it may be a missing right, and concern every pod. */
static void beside_on_failed(void *arg, const struct error *err)
{
	struct beside *b = arg;

	if (b->refusal && strcmp(b->refusal, err->msg) == 0)
		return;
	log_warn(b->opts.log, "cannot write a pod's condition: may pods/status be patched?",
		 LOG_ERR(err));
	free(b->refusal);
	b->refusal = xstrdup(err->msg);
}

static void beside_on_refused(void *arg, struct str uid UNUSED, const struct error *err)
{
	beside_on_failed(arg, err);
}

/* --- life ------------------------------------------------------------------------------------ */

static void make_timers(struct beside *b)
{
	struct loop *l = b->opts.loop;

	loop_task_init(&b->dirty_task, beside_on_dirty);
	loop_timer_init(&b->expiry_timer, l, beside_on_expiry);
	loop_timer_init(&b->events_timer, l, beside_on_events);
	loop_timer_init(&b->differ_timer, l, beside_on_differ);
	loop_timer_init(&b->settle_timer, l, beside_on_settled);
	loop_timer_init(&b->offers_timer, l, beside_on_offers);
	beside_node_init(b);
}

static void make_parts(struct beside *b)
{
	const struct beside_opts *o = &b->opts;

	b->health = health_new(
		&(struct health_opts){ .on_change = beside_health_changed, .arg = b });
	b->events = device_events_new();
	b->recorder = recorder_new(&(struct recorder_opts){ .client = o->client,
							    .component = "devplane-attach",
							    .instance = b->node_name,
							    .metrics = o->metrics,
							    .log = o->log });
	if (o->pod_condition)
		b->writer = status_writer_new(
			&(struct status_writer_opts){ .loop = o->loop,
						      .client = o->client,
						      .condition = DEVICES_HEALTHY_CONDITION,
						      .on_refused = beside_on_refused,
						      .on_failed = beside_on_failed,
						      .arg = b,
						      .metrics = o->metrics });
	podres_on_refresh(o->book, beside_on_refresh, b);
}

static int make_plugins(struct beside *b, struct error *err)
{
	static const struct plugins_events events = { .on_resource = beside_on_resource,
						      .on_resource_gone = beside_on_resource_gone,
						      .on_driver = beside_on_driver,
						      .on_health = beside_on_health,
						      .on_no_health = beside_on_no_health,
						      .on_problem = beside_on_problem };
	struct plugins_opts o = { .loop = b->opts.loop,
				  .root_dir = b->opts.root_dir,
				  .beside = true,
				  .watch_health = true,
				  .events = &events,
				  .arg = b,
				  .metrics = b->opts.metrics,
				  .log = b->opts.log };
	int r = plugins_new(&o, &b->plugins, err);

	for (size_t i = 0; r == 0 && i < b->opts.nplugins; i++)
		plugins_follow(b->plugins, b->opts.plugins[i].resource, b->opts.plugins[i].socket);
	return r;
}

static int make_assign(struct beside *b, struct error *err)
{
	struct assign_opts o = { .machine = &b->machine };
	int r;

	machine_make(&b->machine, 1, 0, 1);
	r = assign_new(&o, &b->assign, err);
	if (r < 0)
		return r;
	b->watcher.on_change = beside_on_assign;
	assign_add_watcher(b->assign, &b->watcher);
	return 0;
}

int beside_new(const struct beside_opts *opts, struct beside **ret_beside, struct error *err)
{
	struct beside *b = XNEW(struct beside);
	int r;

	b->opts = *opts;
	if (b->opts.grace_ms <= 0)
		b->opts.grace_ms = GRACE_MS;
	b->node_name = xstrdup(opts->node_name);
	b->settling = true;
	map_init(&b->pods);
	make_timers(b);
	loop_timer_start(&b->settle_timer, SETTLE_MS);
	beside_metrics_init(b);
	make_parts(b);
	r = make_assign(b, err);
	if (r == 0)
		r = make_plugins(b, err);
	if (r < 0) {
		beside_free(b);
		return r;
	}
	*ret_beside = b;
	return 0;
}

struct attach_hooks beside_hooks(struct beside *b)
{
	return (struct attach_hooks){ beside_on_pod, beside_on_allocatable, b };
}

void beside_follow(struct beside *b, struct informer *pods, struct informer *node)
{
	beside_pods_follow(b, pods);
	if (b->opts.node_annotation)
		beside_node_follow(b, node);
}

int beside_check_registry(const struct beside *b, struct error *err)
{
	return plugins_check_registry(b->plugins, err);
}

size_t beside_drivers(const struct beside *b)
{
	struct plugins_driver driver;
	struct str at = STR_NULL;
	size_t n = 0;

	while (plugins_next_driver(b->plugins, &at, &driver))
		n++;
	return n;
}

static void stop_all(struct beside *b)
{
	podres_on_refresh(b->opts.book, NULL, NULL);
	loop_task_cancel(&b->dirty_task);
	loop_timer_stop(&b->expiry_timer);
	loop_timer_stop(&b->events_timer);
	loop_timer_stop(&b->differ_timer);
	loop_timer_stop(&b->settle_timer);
	loop_timer_stop(&b->offers_timer);
	beside_node_release(b);
}

static void beside_on_closed(void *arg)
{
	struct beside *b = arg;

	b->stopped(b->stopped_arg);
}

void beside_stop(struct beside *b, void (*done)(void *arg), void *arg)
{
	stop_all(b);
	informer_remove_handler(&b->handler);
	informer_remove_handler(&b->node.handler);
	b->stopped = done;
	b->stopped_arg = arg;
	plugins_close(TAKE(b->plugins), beside_on_closed, b);
}

void beside_free(struct beside *b)
{
	if (!b)
		return;
	stop_all(b);
	plugins_free(b->plugins);
	beside_pods_release(b);
	status_writer_free(b->writer);
	recorder_free(b->recorder);
	device_events_free(b->events);
	health_free(b->health);
	assign_free(b->assign);
	machine_release(&b->machine);
	free(b->room);
	free(b->refusal);
	free(b->node_name);
	free(b);
}
