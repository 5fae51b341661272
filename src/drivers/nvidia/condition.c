/* The mapping between nvml.h and gpu_health, which do not know each other. */
#include "drivers/nvidia/condition.h"

static struct gpu_poll poll_of(const struct nvml_condition *c)
{
	struct gpu_poll p = { .recovery = GPU_UNSUPPORTED };

	if (c->known & NVML_KNOWS_RECOVERY)
		p.recovery = (int32_t)c->recovery;
	p.remap_known = c->known & NVML_KNOWS_REMAPPED;
	p.remap_pending = c->remap_pending;
	p.remap_failure = c->remap_failed;
	if (c->known & NVML_KNOWS_CLOCKS)
		p.slowdown = c->clock_reasons &
			     (NVML_SLOW_HARDWARE | NVML_SLOW_THERMAL | NVML_SLOW_POWER_BRAKE);
	return p;
}

bool nvidia_condition_note(struct gpu_health *h, int result, const struct nvml_condition *c,
			   const struct gpu_health_opts *o, int64_t now_ns)
{
	struct gpu_poll p = poll_of(c);

	if (result == -ERR_GONE)
		return gpu_health_note_lost(h, now_ns);
	return result == 0 && gpu_health_note_poll(h, &p, o, now_ns);
}
