/*
 * gpu - the physical GPUs and what does not change about them.
 *
 * A GPU without UUID, minor or PCI address cannot be offered, so it is left out. Other details may
 * be missing: old GPUs do not have all of them.
 */
#include "drivers/nvml/nvml.h"

#include "base/core/buf.h"
#include "drivers/nvml/nvml_impl.h"

static struct str gpu_name_of(const char *const *names, size_t count, unsigned int number)
{
	return str_from(number < count && names[number] ? names[number] : "Unknown");
}

/* The words that NVIDIA's own DRA driver publishes. */
static struct str gpu_brand(const struct nvml *n, void *device)
{
	static const char *const names[] = {
		[1] = "Quadro",
		[2] = "Tesla",
		[3] = "NVS",
		[4] = "Grid",
		[5] = "GeForce",
		[6] = "Titan",
		[7] = "NvidiaVApps",
		[8] = "NvidiaVPC",
		[9] = "NvidiaVCS",
		[10] = "NvidiaVWS",
		[11] = "NvidiaCloudGaming",
		[12] = "QuadroRTX",
		[13] = "NvidiaRTX",
		[14] = "Nvidia",
		[15] = "GeForceRTX",
		[16] = "TitanRTX",
	};
	unsigned int brand = 0;

	if (NVML_CALL(n, NULL, nvmlDeviceGetBrand, device, &brand) < 0)
		return STR("Unknown");
	return gpu_name_of(names, ARRAY_SIZE(names), brand);
}

static struct str gpu_architecture(const struct nvml *n, void *device)
{
	static const char *const names[] = {
		[2] = "Kepler",     [3] = "Maxwell", [4] = "Pascal",       [5] = "Volta",
		[6] = "Turing",     [7] = "Ampere",  [8] = "Ada Lovelace", [9] = "Hopper",
		[10] = "Blackwell", [11] = "Orin",   [13] = "Rubin",
	};
	unsigned int architecture = 0;

	if (NVML_CALL(n, NULL, nvmlDeviceGetArchitecture, device, &architecture) < 0)
		return STR("Unknown");
	return gpu_name_of(names, ARRAY_SIZE(names), architecture);
}

static struct str gpu_addressing(const struct nvml *n, void *device)
{
	static const char *const names[] = { "None", "HMM", "ATS" };
	struct nvml_abi_addressing mode = {
		.version = NVML_ABI_VERSION(struct nvml_abi_addressing, 1),
	};

	if (NVML_CALL(n, NULL, nvmlDeviceGetAddressingMode, device, &mode) < 0 ||
	    mode.mode >= ARRAY_SIZE(names))
		return STR_NULL;
	return str_from(names[mode.mode]);
}

static int gpu_mig(const struct nvml *n, void *device, enum nvml_mig *now, enum nvml_mig *pending,
		   struct error *err)
{
	unsigned int mode = 0, later = 0;
	int r = NVML_CALL(n, err, nvmlDeviceGetMigMode, device, &mode, &later);

	if (r == -ERR_UNIMPLEMENTED) {
		*now = *pending = NVML_MIG_NONE;
		return 0;
	}
	if (r < 0)
		return r;
	*now = mode ? NVML_MIG_ON : NVML_MIG_OFF;
	*pending = later ? NVML_MIG_ON : NVML_MIG_OFF;
	return 0;
}

int nvml_get_mig(struct nvml *n, const struct nvml_gpu *g, enum nvml_mig *ret, struct error *err)
{
	enum nvml_mig pending;

	return gpu_mig(n, g->handle, ret, &pending, err);
}

int nvml_get_compute_mode(struct nvml *n, const struct nvml_gpu *g, enum nvml_compute_mode *ret,
			  struct error *err)
{
	unsigned int mode = NVML_COMPUTE_DEFAULT;
	int r = NVML_CALL(n, err, nvmlDeviceGetComputeMode, g->handle, &mode);

	*ret = (enum nvml_compute_mode)mode;
	return r;
}

int nvml_set_compute_mode(struct nvml *n, const struct nvml_gpu *g, enum nvml_compute_mode mode,
			  struct error *err)
{
	return NVML_CALL(n, err, nvmlDeviceSetComputeMode, g->handle, (unsigned int)mode);
}

static int gpu_identity(const struct nvml *n, struct arena *a, struct nvml_gpu *g,
			struct error *err)
{
	char uuid[NVML_ABI_UUID_SIZE] = "", name[NVML_ABI_NAME_SIZE] = "";
	struct nvml_abi_pci pci = { 0 };
	int r;

	r = NVML_CALL(n, err, nvmlDeviceGetUUID, g->handle, uuid, sizeof(uuid));
	if (r == 0)
		r = NVML_CALL(n, err, nvmlDeviceGetName, g->handle, name, sizeof(name));
	if (r == 0)
		r = NVML_CALL(n, err, nvmlDeviceGetMinorNumber, g->handle, &g->minor);
	if (r == 0)
		r = NVML_CALL(n, err, nvmlDeviceGetPciInfo_v3, g->handle, &pci);
	if (r < 0)
		return r;
	g->uuid = arena_str(a, str_from(uuid));
	g->name = arena_str(a, str_from(name));
	g->pci = str_from(arena_printf(a, "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device));
	return 0;
}

static int gpu_read(const struct nvml *n, struct arena *a, unsigned int index, struct nvml_gpu *g,
		    struct error *err)
{
	struct nvml_abi_memory memory = { 0 };
	int r;

	r = NVML_CALL(n, err, nvmlDeviceGetHandleByIndex_v2, index, &g->handle);
	if (r == 0)
		r = gpu_identity(n, a, g, err);
	if (r == 0)
		r = NVML_CALL(n, err, nvmlDeviceGetMemoryInfo, g->handle, &memory);
	if (r == 0)
		r = gpu_mig(n, g->handle, &g->mig, &g->mig_pending, err);
	if (r < 0)
		return r;
	g->memory = memory.total;
	g->brand = gpu_brand(n, g->handle);
	g->architecture = gpu_architecture(n, g->handle);
	g->addressing = gpu_addressing(n, g->handle);
	(void)NVML_CALL(n, NULL, nvmlDeviceGetCudaComputeCapability, g->handle, &g->cc_major,
			&g->cc_minor);
	return 0;
}

int nvml_gpus(struct nvml *n, struct arena *a, struct nvml_gpu **ret, size_t *count,
	      struct str *skipped, struct error *err)
{
	CLEANUP(buf_release) struct buf left_out = BUF_INIT(4096);
	struct nvml_gpu *gpus;
	unsigned int all = 0;
	size_t found = 0;
	int r;

	r = NVML_CALL(n, err, nvmlDeviceGetCount_v2, &all);
	if (r < 0)
		return r;
	gpus = ARENA_ARRAY(a, struct nvml_gpu, all ? all : 1);
	for (unsigned int i = 0; i < all; i++) {
		struct error why = { 0 };

		gpus[found] = (struct nvml_gpu){ 0 };
		if (gpu_read(n, a, i, &gpus[found], &why) == 0)
			found++;
		else
			(void)buf_printf(&left_out, "%sGPU %u: %s", left_out.n ? "; " : "", i,
					 why.msg);
	}
	if (skipped)
		*skipped = arena_str(a, str_of(left_out.p, left_out.n));
	*ret = gpus;
	*count = found;
	return 0;
}
