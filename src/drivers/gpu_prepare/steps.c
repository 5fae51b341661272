/*
 * Single steps, each of which leaves a state that the book describes. Instances are found by their
 * profile and place, never by their ids alone: an id in the book can belong to somebody else's
 * instance by now.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/core/limits.h"
#include "base/system/file.h"
#include "drivers/gpu_prepare/prepare_impl.h"

static int step_hook(const struct gpu_prepare *p, const char *step, struct error *err)
{
	return p->options.on_step ? p->options.on_step(p->options.arg, step, err) : 0;
}

const struct nvml_gpu *gpu_find(const struct gpu_prepare *p, struct str uuid)
{
	for (size_t i = 0; i < p->ngpus; i++)
		if (str_eq(p->gpus[i].uuid, uuid))
			return &p->gpus[i];
	return NULL;
}

static const struct nvml_gpu *gpu_of_use(const struct gpu_prepare *p, const struct gpu_use *u)
{
	return gpu_find(p, str_from(u->gpu));
}

/* --- making ---------------------------------------------------------------------------------- */

int gpu_step_save(struct gpu_prepare *p, struct error *err)
{
	int r = step_hook(p, "save", err);

	if (r == 0)
		r = gpu_book_save(&p->book, err);
	if (r == 0)
		p->dirty = false;
	return r;
}

int gpu_step_mig(struct gpu_prepare *p, const struct nvml_gpu *g, bool on, struct error *err)
{
	int r = step_hook(p, on ? "mig on" : "mig off", err);

	return r < 0 ? r : nvml_set_mig(p->nvml, g, on, err);
}

int gpu_step_instance(struct gpu_prepare *p, const struct nvml_gpu *g, const struct gpu_use *u,
		      uint32_t *gi, struct error *err)
{
	int r = step_hook(p, "create instance", err);

	return r < 0 ? r : nvml_create_instance(p->nvml, g, u->profile, u->place, gi, err);
}

int gpu_step_compute(struct gpu_prepare *p, const struct nvml_gpu *g, const struct gpu_use *u,
		     uint32_t *ci, struct error *err)
{
	int r = step_hook(p, "create compute", err);

	return r < 0 ? r : nvml_create_compute(p->nvml, g, u->gi, u->slices, ci, err);
}

/* --- finding --------------------------------------------------------------------------------- */

bool gpu_use_is(const struct gpu_use *u, const struct nvml_instance *i)
{
	return u->kind == GPU_MIG && u->profile == i->profile && u->place.start == i->place.start;
}

/* Returns 1 with the instance at the use's place and of its profile, 0 without, or an error. */
static int gpu_instance_of(struct gpu_prepare *p, const struct nvml_gpu *g, const struct gpu_use *u,
			   struct nvml_instance *ret, struct error *err)
{
	struct nvml_instance *v = NULL;
	size_t n = 0;
	int r = nvml_instances(p->nvml, g, &p->scratch, &v, &n, err);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		if (gpu_use_is(u, &v[i])) {
			*ret = v[i];
			return 1;
		}
	return 0;
}

/* --- processes ------------------------------------------------------------------------------- */

static void read_process_name(const struct gpu_prepare *p, uint32_t pid, struct buf *to)
{
	CLEANUP(buf_release) struct buf path = BUF_INIT(4 * KIB);
	CLEANUP(buf_release) struct buf name = BUF_INIT(KIB);

	(void)buf_printf(&path, "%s/%" PRIu32 "/comm", p->options.proc ? p->options.proc : "/proc",
			 pid);
	if (file_read(path.p, &name, NULL) == 0 && str_is_utf8(buf_str(&name)))
		(void)buf_printf(to, " (%.*s)", STR_ARG(str_trim_space(buf_str(&name))));
}

void gpu_name_processes(struct gpu_prepare *p, const struct nvml_gpu *g, uint32_t gi,
			struct error *failure)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(sizeof(failure->msg) / 2);
	struct nvml_process *v = NULL;
	size_t n = 0, used;

	if (!failure || nvml_processes(p->nvml, g, &p->scratch, &v, &n, NULL) < 0)
		return;
	for (size_t i = 0; i < n; i++) {
		if (gi != NVML_WHOLE_GPU && v[i].gi != gi)
			continue;
		(void)buf_printf(&text, "%s %" PRIu32, text.n ? "," : "; in use by process",
				 v[i].pid);
		read_process_name(p, v[i].pid, &text);
	}
	used = strlen(failure->msg);
	if (text.n)
		(void)snprintf(failure->msg + used, sizeof(failure->msg) - used,
			       "%s; end it, then this is tried again", text.p);
}

/* --- undoing --------------------------------------------------------------------------------- */

static int destroy_computes(struct gpu_prepare *p, const struct nvml_gpu *g,
			    const struct nvml_instance *i, struct error *err)
{
	for (size_t c = 0; c < i->ncompute; c++) {
		int r = step_hook(p, "destroy compute", err);

		if (r == 0)
			r = nvml_destroy_compute(p->nvml, g, i->id, i->compute[c], err);
		if (r < 0 && r != -ERR_NOT_FOUND)
			return r;
	}
	return 0;
}

static int destroy_instance(struct gpu_prepare *p, const struct nvml_gpu *g,
			    const struct nvml_instance *i, struct error *err)
{
	int r = destroy_computes(p, g, i, err);

	if (r == 0)
		r = step_hook(p, "destroy instance", err);
	if (r == 0)
		r = nvml_destroy_instance(p->nvml, g, i->id, err);
	return r == -ERR_NOT_FOUND ? 0 : r;
}

int gpu_use_destroy(struct gpu_prepare *p, struct gpu_use *u, struct error *err)
{
	const struct nvml_gpu *g = gpu_of_use(p, u);
	struct nvml_instance i;
	struct error why;
	int r;

	if (u->kind != GPU_MIG)
		return 0;
	if (!g)
		return error_set(err, ERR_NOT_FOUND, "%s: GPU %s is not there", u->device, u->gpu);
	r = gpu_instance_of(p, g, u, &i, &why);
	if (r > 0) {
		r = destroy_instance(p, g, &i, &why);
		if (r == -ERR_CONFLICT)
			gpu_name_processes(p, g, i.id, &why);
	}
	if (r < 0) {
		(void)error_copy(err, &why);
		return error_wrap(err, r, "%s", u->device);
	}
	u->made = false;
	return 0;
}

static bool has_mig_use(const struct gpu_prepare *p, const struct nvml_gpu *g)
{
	for (size_t i = 0; i < p->book.uses.n; i++)
		if (p->book.uses.v[i].kind != GPU_FULL && str_eqz(g->uuid, p->book.uses.v[i].gpu))
			return true;
	return false;
}

static bool has_exclusive_use(const struct gpu_prepare *p, const struct nvml_gpu *g)
{
	for (size_t i = 0; i < p->book.uses.n; i++)
		if (p->book.uses.v[i].exclusive && str_eqz(g->uuid, p->book.uses.v[i].gpu))
			return true;
	return false;
}

int gpu_set_compute(struct gpu_prepare *p, const struct nvml_gpu *g, struct error *err)
{
	bool wanted = has_exclusive_use(p, g);
	enum nvml_compute_mode to = wanted ? NVML_COMPUTE_EXCLUSIVE : NVML_COMPUTE_DEFAULT, now;
	int r;

	if (!gpu_book_switched(&p->book, g->uuid, GPU_MODE_EXCLUSIVE))
		return 0;
	r = nvml_get_compute_mode(p->nvml, g, &now, err);
	if (r == 0 && now != to)
		r = step_hook(p, "compute mode", err);
	if (r == 0 && now != to)
		r = nvml_set_compute_mode(p->nvml, g, to, err);
	if (r < 0)
		return error_wrap(err, r, "set the compute mode");
	if (!wanted) {
		(void)gpu_book_set_switched(&p->book, g->uuid, GPU_MODE_EXCLUSIVE, false);
		p->dirty = true;
	}
	return 0;
}

static int release_mig(struct gpu_prepare *p, const struct nvml_gpu *g, struct error *err)
{
	enum nvml_mig mig = NVML_MIG_OFF;
	struct nvml_instance *v = NULL;
	size_t n = 0;
	int r;

	if (!gpu_book_switched(&p->book, g->uuid, GPU_MODE_MIG) || has_mig_use(p, g))
		return 0;
	r = nvml_get_mig(p->nvml, g, &mig, err);
	if (r == 0 && mig == NVML_MIG_ON) {
		r = nvml_instances(p->nvml, g, &p->scratch, &v, &n, err);
		if (r < 0 || n > 0)
			return r;
		r = gpu_step_mig(p, g, false, err);
	}
	if (r == 0) {
		(void)gpu_book_set_switched(&p->book, g->uuid, GPU_MODE_MIG, false);
		p->dirty = true;
	}
	return r;
}

int gpu_release_mode(struct gpu_prepare *p, const struct nvml_gpu *g, struct error *err)
{
	int r = gpu_set_compute(p, g, err);

	return r < 0 ? r : release_mig(p, g, err);
}
