/*
 * Preparing a claim: check, book, make, book done. The checks come before the book, so that a use
 * in the book never names the place of an instance that somebody else had made before.
 */
#include <inttypes.h>

#include "base/core/buf.h"
#include "drivers/drivers_limits.h"
#include "drivers/gpu_prepare/prepare_impl.h"

/* One device of the claim on its way. */
struct claim_work {
	const struct gpu_want *want;
	const struct nvml_gpu *gpu;
	enum nvml_mig mig; /* before */
	struct nvml_instance at; /* valid if `found`: the instance that is there already */
	bool found;
	bool exclusive; /* this driver switches it on */
	size_t use; /* index in the book; not for admin access */
};

struct claim_call {
	struct gpu_prepare *p;
	const struct gpu_claim *claim;
	struct claim_work *work;
	size_t n;
};

/* --- checks ---------------------------------------------------------------------------------- */

/* The part of a GPU that a use has or a want needs. */
struct taking {
	struct str gpu;
	const char *device;
	enum gpu_kind kind;
	bool shared;
	struct nvml_placement place;
};

static struct taking use_taking(const struct gpu_use *u)
{
	return (struct taking){ str_from(u->gpu), u->device, u->kind, u->shared, u->place };
}

static struct taking want_taking(const struct gpu_want *w)
{
	const struct gpu_device *d = w->device;

	return (struct taking){ d->source->gpu.uuid, d->name, d->kind, w->shared, d->place };
}

static bool takings_exclude(struct taking a, struct taking b)
{
	if (!str_eq(a.gpu, b.gpu))
		return false;
	if (a.kind == GPU_FULL && b.kind == GPU_FULL)
		return !a.shared || !b.shared;
	return a.kind == GPU_FULL || b.kind == GPU_FULL || gpu_places_overlap(a.place, b.place);
}

static int check_claims(const struct claim_call *c, const struct gpu_want *w, struct error *err)
{
	const struct gpu_book *b = &c->p->book;

	for (size_t i = 0; i < b->uses.n; i++) {
		const struct gpu_use *u = &b->uses.v[i];
		bool same = str_eqz(c->claim->uid, u->claim_uid) &&
			    strcmp(u->device, w->device->name) == 0;

		if (!same && takings_exclude(use_taking(u), want_taking(w)))
			return error_set(
				err, ERR_CONFLICT, "%s: claim %s/%s (%s) has %s%s", w->device->name,
				u->claim_ns, u->claim_name, u->claim_uid, u->device,
				u->abandoned ? ", whose instance could not be removed" : "");
	}
	return 0;
}

/* Two devices of the claim itself. */
static int check_wants(const struct gpu_want *wants, size_t n, struct error *err)
{
	for (size_t i = 0; i < n; i++)
		for (size_t j = i + 1; j < n; j++) {
			struct taking a = want_taking(&wants[i]), b = want_taking(&wants[j]);

			if (wants[i].admin || wants[j].admin || strcmp(a.device, b.device) == 0)
				continue;
			if (takings_exclude(a, b))
				return error_set(err, ERR_CONFLICT,
						 "%s and %s cannot exist together", a.device,
						 b.device);
		}
	return 0;
}

static int check_place(const struct claim_call *c, struct claim_work *w, struct error *err)
{
	const struct gpu_device *d = w->want->device;
	const struct gpu_use *u = gpu_book_find(&c->p->book, c->claim->uid, d->name);
	struct nvml_instance *v = NULL;
	size_t n = 0;
	int r = nvml_instances(c->p->nvml, w->gpu, &c->p->scratch, &v, &n, err);

	for (size_t i = 0; i < n && r == 0; i++) {
		bool exact = v[i].profile == d->profile->id && v[i].place.start == d->place.start;

		if (!gpu_places_overlap(v[i].place, d->place))
			continue;
		if (!exact || (!u && d->kind == GPU_MIG && !w->want->admin))
			return error_set(err, ERR_CONFLICT,
					 "%s: GPU instance %" PRIu32
					 ", which this driver did not make, is at its place",
					 d->name, v[i].id);
		w->at = v[i];
		w->found = true;
	}
	return r;
}

/* MIG that this driver has switched on goes off if nothing is left. */
static int check_full(const struct claim_call *c, struct claim_work *w, struct error *err)
{
	int r = 0;

	if (w->want->admin || w->mig != NVML_MIG_ON)
		return 0;
	r = gpu_release_mode(c->p, w->gpu, err);
	if (r == 0)
		r = nvml_get_mig(c->p->nvml, w->gpu, &w->mig, err);
	if (r == 0 && w->mig == NVML_MIG_ON)
		r = error_set(err, ERR_CONFLICT,
			      "%s: MIG is on, and this driver did not switch it on; remove the "
			      "GPU instances and run nvidia-smi -mig 0",
			      w->want->device->name);
	return r;
}

static int check_exists(const struct claim_work *w, struct error *err)
{
	const struct gpu_device *d = w->want->device;

	if (w->found && w->at.ncompute > 0)
		return 0;
	return error_set(err, ERR_NOT_FOUND, "%s: its GPU instance does not exist%s", d->name,
			 d->kind == GPU_MIG ? "; adminAccess does not create it" : "");
}

/* A mode that somebody else has chosen is left alone. */
static int check_exclusive(const struct claim_call *c, struct claim_work *w, struct error *err)
{
	enum nvml_compute_mode now = NVML_COMPUTE_DEFAULT;
	int r = nvml_get_compute_mode(c->p->nvml, w->gpu, &now, err);

	w->exclusive = r == 0 && now == NVML_COMPUTE_DEFAULT;
	return r == -ERR_UNIMPLEMENTED ? 0 : r;
}

static int check_work(const struct claim_call *c, struct claim_work *w, struct error *err)
{
	const struct gpu_device *d = w->want->device;
	int r;

	w->gpu = gpu_find(c->p, d->source->gpu.uuid);
	if (!w->gpu)
		return error_set(err, ERR_NOT_FOUND, "%s: GPU %.*s is not there", d->name,
				 STR_ARG(d->source->gpu.uuid));
	r = w->want->admin ? 0 : check_claims(c, w->want, err);
	if (r == 0)
		r = nvml_get_mig(c->p->nvml, w->gpu, &w->mig, err);
	if (r < 0)
		return r;
	if (!w->want->admin)
		r = gpu_set_compute(c->p, w->gpu, err);
	if (r < 0)
		return r;
	if (d->kind == GPU_FULL) {
		r = check_full(c, w, err);
		return r == 0 && w->want->exclusive ? check_exclusive(c, w, err) : r;
	}
	if (w->mig == NVML_MIG_NONE)
		return error_set(err, ERR_INVALID, "%s: the GPU has no MIG", d->name);
	if (w->mig == NVML_MIG_ON)
		r = check_place(c, w, err);
	if (r == 0 && (d->kind == GPU_MIG_STATIC || w->want->admin))
		r = check_exists(w, err);
	return r;
}

/* --- the book -------------------------------------------------------------------------------- */

static int fill_use(const struct claim_call *c, const struct gpu_want *w, struct gpu_use *u,
		    struct error *err)
{
	const struct gpu_device *d = w->device;

	*u = (struct gpu_use){ .kind = d->kind, .shared = w->shared, .place = d->place };
	/* Only for metrics: a name that is too long is left out. */
	(void)gpu_book_put(u->claim_pod, sizeof(u->claim_pod), c->claim->pod);
	if (d->profile) {
		u->profile = d->profile->id;
		u->slices = d->profile->slices;
	}
	if (gpu_book_put(u->claim_uid, sizeof(u->claim_uid), c->claim->uid) &&
	    gpu_book_put(u->claim_ns, sizeof(u->claim_ns), c->claim->ns) &&
	    gpu_book_put(u->claim_name, sizeof(u->claim_name), c->claim->name) &&
	    gpu_book_put(u->device, sizeof(u->device), str_from(d->name)) &&
	    gpu_book_put(u->gpu, sizeof(u->gpu), d->source->gpu.uuid))
		return 0;
	return error_set(err, ERR_INVALID, "%s: a name of the claim or device is too long",
			 d->name);
}

/* Whether the use is done, and its instance is still what it was. */
static bool is_whole(const struct claim_work *w, const struct gpu_use *u)
{
	if (!u->done || u->kind == GPU_FULL)
		return u->done;
	return w->found && w->at.id == u->gi && w->at.ncompute > 0 && w->at.compute[0] == u->ci;
}

static int book_work(struct claim_call *c, struct claim_work *w, struct error *err)
{
	struct gpu_book *b = &c->p->book;
	struct gpu_use *u = gpu_book_find(b, c->claim->uid, w->want->device->name), new;
	int r;

	if (!u) {
		r = fill_use(c, w->want, &new, err);
		if (r < 0)
			return r;
		if (!vec_push(&b->uses, new))
			return error_set(err, ERR_TOO_LARGE, "more than %d devices are in use",
					 GPU_USES_MAX);
		u = &b->uses.v[b->uses.n - 1];
	}
	w->use = (size_t)(u - b->uses.v);
	if (!u->begun && is_whole(w, u))
		return 0;
	u->begun = true;
	u->done = u->abandoned = false;
	u->made = w->found;
	u->exclusive = w->exclusive;
	c->p->dirty = true;
	if ((u->kind == GPU_MIG && w->mig == NVML_MIG_OFF &&
	     !gpu_book_set_switched(b, w->gpu->uuid, GPU_MODE_MIG, true)) ||
	    (w->exclusive && !gpu_book_set_switched(b, w->gpu->uuid, GPU_MODE_EXCLUSIVE, true)))
		return error_set(err, ERR_TOO_LARGE, "too many GPUs");
	return 0;
}

static int book_all(struct claim_call *c, struct error *err)
{
	for (size_t i = 0; i < c->n; i++) {
		int r = c->work[i].want->admin ? 0 : book_work(c, &c->work[i], err);

		if (r < 0)
			return r;
	}
	return c->p->dirty ? gpu_step_save(c->p, err) : 0;
}

/* --- making ---------------------------------------------------------------------------------- */

static int make_mode(struct claim_call *c, const struct claim_work *w, struct error *err)
{
	enum nvml_mig mig = NVML_MIG_OFF;
	struct error why;
	int r = nvml_get_mig(c->p->nvml, w->gpu, &mig, &why);

	if (r == 0 && mig != NVML_MIG_ON) {
		r = gpu_step_mig(c->p, w->gpu, true, &why);
		if (r == -ERR_CONFLICT)
			gpu_name_processes(c->p, w->gpu, NVML_WHOLE_GPU, &why);
	}
	return r < 0 ? error_copy(err, &why) : 0;
}

/*
 * The place was free before the use was booked. So whatever a failed call has left there is ours,
 * unless the place is taken now.
 */
static int make_instance(struct claim_call *c, struct claim_work *w, struct gpu_use *u,
			 struct error *err)
{
	int r = make_mode(c, w, err);

	if (r < 0)
		return r;
	if (w->found) {
		u->gi = w->at.id;
	} else {
		r = gpu_step_instance(c->p, w->gpu, u, &u->gi, err);
		u->made = r != -ERR_TOO_LARGE;
	}
	if (r < 0)
		return r;
	if (w->found && w->at.ncompute > 0)
		u->ci = w->at.compute[0];
	else
		r = gpu_step_compute(c->p, w->gpu, u, &u->ci, err);
	return r;
}

static int make_work(struct claim_call *c, struct claim_work *w, struct error *err)
{
	struct gpu_use *u = &c->p->book.uses.v[w->use];
	struct str uuid = STR_NULL;
	int r = 0;

	if (!u->begun || u->done)
		return 0;
	if (u->exclusive)
		r = gpu_set_compute(c->p, w->gpu, err);
	if (u->kind == GPU_MIG)
		r = make_instance(c, w, u, err);
	if (u->kind == GPU_MIG_STATIC) {
		u->gi = w->at.id;
		u->ci = w->at.compute[0];
	}
	if (r == 0 && u->kind != GPU_FULL)
		r = nvml_mig_uuid(c->p->nvml, w->gpu, u->gi, u->ci, &c->p->scratch, &uuid, err);
	if (r == 0 && !gpu_book_put(u->uuid, sizeof(u->uuid), uuid))
		r = error_set(err, ERR_IO, "its UUID is too long");
	if (r < 0)
		return error_wrap(err, r, "%s", u->device);
	u->done = true;
	c->p->dirty = true;
	return 0;
}

static int make_all(struct claim_call *c, struct error *err)
{
	for (size_t i = 0; i < c->n; i++) {
		int r = c->work[i].want->admin ? 0 : make_work(c, &c->work[i], err);

		if (r < 0)
			return r;
	}
	return c->p->dirty ? gpu_step_save(c->p, err) : 0;
}

/* --- failure --------------------------------------------------------------------------------- */

/* Undoes what this call began. A use that cannot be undone stays in the book, not done. */
static void roll_back(struct claim_call *c, struct error *failure)
{
	struct gpu_book *b = &c->p->book;

	for (size_t i = b->uses.n; i-- > 0;) {
		struct gpu_use *u = &b->uses.v[i];
		struct error why;

		if (!u->begun)
			continue;
		u->done = u->begun = false;
		c->p->dirty = true;
		if (!u->made || gpu_use_destroy(c->p, u, &why) == 0)
			vec_remove(&b->uses, i);
		else if (failure)
			(void)error_wrap(failure, 0, "cannot undo (%s) after a failure", why.msg);
	}
	for (size_t i = 0; i < c->n; i++)
		if (c->work[i].gpu)
			(void)gpu_release_mode(c->p, c->work[i].gpu, NULL);
	/* If this fails, the file has more uses than there are, and the next save repairs it. */
	if (c->p->dirty)
		(void)gpu_step_save(c->p, NULL);
}

static void end_call(struct gpu_prepare *p)
{
	for (size_t i = 0; i < p->book.uses.n; i++)
		p->book.uses.v[i].begun = false;
}

/* --- public ---------------------------------------------------------------------------------- */

static int fill_result(struct claim_call *c, const struct claim_work *w, struct arena *a,
		       struct gpu_prepared *ret, struct error *err)
{
	const struct gpu_use *u = w->want->admin ? NULL : &c->p->book.uses.v[w->use];
	enum nvml_compute_mode mode = NVML_COMPUTE_DEFAULT;

	*ret = (struct gpu_prepared){ .minor = w->gpu->minor,
				      .mig = w->want->device->kind != GPU_FULL };
	if (!ret->mig) {
		ret->uuid = arena_str(a, w->gpu->uuid);
		ret->exclusive = w->want->exclusive &&
				 nvml_get_compute_mode(c->p->nvml, w->gpu, &mode, NULL) == 0 &&
				 mode == NVML_COMPUTE_EXCLUSIVE;
		return 0;
	}
	ret->gi = u ? u->gi : w->at.id;
	ret->ci = u ? u->ci : w->at.compute[0];
	if (!u)
		return nvml_mig_uuid(c->p->nvml, w->gpu, ret->gi, ret->ci, a, &ret->uuid, err);
	ret->uuid = arena_str(a, str_from(u->uuid));
	return 0;
}

/* Instances of abandoned uses go as soon as their GPU is back. */
static void remove_abandoned(struct gpu_prepare *p)
{
	for (size_t i = p->book.uses.n; i-- > 0;)
		if (p->book.uses.v[i].abandoned &&
		    gpu_use_destroy(p, &p->book.uses.v[i], NULL) == 0) {
			vec_remove(&p->book.uses, i);
			p->dirty = true;
		}
}

int gpu_claim_prepare(struct gpu_prepare *p, struct nvml *n, const struct gpu_claim *claim,
		      const struct gpu_want *wants, size_t nwants, struct arena *a,
		      struct gpu_prepared *ret, struct error *err)
{
	struct claim_call c = { .p = p, .claim = claim, .n = nwants };
	struct error why;
	int r = check_wants(wants, nwants, &why);

	arena_clear(&p->scratch);
	p->nvml = n;
	c.work = ARENA_ARRAY(&p->scratch, struct claim_work, nwants + 1);
	remove_abandoned(p);
	for (size_t i = 0; i < nwants && r == 0; i++) {
		c.work[i].want = &wants[i];
		r = check_work(&c, &c.work[i], &why);
	}
	if (r == 0)
		r = book_all(&c, &why);
	if (r == 0)
		r = make_all(&c, &why);
	for (size_t i = 0; i < nwants && r == 0; i++)
		r = fill_result(&c, &c.work[i], a, &ret[i], &why);
	if (r < 0) {
		roll_back(&c, &why);
		(void)error_copy(err, &why);
	}
	end_call(p);
	return r;
}

int gpu_claim_undo(struct gpu_prepare *p, struct nvml *n, struct str uid, struct error *err)
{
	struct error why;
	int r = 0, q;

	arena_clear(&p->scratch);
	p->nvml = n;
	for (size_t i = p->book.uses.n; i-- > 0;) {
		struct gpu_use *u = &p->book.uses.v[i];

		if (!str_eqz(uid, u->claim_uid))
			continue;
		p->dirty = true;
		q = gpu_use_destroy(p, u, r == 0 ? &why : NULL);
		if (q == 0) {
			vec_remove(&p->book.uses, i);
		} else if (q == -ERR_NOT_FOUND || q == -ERR_GONE) {
			u->abandoned = true;
			u->done = false;
		} else if (r == 0) {
			r = q;
		}
	}
	for (size_t i = 0; i < p->ngpus; i++)
		(void)gpu_release_mode(p, &p->gpus[i], NULL);
	q = p->dirty ? gpu_step_save(p, r == 0 ? &why : NULL) : 0;
	r = r < 0 ? r : q;
	return r < 0 ? error_copy(err, &why) : 0;
}
