/*
 * The parts are opened from the inside out: the book and the kernel first, so that operations
 * interrupted by a crash are known before the sockets of the SDK and the plugin open. They are
 * closed in reverse.
 */
#include "drivers/nic/driver.h"

#include "base/core/limits.h"
#include "base/json/writer.h"
#include "base/report/metrics.h"
#include "drivers/nic/driver_impl.h"
#include "drivers/rtnl/watch.h"

/* --- looks ----------------------------------------------------------------------------------- */

/* The SDK's checkpoint was lost, so nobody will unprepare the claim. */
static bool is_forgotten(const struct nic_driver *d, const struct nic_use *u)
{
	const struct prepare *p = d->driver->prepare;

	return p && u->state == NIC_PREPARED && !prepare_knows(p, str_from(u->claim_uid));
}

static void drop_forgotten(struct nic_driver *d)
{
	struct nic_use *u = NULL, *next = nic_book_next(d->book, NULL);
	struct error err;
	bool dropped = false;

	while ((u = next)) {
		next = nic_book_next(d->book, u);
		if (!is_forgotten(d, u))
			continue;
		log_warn(d->opts.log, "device is free: its claim is no longer prepared",
			 LOG_Z("device", u->nic.device), LOG_Z("claim", u->claim_name));
		nic_view_free(u);
		nic_book_remove(d->book, u);
		dropped = true;
	}
	if (dropped && nic_book_save(d->book, &err) < 0)
		log_warn(d->opts.log, "cannot save the driver's state", LOG_ERR(&err));
}

static void driver_on_look(struct loop_timer *t)
{
	struct nic_driver *d = CONTAINER_OF(t, struct nic_driver, look);
	struct error err;

	loop_timer_start(t, NIC_LOOK_MS);
	if (nic_host_list(d, &err) < 0)
		log_warn(d->opts.log, "cannot read the node's network interfaces", LOG_ERR(&err));
	nic_sandbox_sweep(d);
	nic_second_look(d);
	if (list_empty(&d->jobs))
		drop_forgotten(d);
}

/* --- making ---------------------------------------------------------------------------------- */

static void on_log(void *arg, uint32_t level, const char *line)
{
	const struct nic_driver *d = arg;

	log_at(d->opts.log, (enum log_level)level, line);
}

static void on_warning(void *arg, const char *message)
{
	const struct nic_driver *d = arg;

	log_warn(d->opts.log, message);
}

static int make_driver(struct nic_driver *d, struct error *err)
{
	const struct nic_driver_opts *o = &d->opts;
	struct dp_driver_config c = {
		.size = sizeof(c),
		.abi = DP_DRIVER_ABI,
		.mode = DP_MODE_DRA,
		.flags = (uint32_t)DP_FLAG_PREPARE_AGAIN |
			 (o->no_taint ? 0 : (uint32_t)DP_FLAG_TAINT_UNHEALTHY) |
			 (o->no_health ? (uint32_t)DP_FLAG_NO_HEALTH : 0),
		.name = d->name,
		.node_name = o->node_name,
		.kubeconfig = o->kubeconfig,
		.root_dir = o->root_dir,
		.cdi_dir = o->cdi_dir,
		.health_timeout_s = o->timeout_s,
		.heartbeat_ms = o->heartbeat_ms,
		.arg = d,
		.prepare = nic_prepare,
		.unprepare = nic_unprepare,
		.log = on_log,
	};

	return driver_new_on(o->loop, o->metrics, &c, &d->driver, err);
}

static void driver_add_metrics(struct nic_driver *d)
{
	static const double bounds[] = { 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1,
					 0.2,   0.5,   1,     2,    5,    10,   30 };
	static const struct metrics_spec specs[] = {
		{ .name = "devplane_net_attachments",
		  .help = "Network interfaces attached to pods.",
		  .type = METRICS_GAUGE },
		{ .name = "devplane_net_attach_duration_seconds",
		  .help = "Time to attach one network interface to a pod.",
		  .type = METRICS_HISTOGRAM,
		  .bounds = bounds,
		  .bounds_n = ARRAY_SIZE(bounds) },
		{ .name = "devplane_net_attach_failures_total",
		  .help = "Failed attempts to attach a network interface to a pod.",
		  .type = METRICS_COUNTER },
	};
	struct metrics_family *f[ARRAY_SIZE(specs)] = { NULL };

	for (size_t i = 0; d->opts.metrics && i < ARRAY_SIZE(specs); i++)
		(void)metrics_register(d->opts.metrics, &specs[i], &f[i], NULL);
	d->attachments = f[0] ? metrics_gauge_of(f[0], NULL, 0) : NULL;
	d->durations = f[1] ? metrics_histogram_of(f[1], NULL, 0) : NULL;
	d->failures = f[2] ? metrics_counter_of(f[2], NULL, 0) : NULL;
}

int nic_driver_new(const struct nic_driver_opts *opts, struct nic_driver **ret_driver,
		   struct error *err)
{
	struct nic_driver *d = XNEW(struct nic_driver);
	int r;

	d->opts = *opts;
	if (!opts->claim_cni)
		d->opts.claim_cni = NIC_CLAIM_CNI;
	(void)snprintf(d->name, sizeof(d->name), "%s", opts->name ? opts->name : NIC_DRIVER_NAME);
	d->claims = resource_builtin("resource.k8s.io", "v1", "resourceclaims");
	d->pods = resource_builtin("", "v1", "pods");
	list_init(&d->jobs);
	loop_task_init(&d->turn, nic_job_turn);
	loop_task_init(&d->tell, nic_host_tell);
	loop_timer_init(&d->look, opts->loop, driver_on_look);
	r = make_driver(d, err);
	if (r == 0)
		r = nic_spec_check(opts->spec, err);
	if (r == 0)
		r = nic_spec_check_cni(d->opts.claim_cni, err);
	if (r < 0) {
		nic_driver_free(d);
		return r;
	}
	driver_add_metrics(d);
	*ret_driver = d;
	return 0;
}

void nic_driver_free(struct nic_driver *d)
{
	if (!d)
		return;
	nic_job_drop_all(d);
	loop_task_cancel(&d->turn);
	loop_task_cancel(&d->tell);
	loop_timer_stop(&d->look);
	for (struct nic_use *u = NULL; d->book && (u = nic_book_next(d->book, u));)
		nic_view_free(u);
	nic_socket_free(d->socket);
	rtnl_watch_free(d->watch);
	rtnl_close(d->host);
	nic_attach_free(d->attach);
	nic_book_close(d->book);
	nic_inventory_free(d->inventory);
	dp_driver_free(d->driver);
	free(d->creates);
	free(d);
}

/* --- beginning ------------------------------------------------------------------------------- */

static int open_book(struct nic_driver *d, struct error *err)
{
	CLEANUP(buf_release) struct buf dir = BUF_INIT(4 * KIB);
	int r;

	(void)buf_printf(&dir, "%s/plugins/%s", d->driver->config.root_dir, d->name);
	r = nic_book_open(dir.p, on_warning, d, &d->book, err);
	if (r < 0)
		return r;
	for (struct nic_use *u = NULL; (u = nic_book_next(d->book, u));) {
		nic_view_new(d, u);
		if (u->state == NIC_PREPARED)
			continue;
		(void)nic_inventory_set_away(d->inventory, u->nic.device, true, &u->nic);
		if (u->peer[0])
			(void)nic_inventory_hide(d->inventory, u->peer);
	}
	return nic_attach_new(d->book, &d->attach, err);
}

static void driver_on_list(void *arg, struct json_writer *out)
{
	nic_driver_list(arg, out);
}

static int open_socket(struct nic_driver *d, struct error *err)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);
	struct nic_socket_opts o = { .loop = d->opts.loop,
				     .on_question = nic_sandbox_question,
				     .on_gone = nic_sandbox_gone,
				     .on_list = driver_on_list,
				     .arg = d };
	int r = nic_socket_path(d->driver->config.root_dir, d->name, &path, err);

	if (r < 0)
		return r;
	o.path = path.p;
	return nic_socket_new(&o, &d->socket, err);
}

int nic_driver_start(struct nic_driver *d, struct error *err)
{
	int r;

	nic_host_probe(d);
	d->inventory = nic_inventory_new(&d->spec, "/sys");
	r = open_book(d, err);
	if (r == 0)
		r = nic_host_start(d, err);
	if (r < 0)
		return r;
	/* Before any of them gets a status. */
	nic_host_tell(&d->tell);
	nic_job_count(d);
	nic_sandbox_sweep(d);
	r = driver_start(d->driver, err);
	if (r == 0)
		r = open_socket(d, err);
	if (r == 0)
		loop_timer_start(&d->look, NIC_LOOK_MS);
	return r;
}

/* --- end ------------------------------------------------------------------------------------- */

static void on_driver_ended(void *arg)
{
	struct nic_driver *d = arg;

	d->on_stopped(d->stopped_arg);
}

/* Unfinished operations are in the book; the next start completes them. */
static void on_socket_stopped(void *arg)
{
	struct nic_driver *d = arg;

	nic_job_drop_all(d);
	driver_end(d->driver, on_driver_ended, d);
}

void nic_driver_stop(struct nic_driver *d, void (*done)(void *arg), void *arg)
{
	if (d->stopping)
		return;
	d->stopping = true;
	d->on_stopped = done;
	d->stopped_arg = arg;
	loop_timer_stop(&d->look);
	if (d->socket)
		nic_socket_stop(d->socket, on_socket_stopped, d);
	else
		on_socket_stopped(d);
}

/* --- what others ask ------------------------------------------------------------------------- */

const char *nic_driver_name(const struct nic_driver *d)
{
	return d->name;
}

int nic_driver_check(const struct nic_driver *d, struct error *err)
{
	if (!d->known)
		return error_set(err, ERR_UNAVAILABLE,
				 "cannot read the node's network interfaces yet");
	return driver_check(d->driver, err);
}

int nic_driver_check_registered(const struct nic_driver *d, struct error *err)
{
	return driver_check_registered(d->driver, err);
}

static void driver_put(struct json_writer *w, const char *key, const char *text)
{
	json_writer_keyz(w, key);
	json_writer_strz(w, text ? text : "");
}

static void write_device(const struct nic_driver *d, const struct nic *n, struct json_writer *out)
{
	const struct nic_use *u = nic_book_by_device(d->book, str_from(d->opts.node_name),
						     str_from(n->device));
	const struct nic_view *v = u ? nic_view_of(u) : NULL;
	char pod[512] = "", claim[512] = "";

	if (u) {
		(void)snprintf(pod, sizeof(pod), "%s/%s", u->claim_ns, u->pod_name);
		(void)snprintf(claim, sizeof(claim), "%s/%s", u->claim_ns, u->claim_name);
	}
	json_writer_begin_object(out);
	driver_put(out, "device", n->device);
	driver_put(out, "kind", nic_kind_name(n->kind));
	driver_put(out, "interface", u && u->state != NIC_PREPARED ? u->interface : n->interface);
	driver_put(out, "state", u ? nic_state_name(u->state) : n->present ? "free" : "absent");
	driver_put(out, "pod", pod);
	driver_put(out, "claim", claim);
	driver_put(out, "message", v ? (v->several[0] ? v->several : v->message) : n->message);
	json_writer_end_object(out);
}

void nic_driver_list(const struct nic_driver *d, struct json_writer *out)
{
	const struct nic *n;

	json_writer_begin_array(out);
	for (size_t i = 0; d->book && (n = nic_inventory_at(d->inventory, i)); i++)
		write_device(d, n, out);
	json_writer_end_array(out);
}
