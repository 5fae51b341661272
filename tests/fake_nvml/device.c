/*
 * device - details and state of GPUs.
 */
#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tables.h"

#define FAKE_MEMORY (UINT64_C(143771) << 20)

int nvmlDeviceGetCount_v2(unsigned int *count)
{
	struct fake_state *s;
	int code = fake_begin(__func__, &s);

	if (code != NVML_CODE_SUCCESS)
		return code;
	*count = s->gpus_n;
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, void **device)
{
	struct fake_state *s;
	int code = fake_begin(__func__, &s);

	if (code != NVML_CODE_SUCCESS)
		return code;
	if (index >= s->gpus_n)
		return fake_end(__func__, NVML_CODE_INVALID_ARGUMENT);
	if (s->gpus[index].lost)
		return fake_end(__func__, (int)s->gpus[index].lost);
	*device = fake_handle_of((struct fake_ref){ .kind = FAKE_GPU, .gpu = index });
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* The same again whenever an instance is made in the same place. */
static void mig_uuid(const struct fake_ref *r, char *uuid, size_t size)
{
	uint64_t a = mix(((uint64_t)r->gpu << 16 | r->gi << 8 | r->ci) + 1), b = mix(a);

	(void)snprintf(uuid, size, "MIG-%08x-%04x-5%03x-8%03x-%012llx", (unsigned)(a >> 32),
		       (unsigned)(a & 0xffff), (unsigned)(a >> 16 & 0xfff), (unsigned)(b & 0xfff),
		       (unsigned long long)(b >> 16));
}

static bool mig_exists(const struct fake_state *s, const struct fake_ref *r)
{
	const struct fake_gi *gi;

	if (r->gpu >= s->gpus_n)
		return false;
	gi = fake_find_gi((struct fake_gpu *)&s->gpus[r->gpu], r->gi);
	return gi && gi->cis[r->ci].used;
}

/* "MIG-GPU-<uuid>/<gi>/<ci>". */
static bool read_mig_path(const struct fake_state *s, const char *text, struct fake_ref *r)
{
	for (uint32_t i = 0; i < s->gpus_n; i++) {
		size_t n = strlen(s->gpus[i].uuid);
		unsigned int gi, ci;

		if (strncmp(text, "MIG-", 4) != 0 || strncmp(text + 4, s->gpus[i].uuid, n) != 0 ||
		    sscanf(text + 4 + n, "/%u/%u", &gi, &ci) != 2 || gi >= FAKE_GI_IDS ||
		    ci >= FAKE_CIS)
			continue;
		*r = (struct fake_ref){ .kind = FAKE_MIG, .gpu = i, .gi = gi, .ci = ci };
		return true;
	}
	return false;
}

static bool read_mig_uuid(const struct fake_state *s, const char *text, struct fake_ref *r)
{
	for (uint32_t i = 0; i < s->gpus_n * FAKE_GI_IDS * FAKE_CIS; i++) {
		char uuid[FAKE_NAME];

		*r = (struct fake_ref){ .kind = FAKE_MIG,
					.gpu = i / FAKE_CIS / FAKE_GI_IDS,
					.gi = i / FAKE_CIS % FAKE_GI_IDS,
					.ci = i % FAKE_CIS };
		mig_uuid(r, uuid, sizeof(uuid));
		if (strcmp(uuid, text) == 0)
			return true;
	}
	return false;
}

int nvmlDeviceGetHandleByUUID(const char *uuid, void **device)
{
	struct fake_state *s;
	struct fake_ref r = { .kind = FAKE_GPU };
	int code = fake_begin(__func__, &s);

	if (code != NVML_CODE_SUCCESS)
		return code;
	while (r.gpu < s->gpus_n && strcmp(s->gpus[r.gpu].uuid, uuid) != 0)
		r.gpu++;
	if (r.gpu == s->gpus_n && !read_mig_path(s, uuid, &r) && !read_mig_uuid(s, uuid, &r))
		return fake_end(__func__, NVML_CODE_NOT_FOUND);
	if (r.kind == FAKE_MIG && !mig_exists(s, &r))
		return fake_end(__func__, NVML_CODE_NOT_FOUND);
	if (s->gpus[r.gpu].lost)
		return fake_end(__func__, (int)s->gpus[r.gpu].lost);
	*device = fake_handle_of(r);
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

int nvmlDeviceGetUUID(void *device, char *uuid, unsigned int size)
{
	struct fake_state *s;
	struct fake_ref r;
	int code = fake_begin(__func__, &s);

	if (code != NVML_CODE_SUCCESS)
		return code;
	if (!fake_handle_read(device, &r) || r.gpu >= s->gpus_n ||
	    (r.kind != FAKE_GPU && (r.kind != FAKE_MIG || !mig_exists(s, &r))))
		return fake_end(__func__, NVML_CODE_INVALID_ARGUMENT);
	if (s->gpus[r.gpu].lost)
		return fake_end(__func__, (int)s->gpus[r.gpu].lost);
	if (r.kind == FAKE_MIG)
		mig_uuid(&r, uuid, size);
	else
		(void)snprintf(uuid, size, "%s", s->gpus[r.gpu].uuid);
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

/*
 * FAKE_GETTER(symbol, (parameters), statements) defines a call on a GPU whose statements set
 * the results from `g`, and `code` if it fails.
 */
#define FAKE_GETTER(symbol, parameters, ...)                        \
	int symbol parameters                                       \
	{                                                           \
		struct fake_state *s;                               \
		struct fake_gpu *g;                                 \
		int code = fake_begin_gpu(#symbol, device, &s, &g); \
                                                                    \
		if (code != NVML_CODE_SUCCESS)                      \
			return code;                                \
		__VA_ARGS__;                                        \
		return fake_end(#symbol, code);                     \
	}

FAKE_GETTER(nvmlDeviceGetName, (void *device, char *name, unsigned int size),
	    (void)snprintf(name, size, "NVIDIA H200"))
FAKE_GETTER(nvmlDeviceGetMinorNumber, (void *device, unsigned int *minor), *minor = g->minor)
FAKE_GETTER(nvmlDeviceGetBrand, (void *device, unsigned int *brand), *brand = 14)
FAKE_GETTER(nvmlDeviceGetArchitecture, (void *device, unsigned int *architecture),
	    *architecture = 9)
FAKE_GETTER(nvmlDeviceGetCudaComputeCapability, (void *device, int *major, int *minor),
	    (*major = 9, *minor = 0))
FAKE_GETTER(nvmlDeviceGetTemperature, (void *device, unsigned int sensor, unsigned int *celsius),
	    *celsius = 41)
FAKE_GETTER(nvmlDeviceGetTemperatureV, (void *device, struct nvml_abi_temperature *temperature),
	    if (temperature->version != NVML_ABI_VERSION(struct nvml_abi_temperature, 1))
		    code = NVML_CODE_VERSION_MISMATCH;
	    else temperature->celsius = 42)
FAKE_GETTER(nvmlDeviceGetPowerUsage, (void *device, unsigned int *milliwatts), *milliwatts = 76543)
FAKE_GETTER(nvmlDeviceGetSupportedEventTypes, (void *device, unsigned long long *types),
	    *types = 0xff9f)
FAKE_GETTER(nvmlDeviceGetCurrentClocksEventReasons, (void *device, unsigned long long *reasons),
	    *reasons = g->clock_reasons)
FAKE_GETTER(nvmlDeviceGetTotalEccErrors,
	    (void *device, unsigned int type, unsigned int counter, unsigned long long *errors),
	    *errors = type == NVML_ABI_ECC_CORRECTED ? 7 : 0)

/* With MIG, NVML measures no utilization. */
FAKE_GETTER(nvmlDeviceGetUtilizationRates, (void *device, struct nvml_abi_utilization *use),
	    if (g->mig) code = NVML_CODE_NOT_SUPPORTED;
	    else *use = ((struct nvml_abi_utilization){ 12, 3 }))

FAKE_GETTER(nvmlDeviceGetAddressingMode, (void *device, struct nvml_abi_addressing *mode),
	    if (mode->version != NVML_ABI_VERSION(struct nvml_abi_addressing, 1))
		    code = NVML_CODE_VERSION_MISMATCH;
	    else mode->mode = 0)

FAKE_GETTER(nvmlDeviceGetComputeMode, (void *device, unsigned int *mode), *mode = g->compute_mode)
FAKE_GETTER(nvmlDeviceSetComputeMode, (void *device, unsigned int mode),
	    if (mode > 3) code = NVML_CODE_INVALID_ARGUMENT;
	    else g->compute_mode = mode)

FAKE_GETTER(nvmlDeviceGetMigMode, (void *device, unsigned int *mode, unsigned int *pending),
	    if (g->no_mig) code = NVML_CODE_NOT_SUPPORTED;
	    else(*mode = g->mig, *pending = g->mig_pending))

FAKE_GETTER(nvmlDeviceGetRemappedRows,
	    (void *device, unsigned int *corrected, unsigned int *uncorrected,
	     unsigned int *pending, unsigned int *failed),
	    *corrected = *uncorrected = 0;
	    *pending = g->remap_pending; *failed = g->remap_failed;
	    if (fake_has_instances(g)) code = NVML_CODE_NOT_SUPPORTED)

int nvmlDeviceGetPciInfo_v3(void *device, struct nvml_abi_pci *pci)
{
	struct fake_state *s;
	struct fake_gpu *g;
	int code = fake_begin_gpu(__func__, device, &s, &g);

	if (code != NVML_CODE_SUCCESS)
		return code;
	*pci = (struct nvml_abi_pci){ .device = 6 + g->minor, .device_id = 0x233510de };
	(void)snprintf(pci->id, sizeof(pci->id), "00000000:00:%02X.0", pci->device);
	(void)snprintf(pci->legacy_id, sizeof(pci->legacy_id), "0000:00:%02X.0", pci->device);
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

static unsigned long long used_memory(const struct fake_gpu *g)
{
	unsigned long long used = UINT64_C(512) << 20;

	for (size_t i = 0; i < FAKE_PROCESSES; i++)
		used += g->processes[i].pid ? UINT64_C(256) << 20 : 0;
	return used;
}

int nvmlDeviceGetMemoryInfo(void *device, struct nvml_abi_memory *memory)
{
	struct fake_state *s;
	struct fake_gpu *g;
	int code = fake_begin_gpu(__func__, device, &s, &g);

	if (code != NVML_CODE_SUCCESS)
		return code;
	memory->total = FAKE_MEMORY;
	memory->used = used_memory(g);
	memory->free = memory->total - memory->used;
	return fake_end(__func__, NVML_CODE_SUCCESS);
}

int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned int *count,
					    struct nvml_abi_process *processes)
{
	struct fake_state *s;
	struct fake_gpu *g;
	unsigned int n = 0, room = *count;
	int code = fake_begin_gpu(__func__, device, &s, &g);

	if (code != NVML_CODE_SUCCESS)
		return code;
	for (size_t i = 0; i < FAKE_PROCESSES; i++) {
		const struct fake_process *p = &g->processes[i];

		if (p->pid == 0)
			continue;
		if (n < room)
			processes[n] = (struct nvml_abi_process){ .pid = p->pid,
								  .memory = UINT64_C(256) << 20,
								  .gi = p->gi,
								  .ci = p->ci };
		n++;
	}
	*count = n;
	return fake_end(__func__, n > room ? NVML_CODE_INSUFFICIENT_SIZE : NVML_CODE_SUCCESS);
}

int nvmlDeviceGetFieldValues(void *device, int count, struct nvml_abi_field *fields)
{
	struct fake_state *s;
	struct fake_gpu *g;
	int code = fake_begin_gpu(__func__, device, &s, &g);

	if (code != NVML_CODE_SUCCESS)
		return code;
	for (int i = 0; i < count; i++) {
		fields[i].code = NVML_CODE_NOT_SUPPORTED;
		if (fields[i].id != NVML_ABI_FIELD_RECOVERY)
			continue;
		fields[i].code = NVML_CODE_SUCCESS;
		fields[i].type = 1; /* unsigned int */
		fields[i].value.u = g->recovery;
	}
	return fake_end(__func__, NVML_CODE_SUCCESS);
}
