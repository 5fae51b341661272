/*
 * The book is opened first: a damaged one stops the driver before it can touch a GPU. Then the
 * SDK's sockets open, so that the kubelet gets answers even while NVML is still silent.
 */
#include "drivers/nvidia/driver.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/core/map.h"
#include "base/core/mem.h"
#include "base/system/boot.h"
#include "base/system/file.h"
#include "base/system/folder.h"
#include "drivers/drivers_limits.h"
#include "drivers/gpu_share/mps_process.h"
#include "drivers/nvidia/driver_impl.h"
#include "drivers/sdk/claim_status.h"

const char *nvidia_driver_path(struct arena *a, const char *root_dir, const char *name,
			       const char *file)
{
	return arena_printf(a, "%s/plugins/%s/%s", root_dir, name, file);
}

void nvidia_warn(struct nvidia_driver *d, const char *what, const struct error *err)
{
	if (strcmp(d->logged, err->msg) == 0)
		return;
	(void)snprintf(d->logged, sizeof(d->logged), "%s", err->msg);
	log_warn(d->opts.log, what, LOG_ERR(err));
}

/* --- making ---------------------------------------------------------------------------------- */

static void driver_on_log(void *arg, uint32_t level, const char *line)
{
	const struct nvidia_driver *d = arg;

	log_at(d->opts.log, (enum log_level)level, line);
}

static bool driver_knows(void *arg, const char *uid)
{
	const struct nvidia_driver *d = arg;

	return !d->driver->prepare || prepare_knows(d->driver->prepare, str_from(uid));
}

/* Needs the libraries of programs, which a scan finds. */
void nvidia_take_over(struct nvidia_driver *d)
{
	if (!d->claims_known || !d->snapshot || d->taken_over)
		return;
	d->taken_over = true;
	nvidia_shares_sweep(d->shares, driver_knows, d);
}

/* From now on the SDK knows all prepared claims, so uses of others can go. */
static void driver_on_registered(void *arg, uint32_t yes, const char *message UNUSED)
{
	struct nvidia_driver *d = arg;

	if (!yes || d->claims_known)
		return;
	d->claims_known = true;
	nvidia_take_over(d);
	nvidia_scan(d);
}

static int make_sdk_driver(struct nvidia_driver *d, struct error *err)
{
	const struct nvidia_driver_opts *o = &d->opts;
	struct dp_driver_config c = {
		.size = sizeof(c),
		.abi = DP_DRIVER_ABI,
		.mode = DP_MODE_DRA,
		.flags = o->no_health ? (uint32_t)DP_FLAG_NO_HEALTH : 0,
		.name = d->name,
		.node_name = o->node_name,
		.kubeconfig = o->kubeconfig,
		.root_dir = o->root_dir,
		.cdi_dir = o->cdi_dir,
		.health_timeout_s = o->timeout_s,
		.heartbeat_ms = o->heartbeat_ms,
		.arg = d,
		.prepare = nvidia_prepare,
		.unprepare = nvidia_unprepare,
		.registered = driver_on_registered,
		.log = driver_on_log,
	};

	return driver_new_on(o->loop, o->metrics, &c, &d->driver, err);
}

static void driver_on_scan_timer(struct loop_timer *t)
{
	nvidia_scan(CONTAINER_OF(t, struct nvidia_driver, scan_timer));
}

static void driver_on_poll_timer(struct loop_timer *t)
{
	nvidia_poll(CONTAINER_OF(t, struct nvidia_driver, poll_timer));
}

/* Most code runs at the start only, NVML's and that of TLS in particular. */
static void driver_on_tidy_timer(struct loop_timer *t)
{
	mem_tidy();
	loop_timer_start(t, NVIDIA_TIDY_MS);
}

int nvidia_driver_new(const struct nvidia_driver_opts *opts, struct nvidia_driver **ret_driver,
		      struct error *err)
{
	struct nvidia_driver *d = XNEW(struct nvidia_driver);
	int r = 0;

	d->opts = *opts;
	if (!d->opts.read.root)
		d->opts.read.root = "";
	d->name = opts->name ? opts->name : GPU_DRIVER_NAME;
	arena_init(&d->arena, GPU_SCRATCH_MAX);
	d->boot_id = boot_id();
	d->health = gpu_health_book_new();
	d->rules = xid_rules_new();
	d->health_opts.evict = opts->evict;
	(void)error_set(&d->failure, ERR_UNAVAILABLE, "the GPUs were not read yet");
	if (opts->metrics)
		d->measure = nvidia_measure_new(opts->metrics);
	buf_init(&d->known, GPU_KNOWN_FILE_MAX);
	list_init(&d->claims);
	loop_timer_init(&d->scan_timer, opts->loop, driver_on_scan_timer);
	loop_timer_init(&d->poll_timer, opts->loop, driver_on_poll_timer);
	loop_timer_init(&d->tidy_timer, opts->loop, driver_on_tidy_timer);
	if (opts->xid_rules)
		r = xid_rules_load(d->rules, opts->xid_rules, err);
	if (r == 0)
		r = make_sdk_driver(d, err);
	if (r < 0) {
		nvidia_driver_free(d);
		return r;
	}
	*ret_driver = d;
	return 0;
}

void nvidia_driver_free(struct nvidia_driver *d)
{
	if (!d)
		return;
	loop_timer_stop(&d->scan_timer);
	loop_timer_stop(&d->poll_timer);
	loop_timer_stop(&d->tidy_timer);
	kmsg_reader_free(d->kmsg);
	nvidia_shares_free(d->shares);
	nvidia_measure_free(d->measure);
	gpu_prepare_close(d->prepare);
	nvidia_snapshot_unref(d->snapshot);
	nvidia_holders_free(d->holders);
	gpu_health_book_free(d->health);
	xid_rules_free(d->rules);
	dp_driver_free(d->driver);
	arena_release(&d->arena);
	buf_release(&d->known);
	free(d->boot_id);
	free(d);
}

/* --- start ----------------------------------------------------------------------------------- */

/*
 * The folder of MPS daemons. Their sockets need short paths, so another folder is used if that of
 * the driver has a long name: one for each of these.
 */
static const char *mps_folder(struct nvidia_driver *d)
{
	const char *dir = nvidia_driver_path(&d->arena, d->driver->config.root_dir, d->name, "mps");

	if (strlen(dir) + sizeof("/123e4567-e89b-12d3-a456-426614174000") - 1 <= MPS_DIR_MAX)
		return dir;
	return arena_printf(&d->arena, "/run/devplane/mps-%016" PRIx64,
			    hash_bytes(str_from(dir), 0));
}

static int open_books(struct nvidia_driver *d, struct error *err)
{
	const char *root = d->driver->config.root_dir;
	struct gpu_prepare_options o = {
		.path = nvidia_driver_path(&d->arena, root, d->name, NVIDIA_BOOK_FILE),
		.boot_id = d->boot_id,
	};
	struct error why;
	int r = gpu_prepare_open(&o, &d->prepare, err);

	if (r < 0)
		return r;
	d->shares = nvidia_shares_new(d->opts.loop, d->opts.log, mps_folder(d), d->opts.read.root,
				      d->opts.read.driver_root);
	d->health_path = nvidia_driver_path(&d->arena, root, d->name, NVIDIA_HEALTH_FILE);
	if (gpu_health_book_load(d->health, d->health_path, d->boot_id, &why) < 0)
		log_warn(d->opts.log, "cannot read the health of GPUs; it begins anew",
			 LOG_ERR(&why));
	d->known_path = nvidia_driver_path(&d->arena, root, d->name, NVIDIA_KNOWN_FILE);
	if (file_read(d->known_path, &d->known, NULL) < 0)
		buf_clear(&d->known);
	return 0;
}

static void driver_on_opened(void *arg, int result, const struct error *err)
{
	struct nvidia_driver *d = arg;

	if (result < 0) {
		d->failure = *err;
		nvidia_warn(d, "cannot use NVIDIA's management library", err);
		return;
	}
	nvidia_scan(d);
}

static int start_worker(struct nvidia_driver *d, struct error *err)
{
	struct nvml_worker_options o = {
		.library = d->opts.library,
		.deadline_ms = d->opts.deadline_ms,
		.events = true,
		.event = nvidia_on_event,
		.opened = driver_on_opened,
		.silent = nvidia_on_silent,
		.arg = d,
	};

	return nvml_worker_start(d->opts.loop, &o, &d->worker, err);
}

/* Without it Xids have no process, and none are seen while NVML is silent. */
static void follow_kernel(struct nvidia_driver *d)
{
	const char *path = arena_printf(&d->arena, "%s/dev/kmsg", d->opts.read.root);
	struct error err;

	if (kmsg_reader_new(d->opts.loop, path, nvidia_on_kernel_xid, d, &d->kmsg, &err) < 0)
		log_info(d->opts.log, "cannot follow the kernel's log", LOG_ERR(&err));
}

int nvidia_driver_start(struct nvidia_driver *d, struct error *err)
{
	int r = open_books(d, err);

	loop_timer_start(&d->tidy_timer, NVIDIA_TIDY_FIRST_MS);
	if (r == 0)
		follow_kernel(d);
	if (r == 0)
		r = driver_start(d->driver, err);
	if (r < 0)
		return r;
	/* The fault of a program takes one request then, because prepare has read the claim. */
	claim_status_expect(d->driver->status);
	return start_worker(d, err);
}

/* --- end ------------------------------------------------------------------------------------- */

static void stop_worker(struct nvidia_driver *d, uint32_t grace_ms)
{
	/* A thread that hangs keeps its book. */
	if (d->worker && nvml_worker_silent(d->worker))
		d->prepare = NULL;
	nvml_worker_stop(TAKE(d->worker), grace_ms);
}

static void driver_on_ended(void *arg)
{
	struct nvidia_driver *d = arg;

	stop_worker(d, NVIDIA_CLAIM_MS);
	d->on_stopped(d->stopped_arg);
}

/* Claims under way are finished first, unless NVML is silent. */
void nvidia_driver_stop(struct nvidia_driver *d, void (*done)(void *arg), void *arg)
{
	if (d->stopping)
		return;
	d->stopping = true;
	d->on_stopped = done;
	d->stopped_arg = arg;
	loop_timer_stop(&d->scan_timer);
	loop_timer_stop(&d->poll_timer);
	loop_timer_stop(&d->tidy_timer);
	kmsg_reader_free(TAKE(d->kmsg));
	if (d->worker && nvml_worker_silent(d->worker))
		stop_worker(d, 0);
	driver_end(d->driver, driver_on_ended, d);
}

/* The start has used more memory than the work needs: that is given back before "ready". */
int nvidia_driver_check(struct nvidia_driver *d, struct error *err)
{
	int r = d->snapshot ? driver_check(d->driver, err) : error_copy(err, &d->failure);

	if (r == 0 && !d->was_ready && driver_check_registered(d->driver, NULL) == 0) {
		d->was_ready = true;
		mem_tidy();
	}
	return r;
}

int nvidia_driver_check_registered(const struct nvidia_driver *d, struct error *err)
{
	return driver_check_registered(d->driver, err);
}
