/*
 * events - an event set for all GPUs.
 *
 * Clock and power state events come many times a second and say nothing about health, so they are
 * left out. A GPU that cannot be registered does not keep the events of others away.
 */
#include "drivers/nvml/nvml.h"

#include "base/core/mem.h"
#include "drivers/nvml/nvml_impl.h"

struct nvml_events {
	struct nvml *nvml;
	void *set;
};

static int events_register(struct nvml_events *e, const struct nvml_gpu *g, struct error *err)
{
	unsigned long long types = 0;
	int r;

	r = NVML_CALL(e->nvml, err, nvmlDeviceGetSupportedEventTypes, g->handle, &types);
	if (r < 0)
		return r;
	types &= ~(unsigned long long)(NVML_ABI_EVENT_CLOCK | NVML_ABI_EVENT_POWER_STATE);
	return NVML_CALL(e->nvml, err, nvmlDeviceRegisterEvents, g->handle, types, e->set);
}

/*
 * Makes a set and registers all GPUs but those in `skip`. Returns false, without a set, if one
 * failed, and adds that to `skip`: NVML leaves a set undefined when a registration fails.
 */
static bool events_fill(struct nvml_events *e, const struct nvml_gpu *gpus, size_t count,
			bool *skip, struct error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (skip[i] || events_register(e, &gpus[i], err) == 0)
			continue;
		skip[i] = true;
		(void)NVML_CALL(e->nvml, NULL, nvmlEventSetFree, e->set);
		return false;
	}
	return true;
}

static bool events_none_left(const bool *skip, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!skip[i])
			return false;
	}
	return count > 0;
}

int nvml_events_open(struct nvml *n, const struct nvml_gpu *gpus, size_t count,
		     struct nvml_events **ret, struct error *err)
{
	struct nvml_events *e = XNEW(struct nvml_events);
	bool *skip = xcalloc(count ? count : 1, sizeof(*skip));
	struct error why = { 0 };
	int r;

	e->nvml = n;
	do {
		r = NVML_CALL(n, &why, nvmlEventSetCreate, &e->set);
	} while (r == 0 && !events_fill(e, gpus, count, skip, &why) &&
		 !events_none_left(skip, count));
	if (r == 0 && events_none_left(skip, count))
		r = -(int)why.code;
	free(skip);
	if (r < 0) {
		free(e);
		return error_wrap(err, error_copy(err, &why), "register for events");
	}
	*ret = e;
	return 0;
}

int nvml_events_wait(struct nvml_events *e, uint32_t timeout_ms, struct nvml_event *ret,
		     struct error *err)
{
	struct nvml_abi_event event = { 0 };
	int code, r;

	if (!e->nvml->call.nvmlEventSetWait_v2)
		return nvml_missing("nvmlEventSetWait_v2", err);
	code = e->nvml->call.nvmlEventSetWait_v2(e->set, &event, timeout_ms);
	if (code == NVML_CODE_TIMEOUT)
		return 0;
	r = nvml_result(e->nvml, code, "nvmlEventSetWait_v2", err);
	if (r < 0)
		return r;
	*ret = (struct nvml_event){
		.gpu = event.device,
		.type = event.type,
		.data = event.data,
		.gi = event.type == NVML_EVENT_XID ? event.gi : NVML_WHOLE_GPU,
		.ci = event.type == NVML_EVENT_XID ? event.ci : NVML_WHOLE_GPU,
	};
	return 1;
}

void nvml_events_close(struct nvml_events *e)
{
	if (!e)
		return;
	(void)NVML_CALL(e->nvml, NULL, nvmlEventSetFree, e->set);
	free(e);
}
