/*
 * state - processes, condition and measurements of a GPU.
 *
 * Which values exist depends on the GPU and on MIG, so each one is read on its own. A GPU that is
 * lost fails every call with the same code, which ends the round.
 */
#include "drivers/nvml/nvml.h"

#include <inttypes.h>

#include "drivers/nvml/nvml_impl.h"

/* Processes at first, and when that is not enough. */
enum { STATE_PROCESSES = 64, STATE_PROCESSES_MAX = 16384 };

/* --- processes ------------------------------------------------------------------------------- */

static void state_copy_processes(const struct nvml_abi_process *raw, unsigned int count,
				 struct nvml_process *to)
{
	for (unsigned int i = 0; i < count; i++) {
		to[i] = (struct nvml_process){
			.pid = raw[i].pid,
			.gi = raw[i].gi,
			.ci = raw[i].ci,
			.memory = raw[i].memory == NVML_ABI_NO_VALUE ? 0 : raw[i].memory,
		};
	}
}

int nvml_processes(struct nvml *n, const struct nvml_gpu *g, struct arena *a,
		   struct nvml_process **ret, size_t *count, struct error *err)
{
	if (!n->call.nvmlDeviceGetComputeRunningProcesses_v3)
		return nvml_missing("nvmlDeviceGetComputeRunningProcesses_v3", err);
	for (unsigned int room = STATE_PROCESSES;; room *= 2) {
		struct nvml_abi_process *raw = ARENA_ARRAY(a, struct nvml_abi_process, room);
		unsigned int found = room;
		int code = NVML_TIMED(
			n, n->call.nvmlDeviceGetComputeRunningProcesses_v3(g->handle, &found, raw));
		int r;

		if (code == NVML_CODE_INSUFFICIENT_SIZE && room < STATE_PROCESSES_MAX)
			continue;
		r = nvml_result(n, code, "nvmlDeviceGetComputeRunningProcesses_v3", err);
		if (r < 0)
			return r;
		*ret = ARENA_ARRAY(a, struct nvml_process, MAX(found, 1U));
		*count = found;
		state_copy_processes(raw, found, *ret);
		return 0;
	}
}

/* --- condition ------------------------------------------------------------------------------- */

/* Notes a value that was read. Returns 0 if the GPU just does not have it. */
static int state_note(int r, uint32_t *known, uint32_t flag)
{
	if (r == 0)
		*known |= flag;
	return r == -ERR_UNIMPLEMENTED ? 0 : r;
}

static int state_recovery(const struct nvml *n, void *device, uint32_t *action, struct error *err)
{
	struct nvml_abi_field field = { .id = NVML_ABI_FIELD_RECOVERY };
	int r;

	r = NVML_CALL(n, err, nvmlDeviceGetFieldValues, device, 1, &field);
	if (r < 0)
		return r;
	/* Drivers before 565 do not know the field. */
	if (field.code == NVML_CODE_INVALID_ARGUMENT)
		return -ERR_UNIMPLEMENTED;
	*action = field.value.u;
	return nvml_result(n, (int)field.code, "nvmlDeviceGetFieldValues, field 230", err);
}

int nvml_poll(struct nvml *n, const struct nvml_gpu *g, struct nvml_condition *ret,
	      struct error *err)
{
	unsigned int corrected, uncorrected, pending = 0, failed = 0;
	struct nvml_condition c = { 0 };
	unsigned long long reasons = 0;
	int r;

	if (!g->handle)
		return error_set(err, ERR_GONE, "GPU %" PRIu32 " is lost", g->minor);
	r = state_note(state_recovery(n, g->handle, &c.recovery, err), &c.known,
		       NVML_KNOWS_RECOVERY);
	if (r == 0)
		r = state_note(NVML_CALL(n, err, nvmlDeviceGetRemappedRows, g->handle, &corrected,
					 &uncorrected, &pending, &failed),
			       &c.known, NVML_KNOWS_REMAPPED);
	if (r == 0)
		r = state_note(NVML_CALL(n, err, nvmlDeviceGetCurrentClocksEventReasons, g->handle,
					 &reasons),
			       &c.known, NVML_KNOWS_CLOCKS);
	if (r < 0)
		return r;
	c.remap_pending = pending;
	c.remap_failed = failed;
	c.clock_reasons = reasons;
	*ret = c;
	return 0;
}

/* --- measurements ---------------------------------------------------------------------------- */

/* The same for metrics, which leave out all that fails: only a lost GPU ends the round. */
static int state_sample(int r, uint32_t *known, uint32_t flag)
{
	r = state_note(r, known, flag);
	return r == -ERR_GONE || r == -ERR_UNAVAILABLE ? r : 0;
}

static int state_memory(const struct nvml *n, void *device, struct nvml_sample *s,
			struct error *err)
{
	struct nvml_abi_memory memory = { 0 };
	struct nvml_abi_utilization use = { 0 };
	int r;

	r = state_sample(NVML_CALL(n, err, nvmlDeviceGetMemoryInfo, device, &memory), &s->known,
			 NVML_SAMPLE_MEMORY);
	if (r == 0)
		r = state_sample(NVML_CALL(n, err, nvmlDeviceGetUtilizationRates, device, &use),
				 &s->known, NVML_SAMPLE_UTILIZATION);
	s->memory_used = memory.used;
	s->memory_total = memory.total;
	s->utilization = use.gpu;
	s->memory_utilization = use.memory;
	return r;
}

static int state_errors(const struct nvml *n, void *device, struct nvml_sample *s,
			struct error *err)
{
	unsigned long long corrected = 0, uncorrected = 0;
	int r;

	r = state_sample(NVML_CALL(n, err, nvmlDeviceGetTotalEccErrors, device,
				   NVML_ABI_ECC_CORRECTED, NVML_ABI_ECC_VOLATILE, &corrected),
			 &s->known, NVML_SAMPLE_ECC_CORRECTED);
	if (r == 0)
		r = state_sample(NVML_CALL(n, err, nvmlDeviceGetTotalEccErrors, device,
					   NVML_ABI_ECC_UNCORRECTED, NVML_ABI_ECC_VOLATILE,
					   &uncorrected),
				 &s->known, NVML_SAMPLE_ECC_UNCORRECTED);
	s->ecc_corrected = corrected;
	s->ecc_uncorrected = uncorrected;
	return r;
}

/* Newer libraries deprecate the second call; older ones do not have the first. */
static int state_temperature(const struct nvml *n, void *device, uint32_t *celsius,
			     struct error *err)
{
	struct nvml_abi_temperature t = {
		.version = NVML_ABI_VERSION(struct nvml_abi_temperature, 1),
		.sensor = NVML_ABI_SENSOR_GPU,
	};
	int r = NVML_CALL(n, NULL, nvmlDeviceGetTemperatureV, device, &t);

	if (r < 0)
		return NVML_CALL(n, err, nvmlDeviceGetTemperature, device, NVML_ABI_SENSOR_GPU,
				 celsius);
	*celsius = (uint32_t)MAX(t.celsius, 0);
	return 0;
}

int nvml_measure(struct nvml *n, const struct nvml_gpu *g, struct nvml_sample *ret,
		 struct error *err)
{
	struct nvml_sample s = { 0 };
	unsigned long long reasons = 0;
	int r;

	r = state_memory(n, g->handle, &s, err);
	if (r == 0)
		r = state_sample(state_temperature(n, g->handle, &s.temperature, err), &s.known,
				 NVML_SAMPLE_TEMPERATURE);
	if (r == 0)
		r = state_sample(NVML_CALL(n, err, nvmlDeviceGetPowerUsage, g->handle, &s.power),
				 &s.known, NVML_SAMPLE_POWER);
	if (r == 0)
		r = state_errors(n, g->handle, &s, err);
	if (r == 0)
		r = state_sample(NVML_CALL(n, err, nvmlDeviceGetCurrentClocksEventReasons,
					   g->handle, &reasons),
				 &s.known, NVML_SAMPLE_CLOCKS);
	if (r < 0)
		return r;
	s.clock_reasons = reasons;
	*ret = s;
	return 0;
}
