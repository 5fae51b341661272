/*
 * A session of its own costs 20 ms, and needs no socket of the driver. It belongs to a worker,
 * which can be left behind if NVML hangs.
 */
#include "drivers/nvidia/show.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/json/writer.h"
#include "base/system/boot.h"
#include "base/system/file.h"
#include "drivers/drivers_limits.h"
#include "drivers/gpu_health/book.h"
#include "drivers/nvidia/condition.h"
#include "drivers/nvidia/driver.h"
#include "drivers/nvml/worker.h"

struct nvidia_show {
	struct arena arena;
	struct nvml *nvml;
	struct gpu_prepare *prepare;
	struct gpu_health_book *health;
	struct nvidia_snapshot *snapshot;
	struct nvidia_show_opts opts;
	struct buf known; /* of opts.read */
	char *boot_id;
	enum nvidia_shown what;
	struct str claim;
	struct buf text; /* the answer */
	struct nvml_job job;
	struct loop *loop;
	int result;
	struct error err; /* of a result below 0 */
};

/* --- life cycle ------------------------------------------------------------------------------ */

static int open_files(struct nvidia_show *s, struct error *err)
{
	const struct nvidia_show_opts *o = &s->opts;
	struct gpu_prepare_options p = { .path = nvidia_driver_path(&s->arena, o->root_dir, o->name,
								    NVIDIA_BOOK_FILE) };
	int r = gpu_prepare_open(&p, &s->prepare, err);

	s->health = gpu_health_book_new();
	if (r == 0)
		(void)gpu_health_book_load(
			s->health,
			nvidia_driver_path(&s->arena, o->root_dir, o->name, NVIDIA_HEALTH_FILE),
			s->boot_id, NULL);
	if (file_read(nvidia_driver_path(&s->arena, o->root_dir, o->name, NVIDIA_KNOWN_FILE),
		      &s->known, NULL) == 0)
		s->opts.read.known = buf_str(&s->known);
	s->opts.read.boot_id = s->boot_id;
	return r;
}

static int read_gpus(struct nvidia_show *s, struct nvml *n, struct error *err)
{
	struct nvml_gpu *gpus;
	size_t count;
	int r = open_files(s, err);

	s->nvml = n;
	if (r == 0)
		r = nvidia_snapshot_read(s->snapshot, n, &s->opts.read, err);
	if (r < 0)
		return r;
	gpus = nvidia_snapshot_gpus(s->snapshot, &count);
	gpu_prepare_set_gpus(s->prepare, gpus, count);
	return nvidia_snapshot_finish(s->snapshot, n, &s->opts.read, s->prepare, err);
}

static struct nvidia_show *show_new(const struct nvidia_show_opts *o, enum nvidia_shown what,
				    struct str claim)
{
	struct nvidia_show *s = XNEW(struct nvidia_show);

	arena_init(&s->arena, GPU_SCRATCH_MAX);
	buf_init(&s->known, GPU_KNOWN_FILE_MAX);
	buf_init(&s->text, GPU_SNAPSHOT_MAX);
	s->opts = *o;
	s->what = what;
	s->claim = arena_str(&s->arena, claim);
	s->boot_id = boot_id();
	s->snapshot = nvidia_snapshot_new();
	return s;
}

static void show_free(struct nvidia_show *s)
{
	gpu_prepare_close(s->prepare);
	gpu_health_book_free(s->health);
	nvidia_snapshot_unref(s->snapshot);
	buf_release(&s->known);
	buf_release(&s->text);
	free(s->boot_id);
	arena_release(&s->arena);
	free(s);
}

/* --- devices --------------------------------------------------------------------------------- */

static void show_text(struct json_writer *w, const char *key, struct str text)
{
	json_writer_keyz(w, key);
	json_writer_str(w, text.p ? text : STR(""));
}

static void show_number(struct json_writer *w, const char *key, uint64_t n)
{
	json_writer_keyz(w, key);
	json_writer_u64(w, n);
}

static bool holder_of(const struct nvidia_show *s, const char *device, struct gpu_holder *ret)
{
	for (size_t i = 0; gpu_prepare_holder(s->prepare, i, ret); i++)
		if (strcmp(ret->device, device) == 0)
			return true;
	return false;
}

/* Why a device that is held keeps `d` from being made; NULL: it does not. */
static const char *exclusion(struct nvidia_show *s, const struct gpu_device *d,
			     const struct gpu_device *held)
{
	if (!str_eq(d->source->gpu.uuid, held->source->gpu.uuid))
		return NULL;
	if (!d->profile)
		return "partitions held";
	if (!held->profile)
		return arena_printf(&s->arena, "%s is held", held->name);
	return gpu_places_overlap(d->place, held->place)
		       ? arena_printf(&s->arena, "%s overlaps it and is held", held->name)
		       : NULL;
}

/* For a device that nobody holds. Some profiles have places for more instances than the GPU. */
static const char *excluded_by(struct nvidia_show *s, const struct gpu_device *d)
{
	const char *why = NULL;
	struct gpu_holder h;
	uint32_t same = 0;

	for (size_t i = 0; !why && gpu_prepare_holder(s->prepare, i, &h); i++) {
		const struct gpu_device *held = gpu_inventory_find(&s->snapshot->inventory,
								   str_from(h.device));

		if (!held)
			continue;
		why = exclusion(s, d, held);
		same += d->profile == held->profile;
	}
	if (!why && d->profile && same && same >= d->profile->instances)
		why = arena_printf(&s->arena, "the GPU can have %" PRIu32 " of this profile", same);
	return why;
}

static const char *state_of(const struct gpu_device *d, const struct gpu_holder *h,
			    const char *excluded)
{
	if (h)
		return h->done ? "held" : "unfinished";
	if (d->kind == GPU_MIG_STATIC)
		return "foreign";
	return d->blocked ? "blocked" : excluded ? "unavailable" : "free";
}

static void show_device(struct nvidia_show *s, const struct gpu_device *d, struct json_writer *w)
{
	struct gpu_holder h;
	bool held = holder_of(s, d->name, &h);
	const char *excluded = held ? NULL : excluded_by(s, d);
	char claim[512] = "";

	if (held)
		(void)snprintf(claim, sizeof(claim), "%.*s/%.*s", STR_ARG(h.claim.ns),
			       STR_ARG(h.claim.name));
	json_writer_begin_object(w);
	show_text(w, "device", str_from(d->name));
	show_text(w, "kind", d->profile ? STR("mig") : STR("gpu"));
	show_text(w, "profile", d->profile ? d->profile->name : STR_NULL);
	show_number(w, "gpu", d->source->gpu.minor);
	show_text(w, "state", str_from(state_of(d, held ? &h : NULL, excluded)));
	show_text(w, "claim", str_from(claim));
	show_text(w, "uuid",
		  d->instance   ? d->instance->uuid
		  : !d->profile ? d->source->gpu.uuid
		  : held        ? h.uuid
				: STR_NULL);
	show_text(w, "message", str_from(d->blocked ? d->blocked : excluded));
	json_writer_end_object(w);
}

static void show_devices(struct nvidia_show *s, struct json_writer *out)
{
	json_writer_begin_array(out);
	for (size_t i = 0; i < s->snapshot->inventory.n; i++)
		show_device(s, &s->snapshot->inventory.devices[i], out);
	json_writer_end_array(out);
}

/* --- profiles -------------------------------------------------------------------------------- */

static void show_profile(const struct gpu_source *g, const struct nvml_profile *p,
			 struct json_writer *w)
{
	json_writer_begin_object(w);
	show_number(w, "gpu", g->gpu.minor);
	show_text(w, "profile", p->name);
	show_number(w, "id", p->id);
	show_number(w, "slices", p->slices);
	show_number(w, "multiprocessors", p->multiprocessors);
	show_number(w, "memory", p->memory);
	show_number(w, "instances", p->instances);
	json_writer_keyz(w, "placements");
	json_writer_begin_array(w);
	for (size_t i = 0; i < p->nplacements; i++) {
		json_writer_begin_object(w);
		show_number(w, "start", p->placements[i].start);
		show_number(w, "size", p->placements[i].size);
		json_writer_end_object(w);
	}
	json_writer_end_array(w);
	json_writer_end_object(w);
}

static void show_profiles(struct nvidia_show *s, struct json_writer *out)
{
	json_writer_begin_array(out);
	for (size_t i = 0; i < s->snapshot->n; i++)
		for (size_t j = 0; j < s->snapshot->sources[i].nprofiles; j++)
			show_profile(&s->snapshot->sources[i], &s->snapshot->sources[i].profiles[j],
				     out);
	json_writer_end_array(out);
}

/* --- a claim --------------------------------------------------------------------------------- */

static bool is_claim(const struct gpu_holder *h, struct str claim)
{
	struct str ns = STR_NULL, name = claim;

	if (str_eq(h->claim.uid, claim))
		return true;
	if (str_chr(claim, '/') >= 0)
		(void)str_split(&name, '/', &ns);
	return str_eq(h->claim.name, name) && (!ns.p || str_eq(h->claim.ns, ns));
}

static const struct gpu_source *source_of(const struct nvidia_show *s, struct str uuid)
{
	for (size_t i = 0; i < s->snapshot->n; i++)
		if (str_eq(s->snapshot->sources[i].gpu.uuid, uuid))
			return &s->snapshot->sources[i];
	return NULL;
}

static void show_process(uint32_t pid, struct json_writer *w)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(KIB);
	CLEANUP(buf_release) struct buf name = BUF_INIT(KIB);

	(void)buf_printf(&path, "/proc/%" PRIu32 "/comm", pid);
	if (file_read(path.p, &name, NULL) < 0 || !str_is_utf8(buf_str(&name)))
		buf_clear(&name);
	json_writer_begin_object(w);
	show_number(w, "pid", pid);
	show_text(w, "name", str_trim_space(buf_str(&name)));
	json_writer_end_object(w);
}

static void show_processes(struct nvidia_show *s, const struct gpu_source *g,
			   const struct gpu_holder *h, struct json_writer *w)
{
	struct nvml_process *v = NULL;
	size_t n = 0;

	json_writer_keyz(w, "processes");
	json_writer_begin_array(w);
	if (g && g->gpu.handle && nvml_processes(s->nvml, &g->gpu, &s->arena, &v, &n, NULL) == 0)
		for (size_t i = 0; i < n; i++)
			if (!h->mig || v[i].gi == h->gi)
				show_process(v[i].pid, w);
	json_writer_end_array(w);
}

/* The file has the findings of the driver; whether the GPU answers is seen now. */
static void show_health(struct nvidia_show *s, const struct gpu_source *g,
			const struct gpu_holder *h, struct json_writer *w)
{
	static const char *const names[] = { "Healthy", "Unhealthy", "Unknown" };
	struct gpu_health *of = gpu_health_book_get(s->health, h->gpu);
	struct gpu_health_opts o = { 0 };
	struct gpu_health_view view = { .health = DP_UNKNOWN };
	struct nvml_condition c = { 0 };

	if (of && g)
		(void)nvidia_condition_note(of, nvml_poll(s->nvml, &g->gpu, &c, NULL), &c, &o,
					    clock_wall(clock_system()));
	if (of)
		gpu_health_view(of, &o, &view);
	show_text(w, "health", str_from(names[view.health]));
	show_text(w, "message", str_from(view.message));
}

static void show_use(struct nvidia_show *s, const struct gpu_holder *h, struct json_writer *w)
{
	const struct gpu_source *g = source_of(s, h->gpu);

	json_writer_begin_object(w);
	show_text(w, "device", str_from(h->device));
	if (g)
		show_number(w, "gpu", g->gpu.minor);
	show_text(w, "gpuUUID", h->gpu);
	show_text(w, "state", h->done ? STR("prepared") : STR("unfinished"));
	if (h->mig && h->done) {
		show_text(w, "uuid", h->uuid);
		show_number(w, "gi", h->gi);
		show_number(w, "ci", h->ci);
	}
	show_health(s, g, h, w);
	show_processes(s, g, h, w);
	json_writer_end_object(w);
}

static int show_claim(struct nvidia_show *s, struct str claim, struct json_writer *out,
		      struct error *err)
{
	struct gpu_holder first, h;
	size_t at = 0;

	while (gpu_prepare_holder(s->prepare, at, &first) && !is_claim(&first, claim))
		at++;
	if (!gpu_prepare_holder(s->prepare, at, &first))
		return error_set(err, ERR_NOT_FOUND,
				 "no claim %.*s is prepared on this node; `devplane driver nvidia "
				 "list` shows those that are",
				 STR_ARG(claim));
	json_writer_begin_object(out);
	json_writer_keyz(out, "claim");
	json_writer_strz(out, arena_printf(&s->arena, "%.*s/%.*s", STR_ARG(first.claim.ns),
					   STR_ARG(first.claim.name)));
	show_text(out, "uid", first.claim.uid);
	json_writer_keyz(out, "devices");
	json_writer_begin_array(out);
	for (size_t i = 0; gpu_prepare_holder(s->prepare, i, &h); i++)
		if (str_eq(h.claim.uid, first.claim.uid))
			show_use(s, &h, out);
	json_writer_end_array(out);
	json_writer_end_object(out);
	return 0;
}

/* --- the job --------------------------------------------------------------------------------- */

static int show_run(struct nvml_job *job, struct nvml *n, struct error *err)
{
	struct nvidia_show *s = CONTAINER_OF(job, struct nvidia_show, job);
	struct json_writer w;
	int r = read_gpus(s, n, err);

	if (r < 0)
		return r;
	json_writer_init(&w, &s->text, NULL);
	if (s->what == NVIDIA_SHOW_DEVICES)
		show_devices(s, &w);
	else if (s->what == NVIDIA_SHOW_PROFILES)
		show_profiles(s, &w);
	else
		r = show_claim(s, s->claim, &w, err);
	return r;
}

static void show_done(struct nvml_job *job, int result, const struct error *err)
{
	struct nvidia_show *s = CONTAINER_OF(job, struct nvidia_show, job);

	s->result = result;
	if (result < 0)
		s->err = *err;
	loop_stop(s->loop);
}

static void show_on_event(void *arg UNUSED, const struct nvml_event *e UNUSED)
{
}

int nvidia_show(const struct nvidia_show_opts *o, enum nvidia_shown what, struct str claim,
		struct buf *out, struct error *err)
{
	struct nvml_worker_options w = { .library = o->library,
					 .deadline_ms = o->deadline_ms,
					 .event = show_on_event };
	CLEANUP(loop_free) struct loop *loop = NULL;
	struct nvml_worker *worker = NULL;
	struct nvidia_show *s;
	int r = loop_new(&loop, err);

	if (r == 0)
		r = nvml_worker_start(loop, &w, &worker, err);
	if (r < 0)
		return r;
	s = show_new(o, what, claim);
	s->loop = loop;
	s->job = (struct nvml_job){ .run = show_run, .done = show_done };
	nvml_worker_run(worker, &s->job, 0);
	loop_run(loop);
	r = s->result < 0 ? error_copy(err, &s->err) : buf_add_str(out, buf_str(&s->text));
	nvml_worker_stop(worker, o->deadline_ms);
	/* After a time-out the thread, which hangs, keeps it. */
	if (r != -ERR_TIMEOUT)
		show_free(s);
	return r;
}
