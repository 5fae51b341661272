/* The driver as a whole: its configuration, its parts, and the order of their start and end. */
#include "drivers/sdk/driver.h"

#include <signal.h>
#include <unistd.h>

#include "api/schema/names.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "base/system/folder.h"
#include "drivers/drivers_limits.h"
#include "drivers/prepare/abi.h"
#include "drivers/prepare/cdi_file.h"
#include "drivers/sdk/claim_status.h"
#include "drivers/sdk/dra_mode.h"
#include "drivers/sdk/driver_http.h"
#include "drivers/sdk/plugin_mode.h"

enum {
	TIMEOUT_S = 30,
	BEATS = 3, /* heartbeats per timeout */
	STATUS_GRACE_MS = 2000, /* at shutdown, for pending updates of claim status */
	OWED_MS = 20, /* at shutdown, between checks for claims that the vendor owes */
	UNREGISTERED_MS = 10000, /* until a driver that nobody registers warns */
};

/* --- configuration ------------------------------------------------------------------------ */

static void driver_keep(struct arena *a, const char **text)
{
	if (*text)
		*text = **text ? arena_strdup(a, str_from(*text)) : NULL;
}

static void keep_texts(struct dp_driver *d)
{
	struct dp_driver_config *c = &d->config;

	driver_keep(&d->arena, &c->name);
	driver_keep(&d->arena, &c->node_name);
	driver_keep(&d->arena, &c->kubeconfig);
	driver_keep(&d->arena, &c->root_dir);
	driver_keep(&d->arena, &c->cdi_dir);
	driver_keep(&d->arena, &c->resource);
	driver_keep(&d->arena, &c->instance);
	driver_keep(&d->arena, &c->metrics_address);
}

static void fill_defaults(struct dp_driver_config *c)
{
	if (!c->root_dir)
		c->root_dir = "/var/lib/kubelet";
	if (!c->cdi_dir)
		c->cdi_dir = "/var/run/cdi";
	if (!c->node_name && c->mode == DP_MODE_PLUGIN)
		c->node_name = "node";
	if (c->health_timeout_s == 0)
		c->health_timeout_s = TIMEOUT_S;
	if (c->heartbeat_ms == 0)
		c->heartbeat_ms = (uint32_t)MIN((uint64_t)c->health_timeout_s * 1000 / BEATS,
						(uint64_t)INT32_MAX);
	if (c->health_dialects == 0)
		c->health_dialects = DP_HEALTH_ALL;
	if (c->flags & DP_FLAG_NO_HEALTH)
		c->health_dialects = 0;
}

static int check_config(const struct dp_driver_config *c, struct error *err)
{
	struct str name = str_from(c->name);
	const char *fault;

	if (c->mode > DP_MODE_PLUGIN)
		return error_set(err, ERR_INVALID, "mode %u is unknown", c->mode);
	fault = name.n > NAMES_DRIVER_MAX ? "it is longer than 63 bytes"
					  : names_dns_subdomain(name);
	if (fault)
		return error_set(err, ERR_INVALID, "driver name \"%.*s\": %s", STR_ARG(name),
				 fault);
	fault = names_dns_subdomain(str_from(c->node_name));
	if (fault)
		return error_set(err, ERR_INVALID, "node name \"%s\": %s",
				 c->node_name ? c->node_name : "", fault);
	if (c->instance && !cdi_file_is_safe(str_from(c->instance)))
		return error_set(err, ERR_INVALID,
				 "instance \"%s\" is not letters, digits, '-', '_' and '.'",
				 c->instance);
	if (c->mode == DP_MODE_PLUGIN && !names_is_extended_resource(str_from(c->resource)))
		return error_set(err, ERR_INVALID,
				 "resource \"%s\" is not an extended resource such as "
				 "example.com/gpu",
				 c->resource ? c->resource : "");
	if (c->mode == DP_MODE_DRA && !c->prepare)
		return error_set(err, ERR_INVALID, "a DRA driver needs prepare()");
	return 0;
}

static bool has_device(void *arg, const char *pool, const char *device)
{
	const struct dp_driver *d = arg;

	return device_table_find(d->table, str_from(pool), str_from(device)) != NULL;
}

static void on_seen(void *arg, const struct dp_claim *c, struct str object)
{
	struct claim_status_id id = { str_from(dp_claim_namespace(c)), str_from(dp_claim_name(c)),
				      str_from(dp_claim_uid(c)) };

	claim_status_seen(((struct dp_driver *)arg)->status, id, object);
}

/* --- CDI files of devices ----------------------------------------------------------------- */

int dp_driver_write_cdi(struct dp_driver *d, const char *device, const struct dp_edits *e, char *id,
			size_t id_size, char *message, size_t message_size)
{
	struct cdi_file f = { d->config.cdi_dir, d->config.name, "device", device };
	struct str name = str_from(device);
	struct json *edits, *devices;
	struct arena a;
	struct error err;
	int r = 0;

	arena_init(&a, DRIVER_CLAIM_MAX);
	edits = json_make_object(&a);
	devices = json_make_array(&a);
	if (!cdi_file_is_safe(name))
		r = error_set(&err, ERR_INVALID, "\"%.*s\" cannot be part of a CDI name",
			      STR_ARG(name));
	if (r == 0)
		r = cdi_file_edit(&a, edits, e, &err);
	json_append(devices, cdi_file_device(&a, name, edits));
	if (r == 0)
		r = cdi_file_write(&f, &a, devices, &err);
	if (r == 0 && id && id_size > 0)
		(void)snprintf(id, id_size, "%s", cdi_file_id(&a, &f, name).p);
	arena_release(&a);
	return r < 0 ? driver_say(&err, message, message_size) : 0;
}

int dp_driver_remove_cdi(struct dp_driver *d, const char *device)
{
	struct cdi_file f = { d->config.cdi_dir, d->config.name, "device", device };

	if (!cdi_file_is_safe(str_from(device)))
		return -1;
	return cdi_file_remove(&f, NULL) < 0 ? -1 : 0;
}

/* --- start -------------------------------------------------------------------------------- */

static void driver_on_tick(struct loop_timer *t)
{
	struct dp_driver *d = CONTAINER_OF(t, struct dp_driver, tick);

	loop_timer_start(t, d->config.tick_ms);
	d->config.tick(d->config.arg);
}

/* The endpoint that we register must be an absolute path. */
static int resolve_root(struct dp_driver *d, struct error *err)
{
	char *path;
	int r = folder_make(d->config.root_dir, 0750, err);

	if (r < 0)
		return r;
	path = realpath(d->config.root_dir, NULL);
	if (!path)
		return error_set(err, ERR_IO, "cannot find the folder %s", d->config.root_dir);
	d->config.root_dir = arena_strdup(&d->arena, str_from(path));
	free(path);
	return 0;
}

static void on_unregistered(struct loop_timer *t)
{
	struct dp_driver *d = CONTAINER_OF(t, struct dp_driver, unregistered);
	struct error err;

	if (driver_check_registered(d, &err) < 0)
		driver_log(&d->log, DP_LOG_WARN, "after %d s: %s", UNREGISTERED_MS / 1000, err.msg);
}

/* A kubelet makes these folders when it starts. */
static bool has_kubelet(const struct dp_driver *d)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);

	(void)buf_printf(&path, "%s/%s", d->config.root_dir,
			 d->config.mode == DP_MODE_DRA ? "plugins_registry" : "device-plugins");
	return path.p && access(path.p, F_OK) == 0;
}

static int start_http(struct dp_driver *d, struct error *err)
{
	if (!d->config.metrics_address)
		return 0;
	if (!d->metrics)
		d->metrics = d->own_metrics = metrics_new();
	return driver_http_start(d, &d->http, err);
}

static int open_client(struct dp_driver *d, struct error *err)
{
	struct kubeconfig_opts k = { .path = d->config.kubeconfig };
	struct client_opts o = { .config = &d->kubeconfig,
				 .role = "driver",
				 .metrics = d->metrics };
	int r = kubeconfig_load(&d->kubeconfig, &k, err);

	return r < 0 ? r : client_new(d->loop, &o, &d->client, err);
}

static void start_publisher(struct dp_driver *d)
{
	const struct dp_driver_config *c = &d->config;
	struct publisher_opts o = { .client = d->client,
				    .driver = str_from(c->name),
				    .node = str_from(c->node_name),
				    .instance = str_from(c->instance),
				    .started = str_from(c->instance ? d->started : NULL),
				    .taint_unhealthy = c->flags & DP_FLAG_TAINT_UNHEALTHY,
				    .log = &d->log,
				    .metrics = d->metrics };

	if (c->flags & DP_FLAG_NO_SLICES)
		return;
	d->publisher = publisher_new(&o);
	if (d->table)
		publisher_set(d->publisher, d->table);
}

static int start_dra(struct dp_driver *d, struct error *err)
{
	const struct dp_driver_config *c = &d->config;
	struct prepare_opts o = { .loop = d->loop,
				  .driver = c->name,
				  .cdi_dir = c->cdi_dir,
				  .shared = c->instance != NULL,
				  .again = c->flags & DP_FLAG_PREPARE_AGAIN,
				  .prepare = c->prepare,
				  .unprepare = c->unprepare,
				  .arg = c->arg,
				  .has_device = has_device,
				  .has_arg = d,
				  .seen = on_seen,
				  .seen_arg = d,
				  .log = &d->log,
				  .metrics = d->metrics };
	struct claim_status_opts status = { .driver = c->name,
					    .log = &d->log,
					    .metrics = d->metrics };
	int r = open_client(d, err);

	if (r < 0)
		return r;
	o.client = status.client = d->client;
	d->status = claim_status_new(&status);
	o.dir = arena_printf(&d->arena, "%s/plugins/%s", c->root_dir, c->name);
	r = prepare_new(&o, &d->prepare, err);
	if (r < 0)
		return r;
	start_publisher(d);
	return dra_mode_start(d, &d->dra, err);
}

int driver_start(struct dp_driver *d, struct error *err)
{
	const struct dp_driver_config *c = &d->config;
	int r;

	d->had_kubelet = has_kubelet(d);
	r = resolve_root(d, err);
	if (r == 0)
		r = start_http(d, err);
	if (r < 0)
		return r;
	(void)timestamp_print(clock_wall(loop_clock(d->loop)), TIMESTAMP_MICRO, d->started);
	d->reporter = reporter_new(d->loop, c->mode == DP_MODE_DRA ? c->heartbeat_ms : 0,
				   d->metrics);
	if (d->table)
		reporter_set(d->reporter, d->table);
	r = c->mode == DP_MODE_DRA ? start_dra(d, err) : plugin_mode_start(d, &d->plugin, err);
	if (r == 0 && c->tick && c->tick_ms > 0)
		loop_timer_start(&d->tick, c->tick_ms);
	if (r == 0)
		loop_timer_start(&d->unregistered, UNREGISTERED_MS);
	return r;
}

int driver_check(const struct dp_driver *d, struct error *err)
{
	return d->publisher ? publisher_check(d->publisher, err) : 0;
}

int driver_check_registered(const struct dp_driver *d, struct error *err)
{
	const char *root = d->config.root_dir;

	if (d->registered)
		return 0;
	if (d->had_kubelet)
		return error_set(err, ERR_UNAVAILABLE,
				 "not registered: check that the kubelet or node agent runs, and "
				 "that its root folder is %s",
				 root);
	return error_set(err, ERR_UNAVAILABLE,
			 "not registered, and %s had no kubelet: give the root folder of the "
			 "kubelet or node agent, and mount it if the driver is a pod",
			 root);
}

/* --- end ---------------------------------------------------------------------------------- */

/* Messages that were posted before the end are still delivered, and need the driver. */
static void driver_on_last(struct loop_timer *t)
{
	struct dp_driver *d = CONTAINER_OF(t, struct dp_driver, last);

	if (d->on_ended)
		driver_post_ended(d);
	else
		loop_stop(d->loop);
}

static void on_owed(struct loop_timer *t);

/* No calls are left. Frees the parts in the order of their dependencies. */
static void on_unserved(void *arg)
{
	struct dp_driver *d = arg;

	driver_http_free(TAKE(d->http));
	publisher_free(TAKE(d->publisher));
	claim_status_free(TAKE(d->status));
	prepare_free(TAKE(d->prepare));
	client_free(TAKE(d->client));
	reporter_free(TAKE(d->reporter));
	dra_mode_free(TAKE(d->dra));
	plugin_mode_free(TAKE(d->plugin));
	if (d->killed)
		driver_on_last(&d->last);
	else
		loop_timer_start(&d->last, 0);
}

static void on_flushed(void *arg)
{
	struct dp_driver *d = arg;

	if (d->flushed)
		return;
	d->flushed = true;
	driver_http_stop(d->http, on_unserved, d);
}

/* All calls have ended. */
static void on_silent(void *arg)
{
	struct dp_driver *d = arg;

	d->silent = true;
	if (!d->killed && d->prepare && prepare_owed(d->prepare)) {
		loop_timer_init(&d->tick, d->loop, on_owed);
		loop_timer_start(&d->tick, OWED_MS);
	} else if (!d->killed && d->status) {
		claim_status_end(d->status, STATUS_GRACE_MS, on_flushed, d);
	} else {
		on_flushed(d);
	}
}

static void on_owed(struct loop_timer *t)
{
	on_silent(CONTAINER_OF(t, struct dp_driver, tick));
}

void driver_end(struct dp_driver *d, void (*done)(void *arg), void *arg)
{
	if (d->ending)
		return;
	d->ending = true;
	d->on_ended = done;
	d->ended_arg = arg;
	loop_timer_stop(&d->tick);
	loop_timer_stop(&d->unregistered);
	if (d->reporter)
		reporter_end(d->reporter);
	if (d->dra)
		dra_mode_stop(d->dra, on_silent, d);
	else if (d->plugin)
		plugin_mode_stop(d->plugin, on_silent, d);
	else
		on_silent(d);
}

void driver_kill(struct dp_driver *d, void (*done)(void *arg), void *arg)
{
	d->killed = true;
	if (!d->ending) {
		driver_end(d, done, arg);
	} else if (loop_timer_running(&d->last)) {
		loop_timer_stop(&d->last);
		driver_on_last(&d->last);
	} else if (d->silent) {
		loop_timer_stop(&d->tick);
		on_flushed(d);
	}
}

void driver_end_own(struct dp_driver *d)
{
	if (d->own_loop)
		driver_end(d, NULL, NULL);
}

static void driver_on_signal(void *arg, int signum)
{
	struct dp_driver *d = arg;

	driver_log(&d->log, DP_LOG_INFO, "stopping because of signal %d", signum);
	driver_end_own(d);
}

static int catch_signals(struct dp_driver *d, struct error *err)
{
	static const int signums[] = { SIGTERM, SIGINT };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(signums); i++)
		r = loop_signal_new(d->loop, signums[i], driver_on_signal, d, &d->signals[i], err);
	return r;
}

int dp_driver_run(struct dp_driver *d, char *message, size_t message_size)
{
	struct error err;
	int r = 0;

	if (d->config.flags & DP_FLAG_SIGNALS)
		r = catch_signals(d, &err);
	if (r == 0)
		r = driver_start(d, &err);
	if (r < 0)
		driver_end_own(d);
	loop_run(d->loop);
	for (size_t i = 0; i < ARRAY_SIZE(d->signals); i++)
		loop_signal_free(TAKE(d->signals[i]));
	return r < 0 ? driver_say(&err, message, message_size) : 0;
}

/* --- life --------------------------------------------------------------------------------- */

int driver_new_on(struct loop *l, struct metrics *metrics, const struct dp_driver_config *config,
		  struct dp_driver **ret_driver, struct error *err)
{
	struct dp_driver *d = XNEW(struct dp_driver);
	int r = 0;

	d->loop = l;
	d->metrics = metrics;
	arena_init(&d->arena, SIZE_MAX);
	if (!ABI_READ_GROWN(&d->config, config, 0, metrics_address))
		r = error_set(err, ERR_INVALID, "struct dp_driver_config has no size");
	else if (d->config.abi != DP_DRIVER_ABI)
		r = error_set(err, ERR_INVALID, "the driver was built for ABI %u, this is %d",
			      d->config.abi, DP_DRIVER_ABI);
	if (r == 0) {
		keep_texts(d);
		fill_defaults(&d->config);
		r = check_config(&d->config, err);
	}
	if (r < 0) {
		arena_release(&d->arena);
		free(d);
		return r;
	}
	d->log = (struct driver_log){ d->config.log, d->config.arg };
	loop_timer_init(&d->tick, l, driver_on_tick);
	loop_timer_init(&d->last, l, driver_on_last);
	loop_timer_init(&d->unregistered, l, on_unregistered);
	*ret_driver = d;
	return 0;
}

int dp_driver_new(const struct dp_driver_config *config, struct dp_driver **ret_driver,
		  char *message, size_t message_size)
{
	struct loop *l;
	struct error err;

	if (loop_new(&l, &err) < 0)
		return driver_say(&err, message, message_size);
	if (driver_new_on(l, NULL, config, ret_driver, &err) < 0) {
		loop_free(l);
		return driver_say(&err, message, message_size);
	}
	(*ret_driver)->own_loop = true;
	return 0;
}

void dp_driver_free(struct dp_driver *d)
{
	if (!d)
		return;
	if (d->own_loop) {
		/* Deliver the last messages, and let connections close, which takes one turn. */
		loop_timer_start(&d->last, 0);
		loop_run(d->loop);
	}
	device_table_free(d->table);
	kubeconfig_release(&d->kubeconfig);
	metrics_free(d->own_metrics);
	if (d->own_loop)
		loop_free(d->loop);
	arena_release(&d->arena);
	free(d);
}
