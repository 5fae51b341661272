/*
 * The last published status is kept as a tree, in one of two arenas that alternate. A new status is
 * built in the other one, and stays there if it is sent.
 */
#include "drivers/disk/driver.h"

#include <sys/stat.h>

#include "api/schema/names.h"
#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/report/log.h"
#include "base/report/metrics.h"
#include "client/api/client.h"
#include "client/kubeconfig/kubeconfig.h"
#include "drivers/disk/api.h"
#include "drivers/disk/enforce.h"
#include "drivers/disk/probe.h"
#include "drivers/disk/status.h"

/* A running probe on its thread. */
struct probing {
	struct loop_msg msg;
	struct thread thread;
	struct disk_driver *driver;
	char device[DISK_NAME_SIZE];
	struct disk_capacity found;
	struct error err; /* code ERR_OK: success */
	_Atomic bool cancel;
	bool running;
};

struct disk_driver {
	struct disk_driver_opts opts;
	struct disk_host host;
	struct disk_meter meter;
	struct disk_book book;
	struct timespec book_time; /* modification time of the file that was read */
	struct kubeconfig kubeconfig;
	struct client *client;
	struct disk_api *api;
	struct disk_enforce *enforce; /* NULL: disabled */
	struct loop_timer tick;
	struct arena arenas[2];
	unsigned turn; /* index of the arena of `published` */
	const struct json *published; /* NULL: nothing yet */
	int64_t published_at; /* monotonic ns */
	struct disk_probe_answer answer;
	struct probing probing;
	struct log_limit limit;
	void (*stopped)(void *arg); /* NULL: not stopping */
	void *stopped_arg;
	struct metrics_family *gauges; /* or NULL */
	struct metrics_counter *rounds; /* or NULL */
};

static int64_t now_of(const struct disk_driver *d)
{
	return clock_monotonic(loop_clock(d->opts.loop));
}

static int64_t wall_of(const struct disk_driver *d)
{
	return clock_wall(loop_clock(d->opts.loop));
}

/* --- capacities ------------------------------------------------------------------------------ */

/* Also reloads it after `driver disk probe` wrote it. */
static void read_book(struct disk_driver *d)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);
	struct stat st = { 0 };
	struct error err;

	disk_book_path(d->opts.root_dir, &path);
	if (stat(path.p, &st) < 0 || (st.st_mtim.tv_sec == d->book_time.tv_sec &&
				      st.st_mtim.tv_nsec == d->book_time.tv_nsec))
		return;
	d->book_time = st.st_mtim;
	if (disk_book_load(&d->book, d->opts.root_dir, &err) < 0)
		log_warn(d->opts.log, "cannot read the saved probe results; probe the disks again",
			 LOG_ERR(&err));
}

/* --- status ---------------------------------------------------------------------------------- */

static struct disk_status_input input(const struct disk_driver *d)
{
	return (struct disk_status_input){ .meter = &d->meter,
					   .spec = d->opts.spec,
					   .book = &d->book,
					   .probe = &d->answer,
					   .wall = wall_of(d) };
}

static void publish(struct disk_driver *d, bool even_without_news)
{
	unsigned turn = !d->turn;
	struct disk_status_input in = input(d);
	const struct json *status;

	arena_clear(&d->arenas[turn]);
	status = disk_status_tree(&d->arenas[turn], &in);
	if (!even_without_news && !disk_status_changed(d->published, status, d->opts.report_change))
		return;
	d->turn = turn;
	d->published = status;
	d->published_at = now_of(d);
	disk_api_publish(d->api, status);
}

static void set_gauge(struct disk_driver *d, const char *device, const char *what, double v)
{
	metrics_gauge_set(metrics_gauge(d->gauges, str_from(device), str_from(what)), v);
}

static void show_metrics(struct disk_driver *d)
{
	metrics_counter_add(d->rounds, 1);
	for (size_t i = 0; i < d->meter.devices.n; i++) {
		const struct disk_device *v = &d->meter.devices.v[i];

		set_gauge(d, v->stat.name, "read", v->rates.read_bytes);
		set_gauge(d, v->stat.name, "write", v->rates.write_bytes);
	}
}

/* A device that is gone gets no metrics, instead of its last rates. */
static void clear_metrics(struct disk_driver *d)
{
	for (size_t i = 0; i < d->meter.devices.n; i++) {
		set_gauge(d, d->meter.devices.v[i].stat.name, "read", 0);
		set_gauge(d, d->meter.devices.v[i].stat.name, "write", 0);
	}
}

static int sample(struct disk_driver *d, struct error *err)
{
	int r;

	if (d->gauges)
		clear_metrics(d);
	r = disk_host_sample(&d->host, d->opts.spec, &d->meter, now_of(d), err);

	if (r == 0 && d->gauges)
		show_metrics(d);
	return r;
}

static void driver_complain(struct disk_driver *d, const char *what, const struct error *err)
{
	uint64_t suppressed;

	if (log_limit_allow(&d->limit, now_of(d), &suppressed))
		log_warn(d->opts.log, what, LOG_ERR(err), LOG_SUPPRESSED(suppressed));
}

static void driver_on_tick(struct loop_timer *t)
{
	struct disk_driver *d = CONTAINER_OF(t, struct disk_driver, tick);
	bool due = now_of(d) - d->published_at >= d->opts.report_interval_ns;
	struct disk_status_input in;
	struct error err;

	loop_timer_start(t, MAX(d->opts.interval_ns / CLOCK_MS, 1));
	read_book(d);
	if (sample(d, &err) < 0) {
		driver_complain(d, "disks are not measured", &err);
		return;
	}
	publish(d, due || !d->published);
	in = input(d);
	if (d->enforce && disk_enforce_round(d->enforce, &in, &err) < 0)
		driver_complain(d, "requests of disk bandwidth are not enforced", &err);
}

/* --- probes ---------------------------------------------------------------------------------- */

/* Reads and writes the file on this thread; the loop reloads it when it changes. */
static void driver_remember(struct probing *p)
{
	struct disk_driver *d = p->driver;
	struct disk_book book;

	disk_book_init(&book);
	/* A file that cannot be parsed is replaced. */
	(void)disk_book_load(&book, d->opts.root_dir, NULL);
	(void)disk_book_note(&book, &p->found, clock_wall(clock_system()));
	(void)disk_book_save(&book, d->opts.root_dir, &p->err);
	disk_book_release(&book);
}

static void probe(void *arg)
{
	struct probing *p = arg;
	struct disk_probe_opts o = { .host = &p->driver->host,
				     .target = p->device,
				     .duration_ns = p->driver->opts.probe_ns,
				     .cancel = &p->cancel };

	if (disk_probe_run(&o, &p->found, &p->err) == 0)
		driver_remember(p);
	loop_post(p->driver->opts.loop, &p->msg);
}

static void driver_answer(struct disk_driver *d, const struct error *err)
{
	d->answer.ended = wall_of(d);
	if (err->code != ERR_OK) {
		d->answer.state = "Failed";
		(void)snprintf(d->answer.message, sizeof(d->answer.message), "%s", err->msg);
		log_warn(d->opts.log, "probe failed", LOG_Z("device", d->answer.device),
			 LOG_ERR(err));
	} else {
		d->answer.state = "Succeeded";
		log_info(d->opts.log, "probed", LOG_Z("device", d->answer.device),
			 LOG_INT("readBytesPerSecond", d->answer.found.read));
	}
	publish(d, true);
	disk_api_answered(d->api, str_from(d->answer.device));
}

static void on_probed(struct loop_msg *m)
{
	struct probing *p = CONTAINER_OF(m, struct probing, msg);
	struct disk_driver *d = p->driver;

	thread_join(&p->thread);
	p->running = false;
	if (d->stopped) {
		/* The annotation stays: the next start of the driver handles it. */
		d->stopped(d->stopped_arg);
		return;
	}
	read_book(d);
	d->answer.found = p->found;
	driver_answer(d, &p->err);
}

static int check_probe(const struct disk_driver *d, struct str device, struct error *err)
{
	CLEANUP(buf_release) struct buf names = BUF_INIT(256);

	if (device.n < DISK_NAME_SIZE && disk_meter_find(&d->meter, d->answer.device))
		return 0;
	for (size_t i = 0; i < d->meter.devices.n; i++)
		(void)buf_printf(&names, "%s%s", i ? ", " : "", d->meter.devices.v[i].stat.name);
	return error_set(err, ERR_NOT_FOUND, "\"%.*s\" is not a measured device: %s",
			 (int)MIN(device.n, (size_t)DISK_NAME_SIZE), device.p,
			 names.n ? names.p : "there is none");
}

static void on_probe_wanted(void *arg, struct str device)
{
	struct disk_driver *d = arg;
	struct probing *p = &d->probing;
	struct error err = { 0 };

	if (p->running || d->stopped)
		return;
	d->answer = (struct disk_probe_answer){ .state = "Running", .started = wall_of(d) };
	(void)snprintf(d->answer.device, sizeof(d->answer.device), "%.*s", STR_ARG(device));
	*p = (struct probing){ .driver = d, .msg.fn = on_probed };
	memcpy(p->device, d->answer.device, sizeof(p->device));
	if (check_probe(d, device, &err) == 0 &&
	    thread_start(&p->thread, "disk-probe", probe, p, &err) == 0) {
		p->running = true;
		publish(d, true);
	} else {
		driver_answer(d, &err);
	}
}

/* --- life ------------------------------------------------------------------------------------ */

static int driver_add_metrics(struct disk_driver *d, struct error *err)
{
	static const char *const labels[] = { "device", "direction" };
	struct metrics_spec gauges = { .name = "devplane_disk_bytes_per_second",
				       .help = "Published read and write rate of a disk, in bytes "
					       "per second.",
				       .type = METRICS_GAUGE,
				       .labels = labels,
				       .labels_n = 2 };
	struct metrics_spec rounds = { .name = "devplane_disk_rounds_total",
				       .help = "Measurements of all disks.",
				       .type = METRICS_COUNTER };
	struct metrics_family *f;
	int r;

	if (!d->opts.metrics)
		return 0;
	r = metrics_register(d->opts.metrics, &rounds, &f, err);
	if (r < 0)
		return r;
	d->rounds = metrics_counter_of(f, NULL, 0);
	return metrics_register(d->opts.metrics, &gauges, &d->gauges, err);
}

static int connect_api(struct disk_driver *d, struct error *err)
{
	struct kubeconfig_opts k = { .path = d->opts.kubeconfig };
	struct client_opts o = { .config = &d->kubeconfig,
				 .role = "driver-disk",
				 .metrics = d->opts.metrics,
				 .log = d->opts.log };
	struct disk_api_opts a = { .log = d->opts.log,
				   .metrics = d->opts.metrics,
				   .node = d->opts.node_name,
				   .install_crd = d->opts.install_crd,
				   .on_probe = on_probe_wanted,
				   .arg = d };
	int r = kubeconfig_load(&d->kubeconfig, &k, err);

	if (r == 0)
		r = client_new(d->opts.loop, &o, &d->client, err);
	if (r < 0)
		return r;
	a.client = d->client;
	d->api = disk_api_new(&a);
	if (d->opts.enforce)
		d->enforce = disk_enforce_new(
			&(struct disk_enforce_opts){ .client = d->client,
						     .metrics = d->opts.metrics,
						     .node = d->opts.node_name,
						     .host = &d->host,
						     .log = d->opts.log });
	return 0;
}

static int driver_begin(struct disk_driver *d, struct error *err)
{
	const char *fault = names_dns_subdomain(str_from(d->opts.node_name));
	int r;

	if (fault)
		return error_set(err, ERR_INVALID, "node name \"%s\": %s", d->opts.node_name,
				 fault);
	r = disk_host_open(&d->host, &d->opts.host, err);
	if (r == 0)
		r = driver_add_metrics(d, err);
	read_book(d);
	if (r == 0)
		r = sample(d, err);
	if (r == 0)
		r = connect_api(d, err);
	if (r == 0)
		loop_timer_start(&d->tick, MAX(d->opts.interval_ns / CLOCK_MS, 1));
	return r;
}

int disk_driver_new(const struct disk_driver_opts *opts, struct disk_driver **ret_driver,
		    struct error *err)
{
	struct disk_driver *d = XNEW(struct disk_driver);
	int r;

	d->opts = *opts;
	d->limit.per_s = 1;
	disk_meter_init(&d->meter, opts->smoothing_ns);
	disk_book_init(&d->book);
	arena_init(&d->arenas[0], SIZE_MAX);
	arena_init(&d->arenas[1], SIZE_MAX);
	loop_timer_init(&d->tick, opts->loop, driver_on_tick);
	r = driver_begin(d, err);
	if (r < 0) {
		disk_driver_free(d);
		return r;
	}
	*ret_driver = d;
	return 0;
}

void disk_driver_stop(struct disk_driver *d, void (*done)(void *arg), void *arg)
{
	struct disk_status_input in = input(d);

	loop_timer_stop(&d->tick);
	if (d->enforce)
		disk_enforce_clear(d->enforce, &in);
	d->stopped = done;
	d->stopped_arg = arg;
	atomic_store(&d->probing.cancel, true);
	if (!d->probing.running)
		done(arg);
}

void disk_driver_free(struct disk_driver *d)
{
	if (!d)
		return;
	loop_timer_stop(&d->tick);
	disk_enforce_free(d->enforce);
	disk_api_free(d->api);
	client_free(d->client);
	kubeconfig_release(&d->kubeconfig);
	disk_meter_release(&d->meter);
	disk_book_release(&d->book);
	arena_release(&d->arenas[0]);
	arena_release(&d->arenas[1]);
	free(d);
}

int disk_driver_check(const struct disk_driver *d, struct error *err)
{
	return disk_api_check(d->api, err);
}

const struct disk_meter *disk_driver_meter(const struct disk_driver *d)
{
	return &d->meter;
}

const struct disk_host *disk_driver_host(const struct disk_driver *d)
{
	return &d->host;
}

struct disk_capacity disk_driver_capacity(const struct disk_driver *d, const char *device)
{
	return disk_status_capacity(d->opts.spec, &d->book, device);
}
