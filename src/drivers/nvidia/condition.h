/* nvidia_condition - notes NVML's answer to a poll in the health of a GPU. */
#ifndef DRIVERS_NVIDIA_CONDITION_H
#define DRIVERS_NVIDIA_CONDITION_H

#include "drivers/gpu_health/health.h"
#include "drivers/nvml/nvml.h"

/*
 * `result` and `c` are those of nvml_poll(). A failure other than a lost GPU changes nothing.
 * Returns whether the view of the health has changed.
 */
bool nvidia_condition_note(struct gpu_health *h, int result, const struct nvml_condition *c,
			   const struct gpu_health_opts *o, int64_t now_ns);

#endif
