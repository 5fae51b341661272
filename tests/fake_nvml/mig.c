/*
 * mig - MIG mode, GPU instances and compute instances, with the codes that a card returns.
 */
#include "fake.h"

#include <stdio.h>
#include <string.h>

#include "drivers/nvml/nvml.h"
#include "tables.h"

struct fake_gi *fake_find_gi(struct fake_gpu *g, uint32_t id)
{
	for (size_t i = 0; i < FAKE_SLICES; i++) {
		if (g->gis[i].used && g->gis[i].id == id)
			return &g->gis[i];
	}
	return NULL;
}

bool fake_has_instances(const struct fake_gpu *g)
{
	for (size_t i = 0; i < FAKE_SLICES; i++) {
		if (g->gis[i].used)
			return true;
	}
	return false;
}

static void *gi_handle(const struct fake_state *s, const struct fake_gpu *g, uint32_t id)
{
	return fake_handle_of(
		(struct fake_ref){ .kind = FAKE_GI, .gpu = (uint32_t)(g - s->gpus), .gi = id });
}

static void *ci_handle(const struct fake_state *s, const struct fake_gpu *g, uint32_t gi,
		       uint32_t ci)
{
	return fake_handle_of((struct fake_ref){
		.kind = FAKE_CI, .gpu = (uint32_t)(g - s->gpus), .gi = gi, .ci = ci });
}

/* Begins a call on a GPU instance, or with a compute instance's handle on that. */
struct instance_call {
	struct fake_state *s;
	struct fake_gpu *g;
	struct fake_gi *gi;
	uint32_t ci;
};

static int begin_instance(const char *symbol, void *handle, enum fake_handle kind,
			  struct instance_call *c)
{
	struct fake_ref r;
	int code = fake_begin(symbol, &c->s);

	if (code != NVML_CODE_SUCCESS)
		return code;
	if (!fake_handle_read(handle, &r) || r.kind != kind || r.gpu >= c->s->gpus_n)
		return fake_end(symbol, NVML_CODE_INVALID_ARGUMENT);
	c->g = &c->s->gpus[r.gpu];
	if (c->g->lost)
		return fake_end(symbol, (int)c->g->lost);
	c->gi = fake_find_gi(c->g, r.gi);
	c->ci = r.ci;
	if (!c->gi || (kind == FAKE_CI && !c->gi->cis[r.ci].used))
		return fake_end(symbol, NVML_CODE_INVALID_ARGUMENT);
	return NVML_CODE_SUCCESS;
}

/* --- mode ------------------------------------------------------------------------------------ */

int nvmlDeviceSetMigMode(void *device, unsigned int mode, int *activation)
{
	struct fake_state *s;
	struct fake_gpu *g;
	int code = fake_begin_gpu(__func__, device, &s, &g);

	if (code != NVML_CODE_SUCCESS)
		return code;
	if (g->no_mig)
		return fake_end(__func__, NVML_CODE_NOT_SUPPORTED);
	/* `activation` stays as it was, as on a card. */
	if (!mode && fake_has_instances(g))
		return fake_end(__func__, NVML_CODE_IN_USE);
	g->mig_pending = mode;
	*activation = g->mig_reset ? NVML_CODE_RESET_REQUIRED : NVML_CODE_SUCCESS;
	if (g->mig_reset)
		return fake_end(__func__, NVML_CODE_SUCCESS);
	if (g->mig != !!mode)
		fake_push_event(s, &(struct fake_event){ .gpu = (uint32_t)(g - s->gpus),
							 .type = NVML_EVENT_MIG_CHANGED });
	g->mig = mode;
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

/* --- profiles -------------------------------------------------------------------------------- */

static int fill_profile(const struct fake_profile *p, struct nvml_abi_profile *info)
{
	if (!p)
		return NVML_CODE_NOT_SUPPORTED;
	if (info->version != NVML_ABI_VERSION(struct nvml_abi_profile, 2))
		return NVML_CODE_VERSION_MISMATCH;
	info->id = p->id;
	info->p2p = 0;
	info->slices = p->slices;
	info->instances = p->instances;
	info->multiprocessors = p->multiprocessors;
	info->copy_engines = p->copy_engines;
	info->decoders = info->jpeg_engines = p->decoders;
	info->encoders = 0;
	info->ofa_engines = p->ofa_engines;
	info->memory_mib = p->memory_mib;
	(void)snprintf(info->name, sizeof(info->name), "%s", p->name);
	return NVML_CODE_SUCCESS;
}

int nvmlDeviceGetGpuInstanceProfileInfoV(void *device, unsigned int number,
					 struct nvml_abi_profile *info)
{
	struct fake_state *s;
	struct fake_gpu *g;
	int code = fake_begin_gpu(__func__, device, &s, &g);

	if (code != NVML_CODE_SUCCESS)
		return code;
	if (number >= FAKE_PROFILE_NUMBERS)
		code = NVML_CODE_INVALID_ARGUMENT;
	else if (g->no_mig)
		code = NVML_CODE_NOT_SUPPORTED;
	else
		code = fill_profile(fake_profile_by_number(number), info);
	return fake_end(__func__, code);
}

int nvmlDeviceGetGpuInstancePossiblePlacements_v2(void *device, unsigned int profile,
						  struct nvml_abi_placement *places,
						  unsigned int *count)
{
	const struct fake_profile *p = fake_profile_by_id(profile);
	struct fake_state *s;
	struct fake_gpu *g;
	int code = fake_begin_gpu(__func__, device, &s, &g);

	if (code != NVML_CODE_SUCCESS)
		return code;
	if (!p)
		return fake_end(__func__, NVML_CODE_NOT_SUPPORTED);
	*count = p->starts_n;
	for (unsigned int i = 0; places && i < p->starts_n; i++)
		places[i] = (struct nvml_abi_placement){ p->starts[i], p->size };
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

/* --- GPU instances --------------------------------------------------------------------------- */

int nvmlDeviceGetGpuInstances(void *device, unsigned int profile, void **instances,
			      unsigned int *count)
{
	struct fake_state *s;
	struct fake_gpu *g;
	int code = fake_begin_gpu(__func__, device, &s, &g);

	if (code != NVML_CODE_SUCCESS)
		return code;
	if (!g->mig || !fake_profile_by_id(profile))
		return fake_end(__func__, NVML_CODE_NOT_SUPPORTED);
	*count = 0;
	for (size_t i = 0; i < FAKE_SLICES; i++) {
		if (g->gis[i].used && g->gis[i].profile == profile)
			instances[(*count)++] = gi_handle(s, g, g->gis[i].id);
	}
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

int nvmlDeviceGetGpuInstanceById(void *device, unsigned int id, void **gi)
{
	struct fake_state *s;
	struct fake_gpu *g;
	int code = fake_begin_gpu(__func__, device, &s, &g);

	if (code != NVML_CODE_SUCCESS)
		return code;
	if (!g->mig)
		return fake_end(__func__, NVML_CODE_NOT_SUPPORTED);
	if (!fake_find_gi(g, id))
		return fake_end(__func__, NVML_CODE_NOT_FOUND);
	*gi = gi_handle(s, g, id);
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

static bool placement_exists(const struct fake_profile *p, const struct nvml_abi_placement *at)
{
	for (uint32_t i = 0; i < p->starts_n; i++) {
		if (p->starts[i] == at->start && p->size == at->size)
			return true;
	}
	return false;
}

/* Memory slices must be free; and only so many instances of a profile can exist. */
static bool has_room(const struct fake_gpu *g, const struct fake_profile *p, uint32_t start)
{
	uint32_t same = 0;

	for (size_t i = 0; i < FAKE_SLICES; i++) {
		const struct fake_gi *gi = &g->gis[i];

		if (!gi->used)
			continue;
		if (start < gi->start + gi->size && gi->start < start + p->size)
			return false;
		same += gi->profile == p->id;
	}
	return same < p->instances;
}

static struct fake_gi *place_instance(struct fake_gpu *g, uint32_t gpu,
				      const struct fake_profile *p, uint32_t start)
{
	struct fake_gi *gi = g->gis;

	while (gi->used)
		gi++;
	*gi = (struct fake_gi){ .used = true,
				.id = fake_gi_id(gpu, start, p->size),
				.profile = p->id,
				.start = start,
				.size = p->size };
	return gi;
}

int nvmlDeviceCreateGpuInstanceWithPlacement(void *device, unsigned int profile,
					     const struct nvml_abi_placement *place, void **gi)
{
	const struct fake_profile *p = fake_profile_by_id(profile);
	struct fake_gi *made;
	struct fake_state *s;
	struct fake_gpu *g;
	int code = fake_begin_gpu(__func__, device, &s, &g);

	if (code != NVML_CODE_SUCCESS)
		return code;
	if (!g->mig || !p)
		return fake_end(__func__, NVML_CODE_NOT_SUPPORTED);
	if (!placement_exists(p, place))
		return fake_end(__func__, NVML_CODE_INVALID_ARGUMENT);
	if (!has_room(g, p, place->start))
		return fake_end(__func__, NVML_CODE_INSUFFICIENT_RESOURCES);
	made = place_instance(g, (uint32_t)(g - s->gpus), p, place->start);
	fake_files_add(g, made->id, FAKE_NONE);
	*gi = gi_handle(s, g, made->id);
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

int nvmlGpuInstanceGetInfo(void *gi, struct nvml_abi_gi *info)
{
	struct instance_call c;
	int code = begin_instance(__func__, gi, FAKE_GI, &c);

	if (code != NVML_CODE_SUCCESS)
		return code;
	*info = (struct nvml_abi_gi){
		.device = fake_handle_of(
			(struct fake_ref){ .kind = FAKE_GPU, .gpu = (uint32_t)(c.g - c.s->gpus) }),
		.id = c.gi->id,
		.profile = c.gi->profile,
		.place = { c.gi->start, c.gi->size },
	};
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

static bool has_compute(const struct fake_gi *gi)
{
	for (size_t i = 0; i < FAKE_CIS; i++) {
		if (gi->cis[i].used)
			return true;
	}
	return false;
}

int nvmlGpuInstanceDestroy(void *gi)
{
	struct instance_call c;
	int code = begin_instance(__func__, gi, FAKE_GI, &c);

	if (code != NVML_CODE_SUCCESS)
		return code;
	if (has_compute(c.gi))
		return fake_end(__func__, NVML_CODE_IN_USE);
	fake_files_remove(c.g, c.gi->id, FAKE_NONE);
	*c.gi = (struct fake_gi){ 0 };
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

/* --- compute instances ----------------------------------------------------------------------- */

int nvmlGpuInstanceGetComputeInstanceProfileInfo(void *gi, unsigned int number,
						 unsigned int engines,
						 struct nvml_abi_ci_profile *info)
{
	const struct fake_profile *p;
	struct instance_call c;
	uint32_t slices, multiprocessors = 0;
	int code = begin_instance(__func__, gi, FAKE_GI, &c);

	if (code != NVML_CODE_SUCCESS)
		return code;
	if (number >= FAKE_CI_PROFILES || engines != 0)
		return fake_end(__func__, NVML_CODE_INVALID_ARGUMENT);
	p = fake_profile_by_id(c.gi->profile);
	slices = fake_compute_slices(p, number, &multiprocessors);
	if (slices == 0)
		return fake_end(__func__, NVML_CODE_NOT_SUPPORTED);
	*info = (struct nvml_abi_ci_profile){
		.id = number,
		.slices = slices,
		.instances = p->slices / slices,
		.multiprocessors = multiprocessors,
		.copy_engines = p->copy_engines,
		.decoders = p->decoders,
		.jpeg_engines = p->decoders,
		.ofa_engines = p->ofa_engines,
	};
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

/* Finds the first free compute slices. Returns false if there are not enough in a row. */
static bool compute_room(const struct fake_gi *gi, uint32_t all, uint32_t slices, uint32_t *start)
{
	for (*start = 0; *start + slices <= all; ++*start) {
		bool taken = false;

		for (size_t i = 0; i < FAKE_CIS; i++) {
			const struct fake_ci *ci = &gi->cis[i];

			taken |= ci->used && *start < ci->start + ci->slices &&
				 ci->start < *start + slices;
		}
		if (!taken)
			return true;
	}
	return false;
}

int nvmlGpuInstanceCreateComputeInstance(void *gi, unsigned int profile, void **ci)
{
	const struct fake_profile *p;
	struct instance_call c;
	uint32_t slices, start, id = 0, multiprocessors;
	int code = begin_instance(__func__, gi, FAKE_GI, &c);

	if (code != NVML_CODE_SUCCESS)
		return code;
	p = fake_profile_by_id(c.gi->profile);
	slices = fake_compute_slices(p, profile, &multiprocessors);
	if (slices == 0)
		return fake_end(__func__, NVML_CODE_NOT_SUPPORTED);
	if (!compute_room(c.gi, p->slices, slices, &start))
		return fake_end(__func__, NVML_CODE_INSUFFICIENT_RESOURCES);
	while (c.gi->cis[id].used)
		id++;
	c.gi->cis[id] = (struct fake_ci){
		.used = true, .profile = profile, .start = start, .slices = slices
	};
	fake_files_add(c.g, c.gi->id, id);
	*ci = ci_handle(c.s, c.g, c.gi->id, id);
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

int nvmlGpuInstanceGetComputeInstances(void *gi, unsigned int profile, void **instances,
				       unsigned int *count)
{
	struct instance_call c;
	int code = begin_instance(__func__, gi, FAKE_GI, &c);

	if (code != NVML_CODE_SUCCESS)
		return code;
	*count = 0;
	for (uint32_t i = 0; i < FAKE_CIS; i++) {
		if (c.gi->cis[i].used && c.gi->cis[i].profile == profile)
			instances[(*count)++] = ci_handle(c.s, c.g, c.gi->id, i);
	}
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

int nvmlGpuInstanceGetComputeInstanceById(void *gi, unsigned int id, void **ci)
{
	struct instance_call c;
	int code = begin_instance(__func__, gi, FAKE_GI, &c);

	if (code != NVML_CODE_SUCCESS)
		return code;
	if (id >= FAKE_CIS || !c.gi->cis[id].used)
		return fake_end(__func__, NVML_CODE_NOT_FOUND);
	*ci = ci_handle(c.s, c.g, c.gi->id, id);
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

int nvmlComputeInstanceGetInfo_v2(void *ci, struct nvml_abi_ci *info)
{
	struct instance_call c;
	int code = begin_instance(__func__, ci, FAKE_CI, &c);
	uint32_t gpu;

	if (code != NVML_CODE_SUCCESS)
		return code;
	gpu = (uint32_t)(c.g - c.s->gpus);
	*info = (struct nvml_abi_ci){
		/* The parent, as on a card: not the MIG device. */
		.device = fake_handle_of((struct fake_ref){ .kind = FAKE_GPU, .gpu = gpu }),
		.gi = gi_handle(c.s, c.g, c.gi->id),
		.id = c.ci,
		.profile = c.gi->cis[c.ci].profile,
		.place = { c.gi->cis[c.ci].start, c.gi->cis[c.ci].slices },
	};
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

static bool compute_busy(const struct instance_call *c)
{
	for (size_t i = 0; i < FAKE_PROCESSES; i++) {
		const struct fake_process *p = &c->g->processes[i];

		if (p->pid && p->gi == c->gi->id && p->ci == c->ci)
			return true;
	}
	return false;
}

int nvmlComputeInstanceDestroy(void *ci)
{
	struct instance_call c;
	int code = begin_instance(__func__, ci, FAKE_CI, &c);

	if (code != NVML_CODE_SUCCESS)
		return code;
	if (compute_busy(&c))
		return fake_end(__func__, NVML_CODE_IN_USE);
	fake_files_remove(c.g, c.gi->id, c.ci);
	c.gi->cis[c.ci] = (struct fake_ci){ 0 };
	return fake_end(__func__, NVML_CODE_SUCCESS);
}
