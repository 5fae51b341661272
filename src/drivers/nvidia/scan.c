/*
 * Scans: the GPUs, and instances of others. At most one is under way.
 * A scan that is requested meanwhile follows it.
 */
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/mem.h"
#include "base/system/file.h"
#include "drivers/drivers_limits.h"
#include "drivers/nvidia/driver_impl.h"
#include "drivers/nvidia/known.h"

struct scan_job {
	struct nvml_job job;
	struct nvidia_driver *d;
	struct nvidia_read read;
	char *known; /* of `read` */
	struct nvidia_snapshot *snapshot;
	struct nvidia_holders *holders;
	struct gpu_prepare *prepare;
	struct buf notes;
};

/* --- holders --------------------------------------------------------------------------------- */

struct nvidia_holders *nvidia_holders_read(const struct gpu_prepare *p)
{
	struct nvidia_holders *h = XNEW(struct nvidia_holders);
	struct gpu_holder one;
	size_t n = 0;

	arena_init(&h->arena, GPU_SNAPSHOT_MAX);
	while (gpu_prepare_holder(p, n, &one))
		n++;
	h->v = ARENA_ARRAY(&h->arena, struct gpu_holder, n + 1);
	for (h->n = 0; h->n < n; h->n++) {
		struct gpu_holder *to = &h->v[h->n];

		(void)gpu_prepare_holder(p, h->n, to);
		to->claim.uid = arena_str(&h->arena, to->claim.uid);
		to->claim.ns = arena_str(&h->arena, to->claim.ns);
		to->claim.name = arena_str(&h->arena, to->claim.name);
		to->claim.pod = arena_str(&h->arena, to->claim.pod);
		to->device = arena_strdup(&h->arena, str_from(to->device));
		to->gpu = arena_str(&h->arena, to->gpu);
		to->uuid = arena_str(&h->arena, to->uuid);
	}
	return h;
}

void nvidia_holders_free(struct nvidia_holders *h)
{
	if (!h)
		return;
	arena_release(&h->arena);
	free(h);
}

void nvidia_set_holders(struct nvidia_driver *d, struct nvidia_holders **from)
{
	if (!*from)
		return;
	nvidia_holders_free(d->holders);
	d->holders = TAKE(*from);
	nvidia_measure_holders(d->measure, d->holders->v, d->holders->n);
}

/* --- the job --------------------------------------------------------------------------------- */

static int scan_run(struct nvml_job *job, struct nvml *n, struct error *err)
{
	struct scan_job *j = CONTAINER_OF(job, struct scan_job, job);
	struct nvml_gpu *gpus;
	size_t count;
	int r = nvidia_snapshot_read(j->snapshot, n, &j->read, err);

	if (r < 0)
		return r;
	gpus = nvidia_snapshot_gpus(j->snapshot, &count);
	r = gpu_prepare_start(j->prepare, n, gpus, count, &j->notes, err);
	if (r == 0)
		r = nvidia_snapshot_finish(j->snapshot, n, &j->read, j->prepare, err);
	j->holders = nvidia_holders_read(j->prepare);
	return r;
}

static void scan_free(struct scan_job *j)
{
	nvidia_snapshot_unref(j->snapshot);
	nvidia_holders_free(j->holders);
	buf_release(&j->notes);
	free(j->known);
	free(j);
}

static void scan_log_notes(const struct nvidia_driver *d, struct str notes)
{
	struct str line;

	while (str_split(&notes, '\n', &line))
		if (line.n)
			log_warn(d->opts.log, "claim not undone yet", LOG_STR("why", line));
}

/* For scans while a GPU is lost, also those of the next run. */
static void scan_remember(struct nvidia_driver *d)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(GPU_KNOWN_FILE_MAX);
	struct error err;
	int r = nvidia_known_print(d->snapshot->sources, d->snapshot->n, d->boot_id, &text, &err);

	if (r == 0 && !str_eq(buf_str(&text), buf_str(&d->known))) {
		buf_clear(&d->known);
		(void)buf_add_str(&d->known, buf_str(&text));
		r = file_write_atomic(d->known_path, buf_str(&text), 0600, &err);
	}
	if (r < 0)
		log_warn(d->opts.log, "cannot save the details of GPUs", LOG_ERR(&err));
}

static void scan_use(struct nvidia_driver *d, struct scan_job *j)
{
	bool first = !d->snapshot;

	if (j->snapshot->skipped.n &&
	    (first || !str_eq(j->snapshot->skipped, d->snapshot->skipped)))
		log_warn(d->opts.log, "GPUs cannot be read", LOG_STR("gpus", j->snapshot->skipped));
	if (j->snapshot->no_libraries.code && first)
		log_warn(d->opts.log, "containers cannot get the driver's libraries",
			 LOG_ERR(&j->snapshot->no_libraries));
	nvidia_snapshot_unref(d->snapshot);
	d->snapshot = TAKE(j->snapshot);
	d->logged[0] = '\0';
	scan_remember(d);
	if (!d->snapshot->no_libraries.code)
		nvidia_shares_set_libraries(d->shares, d->opts.read.root,
					    d->snapshot->libraries.folder);
	nvidia_take_over(d);
	nvidia_publish(d);
	nvidia_claims_drop_forgotten(d);
	if (first) {
		nvidia_poll(d);
		/* NVML's start needs much memory, once. */
		mem_tidy();
	}
}

static void scan_finish(struct nvidia_driver *d)
{
	d->scan = NULL;
	if (d->stopping)
		return;
	/* A GPU that is lost may come back. */
	loop_timer_start(&d->scan_timer, d->snapshot && d->snapshot->skipped.n ? nvidia_poll_ms(d)
									       : NVIDIA_SCAN_MS);
	if (d->scan_again)
		nvidia_scan(d);
}

static void scan_done(struct nvml_job *job, int result, const struct error *err)
{
	struct scan_job *j = CONTAINER_OF(job, struct scan_job, job);
	struct nvidia_driver *d = j->d;

	if (result == -ERR_TIMEOUT) {
		nvidia_warn(d, "NVML does not answer", err);
		return;
	}
	scan_log_notes(d, buf_str(&j->notes));
	nvidia_set_holders(d, &j->holders);
	if (result == 0) {
		scan_use(d, j);
	} else if (!d->stopping) {
		nvidia_warn(d, "cannot read the GPUs", err);
		if (!d->snapshot)
			d->failure = *err;
	}
	scan_free(j);
	scan_finish(d);
}

static void scan_late(struct nvml_job *job, int result UNUSED, const struct error *err UNUSED)
{
	struct scan_job *j = CONTAINER_OF(job, struct scan_job, job);
	struct nvidia_driver *d = j->d;

	/* It is old by now: scan anew. */
	d->scan_again = true;
	scan_free(j);
	scan_finish(d);
}

/* --- public ---------------------------------------------------------------------------------- */

void nvidia_scan(struct nvidia_driver *d)
{
	struct scan_job *j;

	if (!d->worker || d->stopping)
		return;
	d->scan_again = d->scan != NULL;
	if (d->scan)
		return;
	j = XNEW(struct scan_job);
	j->job = (struct nvml_job){ .run = scan_run, .done = scan_done, .late = scan_late };
	j->d = d;
	j->known = xstrndup(d->known.p ? d->known.p : "", d->known.n);
	j->read = d->opts.read;
	j->read.known = str_from(j->known);
	j->read.boot_id = d->boot_id;
	j->prepare = d->prepare;
	j->snapshot = nvidia_snapshot_new();
	buf_init(&j->notes, GPU_SCRATCH_MAX);
	d->scan = j;
	nvml_worker_run(d->worker, &j->job, 0);
}

void nvidia_scan_soon(struct nvidia_driver *d)
{
	if (!d->stopping)
		loop_timer_start(&d->scan_timer, NVIDIA_SETTLE_MS);
}
