/*
 * mig - profiles, MIG mode, and GPU and compute instances.
 *
 * Instances are named by their ids, and looked up for every call: handles of NVML become stale when
 * another process destroys an instance. Instances are listed by profile, because walking MIG
 * devices does not find GPU instances without compute instances.
 */
#include "drivers/nvml/nvml.h"

#include <inttypes.h>

#include "drivers/nvml/nvml_impl.h"

#define MIG_PREFIX "MIG "
#define MIG_MIB    (UINT64_C(1) << 20)

/* Instances of one profile that are listed at most: more than a GPU has memory slices. */
enum { MIG_LIST_MAX = 64 };

/* Calls fn for each GPU instance profile that the GPU has, until it fails. */
static int nvml_each_profile(const struct nvml *n, void *device,
			     int (*fn)(void *arg, uint32_t number, const struct nvml_abi_profile *p,
				       struct error *err),
			     void *arg, struct error *err)
{
	if (!n->call.nvmlDeviceGetGpuInstanceProfileInfoV)
		return nvml_missing("nvmlDeviceGetGpuInstanceProfileInfoV", err);
	for (uint32_t number = 0; number < NVML_ABI_PROFILES; number++) {
		struct nvml_abi_profile p = {
			.version = NVML_ABI_VERSION(struct nvml_abi_profile, 2),
		};
		int code = NVML_TIMED(
			n, n->call.nvmlDeviceGetGpuInstanceProfileInfoV(device, number, &p));
		int r;

		/* Behind the last number that the library knows. */
		if (code == NVML_CODE_INVALID_ARGUMENT && number > 0)
			return 0;
		if (code == NVML_CODE_NOT_SUPPORTED)
			continue;
		r = nvml_result(n, code, "nvmlDeviceGetGpuInstanceProfileInfoV", err);
		if (r == 0) {
			p.name[sizeof(p.name) - 1] = '\0';
			r = fn(arg, number, &p, err);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* --- profiles -------------------------------------------------------------------------------- */

struct mig_profiles {
	struct nvml *nvml;
	void *device;
	struct arena *arena;
	struct nvml_profile *found;
	size_t count;
};

static int mig_placements(struct mig_profiles *all, struct nvml_profile *p, struct error *err)
{
	struct nvml_placement *places;
	struct nvml_abi_placement *raw;
	unsigned int count = 0;
	int r;

	r = NVML_CALL(all->nvml, err, nvmlDeviceGetGpuInstancePossiblePlacements_v2, all->device,
		      p->id, NULL, &count);
	if (r < 0 || count == 0)
		return r;
	raw = ARENA_ARRAY(all->arena, struct nvml_abi_placement, count);
	r = NVML_CALL(all->nvml, err, nvmlDeviceGetGpuInstancePossiblePlacements_v2, all->device,
		      p->id, raw, &count);
	if (r < 0)
		return r;
	places = ARENA_ARRAY(all->arena, struct nvml_placement, count);
	for (unsigned int i = 0; i < count; i++)
		places[i] = (struct nvml_placement){ raw[i].start, raw[i].size };
	p->placements = places;
	p->nplacements = count;
	return 0;
}

static int mig_add_profile(void *arg, uint32_t number, const struct nvml_abi_profile *raw,
			   struct error *err)
{
	struct mig_profiles *all = arg;
	struct nvml_profile *p = &all->found[all->count++];
	struct str name = str_from(raw->name);

	if (str_starts(name, STR(MIG_PREFIX)))
		name = str_skip(name, sizeof(MIG_PREFIX) - 1);
	*p = (struct nvml_profile){
		.id = raw->id,
		.number = number,
		.name = arena_str(all->arena, name),
		.slices = raw->slices,
		.multiprocessors = raw->multiprocessors,
		.copy_engines = raw->copy_engines,
		.decoders = raw->decoders,
		.encoders = raw->encoders,
		.jpeg_engines = raw->jpeg_engines,
		.ofa_engines = raw->ofa_engines,
		.memory = raw->memory_mib * MIG_MIB,
		.instances = raw->instances,
	};
	return mig_placements(all, p, err);
}

int nvml_profiles(struct nvml *n, const struct nvml_gpu *g, struct arena *a,
		  struct nvml_profile **ret, size_t *count, struct error *err)
{
	struct mig_profiles all = { .nvml = n, .device = g->handle, .arena = a };
	int r;

	all.found = ARENA_ARRAY(a, struct nvml_profile, NVML_ABI_PROFILES);
	r = nvml_each_profile(n, g->handle, mig_add_profile, &all, err);
	if (r < 0)
		return r;
	*ret = all.found;
	*count = all.count;
	return 0;
}

/* --- mode ------------------------------------------------------------------------------------ */

static int mig_advise(int r, struct error *err)
{
	return r == -ERR_FORBIDDEN
		       ? error_wrap(err, r,
				    "run the driver as root, in a privileged container that has "
				    "the machine's /dev and /proc")
		       : r;
}

int nvml_set_mig(struct nvml *n, const struct nvml_gpu *g, bool on, struct error *err)
{
	/* A refused call leaves it untouched; one that is accepted may still not take effect. */
	int activation = NVML_CODE_SUCCESS;
	enum nvml_mig now = NVML_MIG_NONE;
	int r;

	r = NVML_CALL(n, err, nvmlDeviceSetMigMode, g->handle, on, &activation);
	if (r == 0)
		r = nvml_result(n, activation, "activation by nvmlDeviceSetMigMode", err);
	if (r == 0)
		r = nvml_get_mig(n, g, &now, err);
	if (r == 0 && now != (on ? NVML_MIG_ON : NVML_MIG_OFF))
		r = error_set(err, ERR_GONE, "the new mode waits for a reset of the GPU");
	r = mig_advise(r, err);
	return r < 0 ? error_wrap(err, r, "switch MIG %s", on ? "on" : "off") : 0;
}

/* --- list ------------------------------------------------------------------------------------ */

static int mig_compute_profile(const struct nvml *n, void *gi, unsigned int number,
			       struct nvml_abi_ci_profile *p)
{
	*p = (struct nvml_abi_ci_profile){ 0 };
	return NVML_CALL(n, NULL, nvmlGpuInstanceGetComputeInstanceProfileInfo, gi, number, 0, p);
}

static int mig_note_compute(const struct nvml *n, struct nvml_instance *i, void *handle,
			    struct error *err)
{
	struct nvml_abi_ci info = { 0 };
	int r = NVML_CALL(n, err, nvmlComputeInstanceGetInfo_v2, handle, &info);

	for (size_t k = 0; r == 0 && k < i->ncompute; k++) {
		if (i->compute[k] == info.id)
			return 0;
	}
	if (r == 0 && i->ncompute < NVML_COMPUTE_MAX)
		i->compute[i->ncompute++] = info.id;
	return r;
}

static int mig_list_compute(const struct nvml *n, void *gi, struct nvml_instance *i,
			    struct error *err)
{
	for (unsigned int number = 0; number < NVML_ABI_COMPUTE_PROFILES; number++) {
		void *handles[MIG_LIST_MAX] = { 0 };
		struct nvml_abi_ci_profile p;
		unsigned int count = 0;
		int r;

		if (mig_compute_profile(n, gi, number, &p) < 0)
			continue;
		r = NVML_CALL(n, err, nvmlGpuInstanceGetComputeInstances, gi, p.id, handles,
			      &count);
		for (unsigned int k = 0; r == 0 && k < MIN(count, (unsigned int)MIG_LIST_MAX); k++)
			r = mig_note_compute(n, i, handles[k], err);
		if (r < 0)
			return r;
	}
	return 0;
}

struct mig_list {
	const struct nvml *nvml;
	void *device;
	struct nvml_instance *found; /* room for MIG_LIST_MAX */
	size_t count;
};

static int mig_list_profile(void *arg, uint32_t number, const struct nvml_abi_profile *p,
			    struct error *err)
{
	struct mig_list *l = arg;
	void *handles[MIG_LIST_MAX] = { 0 };
	unsigned int count = 0;
	int r;

	r = NVML_CALL(l->nvml, err, nvmlDeviceGetGpuInstances, l->device, p->id, handles, &count);
	for (unsigned int k = 0; r == 0 && k < MIN(count, (unsigned int)MIG_LIST_MAX); k++) {
		struct nvml_abi_gi info = { 0 };
		struct nvml_instance *i = &l->found[l->count];

		if (l->count == MIG_LIST_MAX)
			return error_set(err, ERR_IO, "NVML lists more than %d GPU instances",
					 MIG_LIST_MAX);
		r = NVML_CALL(l->nvml, err, nvmlGpuInstanceGetInfo, handles[k], &info);
		if (r < 0)
			break;
		i->id = info.id;
		i->profile = info.profile;
		i->place = (struct nvml_placement){ info.place.start, info.place.size };
		r = mig_list_compute(l->nvml, handles[k], i, err);
		l->count++;
	}
	return r;
}

int nvml_instances(struct nvml *n, const struct nvml_gpu *g, struct arena *a,
		   struct nvml_instance **ret, size_t *count, struct error *err)
{
	struct mig_list l = { .nvml = n, .device = g->handle };
	enum nvml_mig mode = NVML_MIG_NONE;
	int r;

	l.found = ARENA_ARRAY(a, struct nvml_instance, MIG_LIST_MAX);
	r = nvml_get_mig(n, g, &mode, err);
	if (r == 0 && mode == NVML_MIG_ON)
		r = nvml_each_profile(n, g->handle, mig_list_profile, &l, err);
	if (r < 0)
		return r;
	*ret = l.found;
	*count = l.count;
	return 0;
}

/* --- create and destroy ---------------------------------------------------------------------- */

int nvml_create_instance(struct nvml *n, const struct nvml_gpu *g, uint32_t profile,
			 struct nvml_placement place, uint32_t *gi, struct error *err)
{
	struct nvml_abi_placement at = { place.start, place.size };
	struct nvml_abi_gi info = { 0 };
	void *handle = NULL;
	int r;

	r = NVML_CALL(n, err, nvmlDeviceCreateGpuInstanceWithPlacement, g->handle, profile, &at,
		      &handle);
	if (r < 0)
		return mig_advise(r, err);
	r = NVML_CALL(n, err, nvmlGpuInstanceGetInfo, handle, &info);
	if (r < 0) {
		/* Its id is unknown, so the caller could not destroy it. */
		(void)NVML_CALL(n, NULL, nvmlGpuInstanceDestroy, handle);
		return r;
	}
	*gi = info.id;
	return 0;
}

static int mig_find_instance(const struct nvml *n, const struct nvml_gpu *g, uint32_t id, void **gi,
			     struct error *err)
{
	return NVML_CALL(n, err, nvmlDeviceGetGpuInstanceById, g->handle, id, gi);
}

/*
 * The profile whose compute instance takes all slices. Where several do, the one with the most
 * multiprocessors takes the whole GPU instance: some one-slice GPU instances have more of them.
 */
static int mig_whole_profile(const struct nvml *n, void *gi, uint32_t slices, uint32_t *ret,
			     struct error *err)
{
	struct nvml_abi_ci_profile p, best = { 0 };

	for (unsigned int number = 0; number < NVML_ABI_COMPUTE_PROFILES; number++) {
		if (mig_compute_profile(n, gi, number, &p) == 0 && p.slices == slices &&
		    p.multiprocessors > best.multiprocessors)
			best = p;
	}
	if (best.multiprocessors == 0)
		return error_set(err, ERR_NOT_FOUND,
				 "the GPU instance has no compute profile of %" PRIu32 " slices",
				 slices);
	*ret = best.id;
	return 0;
}

int nvml_create_compute(struct nvml *n, const struct nvml_gpu *g, uint32_t gi, uint32_t slices,
			uint32_t *ci, struct error *err)
{
	struct nvml_abi_ci info = { 0 };
	void *instance = NULL, *handle = NULL;
	uint32_t profile = 0;
	int r;

	r = mig_find_instance(n, g, gi, &instance, err);
	if (r == 0)
		r = mig_whole_profile(n, instance, slices, &profile, err);
	if (r == 0)
		r = NVML_CALL(n, err, nvmlGpuInstanceCreateComputeInstance, instance, profile,
			      &handle);
	if (r < 0)
		return mig_advise(r, err);
	r = NVML_CALL(n, err, nvmlComputeInstanceGetInfo_v2, handle, &info);
	if (r < 0) {
		(void)NVML_CALL(n, NULL, nvmlComputeInstanceDestroy, handle);
		return r;
	}
	*ci = info.id;
	return 0;
}

int nvml_destroy_compute(struct nvml *n, const struct nvml_gpu *g, uint32_t gi, uint32_t ci,
			 struct error *err)
{
	void *instance = NULL, *handle = NULL;
	int r;

	r = mig_find_instance(n, g, gi, &instance, err);
	if (r == 0)
		r = NVML_CALL(n, err, nvmlGpuInstanceGetComputeInstanceById, instance, ci, &handle);
	if (r == 0)
		r = NVML_CALL(n, err, nvmlComputeInstanceDestroy, handle);
	return r;
}

int nvml_destroy_instance(struct nvml *n, const struct nvml_gpu *g, uint32_t gi, struct error *err)
{
	void *instance = NULL;
	int r;

	r = mig_find_instance(n, g, gi, &instance, err);
	if (r == 0)
		r = NVML_CALL(n, err, nvmlGpuInstanceDestroy, instance);
	return r;
}

/* NVML finds a MIG device by its ids in 3 ms; walking all of them takes 25 ms for each. */
int nvml_mig_uuid(struct nvml *n, const struct nvml_gpu *g, uint32_t gi, uint32_t ci,
		  struct arena *a, struct str *ret, struct error *err)
{
	char name[2 * NVML_ABI_UUID_SIZE], uuid[NVML_ABI_UUID_SIZE] = "";
	void *device = NULL;
	int r;

	(void)snprintf(name, sizeof(name), "MIG-%.*s/%" PRIu32 "/%" PRIu32, STR_ARG(g->uuid), gi,
		       ci);
	r = NVML_CALL(n, err, nvmlDeviceGetHandleByUUID, name, &device);
	if (r == 0)
		r = NVML_CALL(n, err, nvmlDeviceGetUUID, device, uuid, sizeof(uuid));
	if (r < 0)
		return error_wrap(err, r, "%s", name);
	*ret = arena_str(a, str_from(uuid));
	return 0;
}
