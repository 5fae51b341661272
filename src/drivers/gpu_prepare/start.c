/*
 * Opening, and comparing the book with what the GPUs have. At the start every use that is not done
 * is undone: nobody can use it yet, and the kubelet prepares its claim again.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/mem.h"
#include "drivers/drivers_limits.h"
#include "drivers/gpu_prepare/prepare_impl.h"

int gpu_prepare_open(const struct gpu_prepare_options *o, struct gpu_prepare **ret,
		     struct error *err)
{
	struct gpu_prepare *p = xcalloc(1, sizeof(*p));
	int r;

	p->options = *o;
	arena_init(&p->arena, GPU_SCRATCH_MAX);
	arena_init(&p->scratch, GPU_SCRATCH_MAX);
	r = gpu_book_open(&p->book, o->path, o->boot_id, err);
	if (r < 0) {
		gpu_prepare_close(p);
		return r;
	}
	*ret = p;
	return 0;
}

void gpu_prepare_close(struct gpu_prepare *p)
{
	if (!p)
		return;
	gpu_book_release(&p->book);
	arena_release(&p->arena);
	arena_release(&p->scratch);
	free(p);
}

/* --- start ----------------------------------------------------------------------------------- */

void gpu_prepare_set_gpus(struct gpu_prepare *p, const struct nvml_gpu *gpus, size_t n)
{
	arena_clear(&p->arena);
	p->gpus = ARENA_ARRAY(&p->arena, struct nvml_gpu, n + 1);
	p->ngpus = n;
	for (size_t i = 0; i < n; i++) {
		p->gpus[i] = gpus[i];
		p->gpus[i].uuid = arena_str(&p->arena, gpus[i].uuid);
		/* Only the handle, the UUID and the minor are used here. */
		p->gpus[i].name = p->gpus[i].brand = p->gpus[i].architecture = STR_NULL;
		p->gpus[i].pci = p->gpus[i].addressing = STR_NULL;
	}
}

static void undo_unfinished(struct gpu_prepare *p, struct buf *notes)
{
	for (size_t i = p->book.uses.n; i-- > 0;) {
		struct gpu_use *u = &p->book.uses.v[i];
		struct error why;

		if (u->done)
			continue;
		if (gpu_use_destroy(p, u, &why) < 0) {
			(void)buf_printf(notes, "cannot undo claim %s/%s: %s\n", u->claim_ns,
					 u->claim_name, why.msg);
			continue;
		}
		vec_remove(&p->book.uses, i);
		p->dirty = true;
	}
}

static void release_modes(struct gpu_prepare *p, struct buf *notes)
{
	for (size_t i = 0; i < p->ngpus; i++) {
		struct error why;

		if (gpu_release_mode(p, &p->gpus[i], &why) < 0)
			(void)buf_printf(notes,
					 "cannot switch the modes of GPU %" PRIu32 " back: %s\n",
					 p->gpus[i].minor, why.msg);
	}
}

int gpu_prepare_start(struct gpu_prepare *p, struct nvml *n, const struct nvml_gpu *gpus,
		      size_t ngpus, struct buf *notes, struct error *err)
{
	arena_clear(&p->scratch);
	p->nvml = n;
	gpu_prepare_set_gpus(p, gpus, ngpus);
	undo_unfinished(p, notes);
	release_modes(p, notes);
	return p->dirty ? gpu_step_save(p, err) : 0;
}

/* --- look ------------------------------------------------------------------------------------ */

static bool is_ours(const struct gpu_prepare *p, const struct nvml_gpu *g,
		    const struct nvml_instance *i)
{
	for (size_t u = 0; u < p->book.uses.n; u++)
		if (str_eqz(g->uuid, p->book.uses.v[u].gpu) && gpu_use_is(&p->book.uses.v[u], i))
			return true;
	return false;
}

static int look_at(struct gpu_prepare *p, const struct nvml_gpu *g, struct arena *a,
		   struct gpu_seen *seen, struct error *err)
{
	struct nvml_instance *v = NULL;
	size_t n = 0;
	int r = nvml_get_mig(p->nvml, g, &seen->mig, err);

	if (r == 0 && seen->mig == NVML_MIG_ON)
		r = nvml_instances(p->nvml, g, &p->scratch, &v, &n, err);
	if (r < 0)
		return r;
	seen->gpu = arena_str(a, g->uuid);
	seen->foreign_mig = seen->mig == NVML_MIG_ON &&
			    !gpu_book_switched(&p->book, g->uuid, GPU_MODE_MIG);
	seen->foreign = ARENA_ARRAY(a, struct gpu_foreign, n + 1);
	for (size_t i = 0; i < n; i++) {
		struct gpu_foreign *f = &seen->foreign[seen->nforeign];

		if (is_ours(p, g, &v[i]))
			continue;
		*f = (struct gpu_foreign){ .instance = v[i] };
		/* Without a UUID it is not usable, but it is in the way all the same. */
		if (v[i].ncompute == 1)
			(void)nvml_mig_uuid(p->nvml, g, v[i].id, v[i].compute[0], a, &f->uuid,
					    NULL);
		seen->nforeign++;
	}
	return 0;
}

int gpu_prepare_look(struct gpu_prepare *p, struct nvml *n, struct arena *a, struct gpu_seen **ret,
		     size_t *count, struct error *err)
{
	struct gpu_seen *v = ARENA_ARRAY(a, struct gpu_seen, p->ngpus + 1);

	arena_clear(&p->scratch);
	p->nvml = n;
	for (size_t i = 0; i < p->ngpus; i++) {
		int r = look_at(p, &p->gpus[i], a, &v[i], err);

		if (r == -ERR_GONE)
			v[i].gpu = arena_str(a, p->gpus[i].uuid);
		else if (r < 0)
			return error_wrap(err, r, "GPU %" PRIu32, p->gpus[i].minor);
	}
	*ret = v;
	*count = p->ngpus;
	return 0;
}

bool gpu_prepare_holder(const struct gpu_prepare *p, size_t i, struct gpu_holder *ret)
{
	const struct gpu_use *u;

	if (i >= p->book.uses.n)
		return false;
	u = &p->book.uses.v[i];
	*ret = (struct gpu_holder){
		.claim = { str_from(u->claim_uid), str_from(u->claim_ns), str_from(u->claim_name),
			   str_from(u->claim_pod) },
		.device = u->device,
		.gpu = str_from(u->gpu),
		.uuid = str_from(u->uuid),
		.mig = u->kind != GPU_FULL,
		.done = u->done,
		.gi = u->gi,
		.ci = u->ci,
	};
	return true;
}
