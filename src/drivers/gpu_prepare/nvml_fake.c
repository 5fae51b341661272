/* The handle of a GPU is its index plus one. The id of an instance is that of its place. */
#include "drivers/gpu_prepare/nvml_fake.h"

#include <inttypes.h>
#include <sys/mman.h>

#include "drivers/gpu_inventory/gpu_fixture.h"

struct fake_nvml *fake_nvml_new(void)
{
	struct fake_nvml *f = mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return f == MAP_FAILED ? NULL : f;
}

void fake_nvml_free(struct fake_nvml *f)
{
	if (f)
		(void)munmap(f, sizeof(*f));
}

struct nvml *fake_nvml_session(struct fake_nvml *f)
{
	return (struct nvml *)(void *)f;
}

const struct nvml_gpu *fake_nvml_gpus(void)
{
	static const struct nvml_gpu gpus[FAKE_GPUS] = {
		{ .handle = (void *)1, .uuid = { "GPU-a", 5 }, .minor = 0 },
		{ .handle = (void *)2, .uuid = { "GPU-b", 5 }, .minor = 1 },
	};

	return gpus;
}

static struct fake_nvml *fake_of(struct nvml *n)
{
	return (struct fake_nvml *)(void *)n;
}

static struct fake_gpu *gpu_at(struct nvml *n, const struct nvml_gpu *g)
{
	return &fake_of(n)->gpus[(uintptr_t)g->handle - 1];
}

static int fake_lost(struct error *err)
{
	return error_set(err, ERR_GONE, "nvml: GPU is lost");
}

/* Counts a call. Returns whether it fails now (before its effect) or after it. */
static bool fails(struct nvml *n, bool late)
{
	struct fake_nvml *f = fake_of(n);

	f->calls += !late;
	return f->calls == f->fail_at && f->fail_late == late;
}

static int fake_failure(const char *call, struct error *err)
{
	return error_set(err, ERR_IO, "%s: Unknown Error", call);
}

static const struct nvml_profile *profile_of(uint32_t id)
{
	for (size_t i = 0; i < GPU_FIXTURE_PROFILES; i++)
		if (gpu_fixture_profiles[i].id == id)
			return &gpu_fixture_profiles[i];
	return NULL;
}

/* --- mode ------------------------------------------------------------------------------------ */

int nvml_get_mig(struct nvml *n, const struct nvml_gpu *g, enum nvml_mig *ret, struct error *err)
{
	if (gpu_at(n, g)->lost)
		return fake_lost(err);
	*ret = gpu_at(n, g)->on ? NVML_MIG_ON : NVML_MIG_OFF;
	return 0;
}

int nvml_set_mig(struct nvml *n, const struct nvml_gpu *g, bool on, struct error *err)
{
	struct fake_gpu *x = gpu_at(n, g);

	if (x->lost)
		return fake_lost(err);
	if (fails(n, false))
		return fake_failure("nvmlDeviceSetMigMode", err);
	for (size_t i = 0; i < FAKE_INSTANCES; i++)
		if (x->v[i].there || x->pid)
			return error_set(err, ERR_CONFLICT, "nvmlDeviceSetMigMode: In use");
	x->on = on;
	return fails(n, true) ? fake_failure("nvmlDeviceSetMigMode", err) : 0;
}

int nvml_get_compute_mode(struct nvml *n, const struct nvml_gpu *g, enum nvml_compute_mode *ret,
			  struct error *err)
{
	if (gpu_at(n, g)->lost)
		return fake_lost(err);
	*ret = gpu_at(n, g)->compute;
	return 0;
}

int nvml_set_compute_mode(struct nvml *n, const struct nvml_gpu *g, enum nvml_compute_mode mode,
			  struct error *err)
{
	if (gpu_at(n, g)->lost)
		return fake_lost(err);
	if (fails(n, false))
		return fake_failure("nvmlDeviceSetComputeMode", err);
	gpu_at(n, g)->compute = mode;
	return fails(n, true) ? fake_failure("nvmlDeviceSetComputeMode", err) : 0;
}

/* --- instances ------------------------------------------------------------------------------- */

int nvml_instances(struct nvml *n, const struct nvml_gpu *g, struct arena *a,
		   struct nvml_instance **ret, size_t *count, struct error *err)
{
	struct fake_gpu *x = gpu_at(n, g);
	struct nvml_instance *v = ARENA_ARRAY(a, struct nvml_instance, FAKE_INSTANCES);

	if (x->lost)
		return fake_lost(err);
	*ret = v;
	*count = 0;
	for (uint32_t i = 0; i < FAKE_INSTANCES; i++) {
		if (!x->v[i].there)
			continue;
		v[*count] = (struct nvml_instance){ .id = i,
						    .profile = x->v[i].profile,
						    .place = x->v[i].place,
						    .ncompute = x->v[i].ncompute };
		(*count)++;
	}
	return 0;
}

/* Room by the card's rules: places, compute slices, and instances per profile. */
static bool nvml_fake_has_room(const struct fake_gpu *x, const struct nvml_profile *p,
			       struct nvml_placement place)
{
	uint32_t slices = p->slices, same = 1;

	for (size_t i = 0; i < FAKE_INSTANCES; i++) {
		if (!x->v[i].there)
			continue;
		if (gpu_places_overlap(x->v[i].place, place))
			return false;
		slices += profile_of(x->v[i].profile)->slices;
		same += x->v[i].profile == p->id;
	}
	return slices <= 7 && same <= p->instances;
}

static int put_instance(struct fake_gpu *x, uint32_t profile, struct nvml_placement place)
{
	uint32_t id = place.start + (place.size > 1 ? 8 : 0);

	if (!profile_of(profile) || !nvml_fake_has_room(x, profile_of(profile), place))
		return -1;
	x->v[id] = (struct fake_instance){ .there = true, .profile = profile, .place = place };
	return (int)id;
}

int fake_nvml_add(struct fake_nvml *f, size_t gpu, uint32_t profile, struct nvml_placement place,
		  bool compute)
{
	int id;

	if (f->gpus[gpu].pid)
		return -1;
	id = put_instance(&f->gpus[gpu], profile, place);
	if (id < 0)
		return -1;
	f->gpus[gpu].on = true;
	f->gpus[gpu].v[id].foreign = true;
	f->gpus[gpu].v[id].ncompute = compute;
	return id;
}

int nvml_create_instance(struct nvml *n, const struct nvml_gpu *g, uint32_t profile,
			 struct nvml_placement place, uint32_t *gi, struct error *err)
{
	struct fake_gpu *x = gpu_at(n, g);
	int id;

	if (x->lost)
		return fake_lost(err);
	if (!x->on)
		return error_set(err, ERR_UNIMPLEMENTED, "nvmlDeviceCreateGpuInstance: MIG is off");
	if (fails(n, false))
		return fake_failure("nvmlDeviceCreateGpuInstance", err);
	id = put_instance(x, profile, place);
	if (id < 0)
		return error_set(err, ERR_TOO_LARGE,
				 "nvmlDeviceCreateGpuInstance: Insufficient Resources");
	if (fails(n, true))
		return fake_failure("nvmlDeviceCreateGpuInstance", err);
	*gi = (uint32_t)id;
	return 0;
}

static struct fake_instance *instance_at(struct fake_gpu *x, uint32_t gi)
{
	return gi < FAKE_INSTANCES && x->v[gi].there ? &x->v[gi] : NULL;
}

static int fake_absent(struct error *err)
{
	return error_set(err, ERR_NOT_FOUND, "nvml: Not Found");
}

int nvml_create_compute(struct nvml *n, const struct nvml_gpu *g, uint32_t gi, uint32_t slices,
			uint32_t *ci, struct error *err)
{
	struct fake_instance *i = instance_at(gpu_at(n, g), gi);

	if (gpu_at(n, g)->lost)
		return fake_lost(err);
	if (!i)
		return fake_absent(err);
	if (fails(n, false))
		return fake_failure("nvmlGpuInstanceCreateComputeInstance", err);
	if (i->ncompute || slices != profile_of(i->profile)->slices)
		return error_set(err, ERR_TOO_LARGE,
				 "nvmlGpuInstanceCreateComputeInstance: Insufficient Resources");
	i->ncompute = 1;
	if (fails(n, true))
		return fake_failure("nvmlGpuInstanceCreateComputeInstance", err);
	*ci = 0;
	return 0;
}

int nvml_destroy_compute(struct nvml *n, const struct nvml_gpu *g, uint32_t gi, uint32_t ci,
			 struct error *err)
{
	struct fake_instance *i = instance_at(gpu_at(n, g), gi);

	if (gpu_at(n, g)->lost)
		return fake_lost(err);
	if (!i || ci >= i->ncompute)
		return fake_absent(err);
	if (fails(n, false))
		return fake_failure("nvmlComputeInstanceDestroy", err);
	if (i->pid)
		return error_set(err, ERR_CONFLICT, "nvmlComputeInstanceDestroy: In use");
	i->ncompute = 0;
	return fails(n, true) ? fake_failure("nvmlComputeInstanceDestroy", err) : 0;
}

int nvml_destroy_instance(struct nvml *n, const struct nvml_gpu *g, uint32_t gi, struct error *err)
{
	struct fake_instance *i = instance_at(gpu_at(n, g), gi);

	if (gpu_at(n, g)->lost)
		return fake_lost(err);
	if (!i)
		return fake_absent(err);
	if (fails(n, false))
		return fake_failure("nvmlGpuInstanceDestroy", err);
	if (i->ncompute)
		return error_set(err, ERR_CONFLICT, "nvmlGpuInstanceDestroy: In use");
	i->there = false;
	return fails(n, true) ? fake_failure("nvmlGpuInstanceDestroy", err) : 0;
}

int nvml_mig_uuid(struct nvml *n, const struct nvml_gpu *g, uint32_t gi, uint32_t ci,
		  struct arena *a, struct str *ret, struct error *err)
{
	struct fake_instance *i = instance_at(gpu_at(n, g), gi);

	if (!i || ci >= i->ncompute)
		return fake_absent(err);
	*ret = str_from(arena_printf(a, "MIG-%.*s-%" PRIu32 "-%" PRIu32, STR_ARG(g->uuid), gi, ci));
	return 0;
}

int nvml_processes(struct nvml *n, const struct nvml_gpu *g, struct arena *a,
		   struct nvml_process **ret, size_t *count, struct error *err)
{
	struct fake_gpu *x = gpu_at(n, g);
	struct nvml_process *v = ARENA_ARRAY(a, struct nvml_process, FAKE_INSTANCES + 1);

	(void)err;
	*ret = v;
	*count = 0;
	if (x->pid)
		v[(*count)++] = (struct nvml_process){ x->pid, NVML_WHOLE_GPU, NVML_WHOLE_GPU, 0 };
	for (uint32_t i = 0; i < FAKE_INSTANCES; i++)
		if (x->v[i].there && x->v[i].pid)
			v[(*count)++] = (struct nvml_process){ x->v[i].pid, i, 0, 0 };
	return 0;
}
