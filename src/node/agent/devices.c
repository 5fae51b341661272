/*
 * Devices: reports of plugins and drivers go into the assignment log and the health cache. Changes
 * there mark the pods that hold the devices, and their status is rebuilt at the end of the turn. So
 * a report of a thousand devices causes one status per pod.
 *
 * The assignment log is saved when a caller needs it to be durable; all requests of one turn share
 * one write. Health is saved a moment after it changed, and after loaded devices are reported
 * again. The saver's thread writes both.
 */
#include "api/api_limits.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "node/agent/agent_impl.h"
#include "node/claims/claims.h"
#include "node/host/saver.h"
#include "node/node_limits.h"
#include "node/plugins/plugins.h"
#include "node/registration/object.h"
#include "node/registration/slice_cleaner.h"
#include "node/status/device_status.h"

enum {
	HEALTH_SAVE_MS = 100,
	SAVE_AGAIN_MS = 5 * 1000, /* after a failure */
	SETTLE_MS = 10 * 1000, /* after the agent's start */
	LOST_MS = 5 * 60 * 1000, /* then a resource is removed from the node's capacity */
};

/* --- pods whose devices changed --------------------------------------------------- */

static void devices_mark(struct agent *a, struct str pod_uid)
{
	struct worker *w = agent_worker(a, pod_uid);

	if (!w || !worker_mark(w))
		return;
	(void)vec_push(&a->dirty, w);
	loop_defer(a->opts.loop, &a->dirty_task);
}

static void on_dirty(struct loop_task *t)
{
	struct agent *a = CONTAINER_OF(t, struct agent, dirty_task);

	for (size_t i = 0; i < a->dirty.n; i++) {
		worker_health_changed(a->dirty.v[i]);
		agent_podres_refresh(a, worker_uid(a->dirty.v[i]));
	}
	a->dirty.n = 0;
	agent_events_follow(a);
}

/* --- health of DRA devices -------------------------------------------------------- */

static void save_health_soon(struct agent *a)
{
	if (!loop_timer_running(&a->health_save_timer))
		loop_timer_start(&a->health_save_timer, HEALTH_SAVE_MS);
}

static void follow_expiry(struct agent *a)
{
	int64_t next = health_next_expiry(a->host.health);

	if (next == INT64_MAX)
		loop_timer_stop(&a->expiry_timer);
	else
		loop_timer_start(&a->expiry_timer, MAX(0, next - loop_now(a->opts.loop)));
}

static void on_expiry(struct loop_timer *t)
{
	struct agent *a = CONTAINER_OF(t, struct agent, expiry_timer);

	health_expire(a->host.health, loop_now(a->opts.loop));
	follow_expiry(a);
}

void agent_health_changed(void *arg, const struct health_device *now, enum assign_health before)
{
	CLEANUP(arena_release) struct arena scratch;
	struct agent *a = arg;
	const struct str *uids;
	size_t n;

	(void)before;
	arena_init(&scratch, REQUEST_WORK_MAX);
	if (a->health_changes)
		metrics_counter_add(a->health_changes, 1);
	save_health_soon(a);
	if (a->host.node)
		node_object_touch_health(a->host.node);
	n = assign_pods_of_device(a->host.assign, now->driver, now->pool, now->device, &scratch,
				  &uids);
	for (size_t i = 0; i < n; i++)
		devices_mark(a, uids[i]);
	agent_podres_health(a); /* also for a device that has expired */
}

void agent_events_follow(struct agent *a)
{
	int64_t next = device_events_next(a->host.events);

	if (next != INT64_MAX)
		loop_timer_start(&a->events_timer, MAX(0, next - loop_now(a->opts.loop)));
}

static void on_tell(void *arg, struct str pod_uid, const struct device_status_change *c)
{
	struct worker *w = agent_worker(arg, pod_uid);

	if (w)
		worker_tell_device(w, c);
}

static void on_events(struct loop_timer *t)
{
	struct agent *a = CONTAINER_OF(t, struct agent, events_timer);

	device_events_due(a->host.events, loop_now(a->opts.loop), on_tell, a);
	agent_events_follow(a);
}

static void devices_on_health(void *arg, struct str driver, const struct plugin_health *v, size_t n)
{
	struct agent *a = arg;
	size_t unconfirmed = health_unconfirmed(a->host.health);
	size_t lost = health_report(a->host.health, driver, v, n, loop_now(a->opts.loop));

	if (health_unconfirmed(a->host.health) != unconfirmed)
		save_health_soon(a);
	if (lost > 0)
		log_warn(a->opts.log, "a driver reports too many devices; the rest are ignored",
			 LOG_STR("driver", driver), LOG_UINT("lost", lost));
	agent_podres_health(a);
	follow_expiry(a);
}

static void on_no_health(void *arg, struct str driver)
{
	struct agent *a = arg;

	log_info(a->opts.log, "the driver does not report device health",
		 LOG_STR("driver", driver));
	health_driver_gone(a->host.health, driver);
	agent_podres_health(a);
	follow_expiry(a);
}

static void on_driver(void *arg, struct str driver, bool registered)
{
	struct agent *a = arg;

	log_info(a->opts.log, registered ? "driver registered" : "driver gone",
		 LOG_STR("driver", driver));
	slice_cleaner_driver(a->cleaner, driver, registered);
	if (registered) {
		agent_retry_all(a);
		if (a->host.claims)
			claims_reconcile(a->host.claims);
		return;
	}
	health_driver_gone(a->host.health, driver);
	agent_podres_health(a);
	follow_expiry(a);
}

/* --- device plugins --------------------------------------------------------------- */

static void lost_free(struct agent_lost *l)
{
	loop_timer_stop(&l->timer);
	list_remove(&l->link);
	free(l->resource);
	free(l);
}

static void forget_lost(struct agent *a, struct str resource)
{
	LIST_FOREACH_SAFE (it, &a->lost) {
		struct agent_lost *l = LIST_ENTRY(it, struct agent_lost, link);

		if (str_eqz(resource, l->resource))
			lost_free(l);
	}
}

static void devices_on_lost(struct loop_timer *t)
{
	struct agent_lost *l = CONTAINER_OF(t, struct agent_lost, timer);
	struct agent *a = l->agent;

	if (l->settling) {
		l->settling = false;
		loop_timer_start(&l->timer, LOST_MS - SETTLE_MS);
		agent_refresh_all(a);
		return;
	}
	log_info(a->opts.log, "resource dropped: its device plugin did not register again",
		 LOG_Z("resource", l->resource));
	assign_drop_resource(a->host.assign, str_from(l->resource));
	lost_free(l);
}

static void begin_lost(struct agent *a, struct str resource, bool settling)
{
	struct agent_lost *l = XNEW(struct agent_lost);

	l->agent = a;
	l->resource = str_dup(resource);
	l->settling = settling;
	loop_timer_init(&l->timer, a->opts.loop, devices_on_lost);
	list_push_back(&a->lost, &l->link);
	loop_timer_start(&l->timer, settling ? SETTLE_MS : LOST_MS);
}

/* Waits for the plugins of the resources in the checkpoint to come back. */
static void await_plugins(struct agent *a)
{
	struct str at = STR_NULL;
	int64_t capacity, allocatable;

	while (assign_next_resource(a->host.assign, &at, &capacity, &allocatable))
		begin_lost(a, at, true);
}

bool agent_settling(void *arg, struct str resource)
{
	const struct agent *a = arg;

	LIST_FOREACH (it, &a->lost) {
		const struct agent_lost *l = LIST_ENTRY(it, struct agent_lost, link);

		if (l->settling && str_eqz(resource, l->resource))
			return true;
	}
	return false;
}

static void on_resource(void *arg, struct str resource, const struct assign_device *v, size_t n)
{
	struct agent *a = arg;

	forget_lost(a, resource);
	assign_set_resource(a->host.assign, resource, v, n);
	agent_retry_all(a);
}

static void on_resource_gone(void *arg, struct str resource)
{
	struct agent *a = arg;

	log_info(a->opts.log, "device plugin gone", LOG_STR("resource", resource));
	forget_lost(a, resource);
	begin_lost(a, resource, false);
	assign_resource_gone(a->host.assign, resource);
}

static void devices_on_problem(void *arg, struct str what, const struct error *err)
{
	struct agent *a = arg;

	log_warn(a->opts.log, "cannot use a device plugin", LOG_STR("plugin", what), LOG_ERR(err));
}

const struct plugins_events agent_plugin_events = {
	.on_resource = on_resource,
	.on_resource_gone = on_resource_gone,
	.on_driver = on_driver,
	.on_health = devices_on_health,
	.on_no_health = on_no_health,
	.on_problem = devices_on_problem,
};

/* Every pod that holds the device gets an event; the metric counts the change once. */
static void count_changes(struct agent *a)
{
	uint64_t changes = assign_health_changes(a->host.assign);

	if (a->health_changes)
		metrics_counter_add(a->health_changes, changes - a->counted_changes);
	a->counted_changes = changes;
}

static void on_assign_change(struct assign_watcher *w, const struct assign_change *c)
{
	struct agent *a = CONTAINER_OF(w, struct agent, watcher);

	if (c->pod_uid.n > 0)
		devices_mark(a, c->pod_uid);
	if (c->type == ASSIGN_DEVICE_HEALTH)
		count_changes(a);
	if (c->type == ASSIGN_SHARED_CPUS)
		agent_cpus_changed(a);
	if (c->type == ASSIGN_INVENTORY) {
		if (a->host.node)
			node_object_touch(a->host.node);
		agent_save(a, NULL, NULL);
	}
}

/* --- state on the disk ------------------------------------------------------------ */

static void saving_free(struct agent_saving *s)
{
	list_remove(&s->link);
	vec_release(&s->waiters);
	free(s);
}

/* Records the result of a save in *unsaved. If the disk stays full, that is logged once. */
static void note_save(struct agent *a, const char *failed, struct error *unsaved,
		      const struct error *err)
{
	if (err && !unsaved->code)
		log_error(a->opts.log, failed, LOG_ERR(err));
	*unsaved = err ? *err : (struct error){ 0 };
}

/* A text that is cut must not replace the last good one: `r` is the result of its encoder. */
static int encoded(int r, struct error *err)
{
	if (r < 0)
		return error_set(err, ERR_TOO_LARGE, "it is larger than %lu MiB",
				 STATE_FILE_MAX / MIB);
	return 0;
}

static void on_saved(void *arg, const struct error *err)
{
	struct agent_saving *s = arg;
	struct agent *a = s->agent;

	note_save(a, "the state of devices cannot be saved", &a->unsaved, err);
	if (err)
		loop_timer_start(&a->save_again_timer, SAVE_AGAIN_MS);
	a->saved = err ? 0 : s->hash;
	for (size_t i = 0; i < s->waiters.n; i++) {
		if (s->waiters.v[i].done)
			s->waiters.v[i].done(s->waiters.v[i].arg, err);
	}
	saving_free(s);
}

static struct agent_saving *begin_saving(struct agent *a, uint64_t hash)
{
	struct agent_saving *s = XNEW(struct agent_saving);

	s->agent = a;
	s->hash = hash;
	vec_init(&s->waiters, SIZE_MAX);
	for (size_t i = 0; i < a->waiters.n; i++)
		(void)vec_push(&s->waiters, a->waiters.v[i]);
	a->waiters.n = 0;
	list_push_back(&a->savings, &s->link);
	return s;
}

/*
 * Devices that break and recover do not change the log: if the content is on disk already, it is
 * not written again.
 */
static void on_save(struct loop_task *t)
{
	struct agent *a = CONTAINER_OF(t, struct agent, save_task);
	CLEANUP(buf_release) struct buf body = BUF_INIT(STATE_FILE_MAX);
	struct agent_saving *s;
	struct error err;
	int r;

	/* Postpones once: watchers and the server get this turn's changes first. */
	a->save_due = !a->save_due;
	if (a->save_due) {
		loop_defer(a->opts.loop, t);
		return;
	}
	r = encoded(assign_encode(a->host.assign, &body), &err);
	s = begin_saving(a, hash_bytes(buf_str(&body), 1) | 1);
	if (r < 0) {
		on_saved(s, &err);
		return;
	}
	if (s->hash == a->saved && a->savings.next == &s->link) {
		on_saved(s, NULL);
		return;
	}
	saver_save(a->opts.saver, a->assign_path, ASSIGN_STATE_KIND, ASSIGN_STATE_VERSION,
		   buf_str(&body), on_saved, s);
}

void agent_save(void *arg, void (*done)(void *arg, const struct error *err), void *done_arg)
{
	struct agent *a = arg;

	(void)vec_push(&a->waiters, (struct agent_waiter){ done, done_arg });
	loop_defer(a->opts.loop, &a->save_task);
}

static void on_save_again(struct loop_timer *t)
{
	agent_save(CONTAINER_OF(t, struct agent, save_again_timer), NULL, NULL);
}

static void on_health_saved(void *arg, const struct error *err)
{
	struct agent *a = arg;

	note_save(a, "the state of health cannot be saved", &a->health_unsaved, err);
	if (err && !loop_timer_running(&a->health_save_timer))
		loop_timer_start(&a->health_save_timer, SAVE_AGAIN_MS);
}

void agent_save_health(struct agent *a)
{
	CLEANUP(buf_release) struct buf body = BUF_INIT(STATE_FILE_MAX);
	struct error err;
	int r;

	loop_timer_stop(&a->health_save_timer);
	r = health_encode(a->host.health, clock_wall(loop_clock(a->opts.loop)),
			  loop_now(a->opts.loop), &body);
	if (encoded(r, &err) < 0) {
		on_health_saved(a, &err);
		return;
	}
	saver_save(a->opts.saver, a->health_path, HEALTH_STATE_KIND, HEALTH_STATE_VERSION,
		   buf_str(&body), on_health_saved, a);
}

static void on_health_save(struct loop_timer *t)
{
	agent_save_health(CONTAINER_OF(t, struct agent, health_save_timer));
}

static int load_file(struct agent *a, const char *path, const char *kind, unsigned version,
		     struct buf *body, struct error *err)
{
	int r = saver_load(path, kind, version, body, err);

	if (r == -ERR_CONFLICT) {
		log_error(a->opts.log, "a state file was corrupt and has been moved away",
			  LOG_ERR(err));
		return 0;
	}
	return r;
}

int agent_load(struct agent *a, struct error *err)
{
	CLEANUP(buf_release) struct buf assign = BUF_INIT(STATE_FILE_MAX);
	CLEANUP(buf_release) struct buf health = BUF_INIT(STATE_FILE_MAX);
	struct error why;
	int r;

	r = load_file(a, a->assign_path, ASSIGN_STATE_KIND, ASSIGN_STATE_VERSION, &assign, err);
	if (r < 0)
		return r;
	a->recovering = r == 0;
	if (r > 0 && assign_decode(a->host.assign, buf_str(&assign), &why) < 0) {
		log_error(a->opts.log, "cannot read the saved state of devices", LOG_ERR(&why));
		a->recovering = true;
	}
	r = load_file(a, a->health_path, HEALTH_STATE_KIND, HEALTH_STATE_VERSION, &health, err);
	if (r < 0)
		return r;
	if (r > 0 &&
	    health_decode(a->host.health, buf_str(&health), clock_wall(loop_clock(a->opts.loop)),
			  loop_now(a->opts.loop), &why) < 0)
		log_error(a->opts.log, "cannot read the saved health of devices", LOG_ERR(&why));
	if (health_unconfirmed(a->host.health) > 0)
		save_health_soon(a);
	await_plugins(a);
	follow_expiry(a);
	return 0;
}

/* --- a log that was lost ---------------------------------------------------------- */

static bool is_lost(const struct agent *a, struct str resource)
{
	LIST_FOREACH (it, &a->lost) {
		if (str_eqz(resource, LIST_ENTRY(it, struct agent_lost, link)->resource))
			return true;
	}
	return false;
}

/* Waits for the plugins of resources that only statuses of pods name. */
static void await_named(struct agent *a)
{
	struct str at = STR_NULL;
	int64_t capacity, allocatable;

	while (assign_next_resource(a->host.assign, &at, &capacity, &allocatable)) {
		if (!assign_is_connected(a->host.assign, at) && !is_lost(a, at))
			begin_lost(a, at, true);
	}
}

/* Returns the devices that running containers carry, by container and resource. */
static struct json *running_devices(const struct runtime_pod *seen, struct arena *a)
{
	struct json *all = json_make_object(a), *devices;

	for (size_t i = 0; seen && i < seen->ncontainers; i++) {
		const struct runtime_container *c = &seen->containers[i];

		if (c->state != RUNTIME_EXITED && c->devices.n > 0 && !json_get(all, c->name) &&
		    json_parse(a, c->devices, NULL, &devices, NULL) == 0)
			json_set(all, c->name, devices);
	}
	return all;
}

static void tell_recovery(struct agent *a, struct worker *w, const char *source,
			  const struct assign_recovery *got)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);

	(void)buf_printf(&text, "The node's record of assigned devices was lost.");
	if (got->held.n > 0)
		(void)buf_printf(&text, " The pod keeps the devices that its %s: %.*s.", source,
				 STR_ARG(got->held));
	if (got->doubt.n > 0)
		(void)buf_printf(&text,
				 " Its status does not name all devices of %.*s: if its containers "
				 "run, no other pod gets devices of these until they have ended.",
				 STR_ARG(got->doubt));
	worker_warn(w, "DeviceAssignmentLost", buf_str(&text));
	log_warn(a->opts.log, "assignment of devices recovered",
		 LOG_STR("pod", worker_pod(w)->name), LOG_STR("held", got->held),
		 LOG_STR("doubt", got->doubt));
	await_named(a);
	agent_save(a, NULL, NULL);
}

void agent_recover(struct agent *a, struct worker *w)
{
	CLEANUP(arena_release) struct arena scratch;
	const struct pod *pod = worker_pod(w);
	struct assign_recovery got;

	arena_init(&scratch, REQUEST_WORK_MAX);
	if (!a->recovering || pod_terminal(pod) || !json_getz(pod->status, "startTime"))
		return;
	assign_recover(a->host.assign, pod, NULL, &scratch, &got);
	if (got.held.n + got.doubt.n > 0)
		tell_recovery(a, w, "status names", &got);
}

void agent_recover_running(struct agent *a, struct worker *w)
{
	CLEANUP(arena_release) struct arena scratch;
	const struct pod *pod = worker_pod(w);
	struct assign_recovery got;
	struct json *running;

	arena_init(&scratch, REQUEST_WORK_MAX);
	running = running_devices(worker_runtime(w), &scratch);
	if (pod_terminal(pod) || json_count(running) == 0)
		return;
	worker_was_admitted(w);
	assign_recover(a->host.assign, pod, running, &scratch, &got);
	if (got.held.n > 0)
		tell_recovery(a, w, "running containers have", &got);
}

/* --- life ------------------------------------------------------------------------- */

void agent_devices_init(struct agent *a)
{
	vec_init(&a->waiters, SIZE_MAX);
	vec_init(&a->dirty, SIZE_MAX);
	list_init(&a->lost);
	list_init(&a->savings);
	loop_task_init(&a->save_task, on_save);
	loop_task_init(&a->dirty_task, on_dirty);
	loop_timer_init(&a->health_save_timer, a->opts.loop, on_health_save);
	loop_timer_init(&a->save_again_timer, a->opts.loop, on_save_again);
	loop_timer_init(&a->expiry_timer, a->opts.loop, on_expiry);
	loop_timer_init(&a->events_timer, a->opts.loop, on_events);
	a->watcher.on_change = on_assign_change;
}

void agent_devices_release(struct agent *a)
{
	LIST_FOREACH_SAFE (it, &a->savings) {
		saver_forget(a->opts.saver, LIST_ENTRY(it, struct agent_saving, link));
		saving_free(LIST_ENTRY(it, struct agent_saving, link));
	}
	LIST_FOREACH_SAFE (it, &a->lost)
		lost_free(LIST_ENTRY(it, struct agent_lost, link));
	loop_task_cancel(&a->save_task);
	loop_task_cancel(&a->dirty_task);
	saver_forget(a->opts.saver, a);
	loop_timer_stop(&a->health_save_timer);
	loop_timer_stop(&a->save_again_timer);
	loop_timer_stop(&a->expiry_timer);
	loop_timer_stop(&a->events_timer);
	vec_release(&a->waiters);
	vec_release(&a->dirty);
}
