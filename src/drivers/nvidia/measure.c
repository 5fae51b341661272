/* Families are a table. Series of holders are removed before the new ones are set. */
#include "drivers/nvidia/measure.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "base/report/metrics.h"
#include "drivers/drivers_limits.h"

enum measured {
	MEASURED_UTILIZATION,
	MEASURED_MEMORY_USED,
	MEASURED_MEMORY_TOTAL,
	MEASURED_TEMPERATURE,
	MEASURED_POWER,
	MEASURED_SLOWDOWN,
	MEASURED_ECC_CORRECTED,
	MEASURED_ECC_UNCORRECTED,
	MEASURED,
};

static const char *const gpu_labels[] = { "gpu", "uuid" };
static const char *const xid_labels[] = { "gpu", "uuid", "xid" };
static const char *const held_labels[] = { "device", "uuid", "namespace", "claim" };

static const struct {
	const char *name, *help;
	uint32_t flag; /* NVML_SAMPLE_* */
} measures[MEASURED] = {
	[MEASURED_UTILIZATION] = { "devplane_nvidia_utilization_ratio",
				   "Share of time in which a kernel ran on the GPU.",
				   NVML_SAMPLE_UTILIZATION },
	[MEASURED_MEMORY_USED] = { "devplane_nvidia_memory_used_bytes",
				   "Memory of the GPU that is in use.", NVML_SAMPLE_MEMORY },
	[MEASURED_MEMORY_TOTAL] = { "devplane_nvidia_memory_total_bytes", "Memory of the GPU.",
				    NVML_SAMPLE_MEMORY },
	[MEASURED_TEMPERATURE] = { "devplane_nvidia_temperature_celsius", "Temperature of the GPU.",
				   NVML_SAMPLE_TEMPERATURE },
	[MEASURED_POWER] = { "devplane_nvidia_power_watts", "Power that the GPU draws.",
			     NVML_SAMPLE_POWER },
	[MEASURED_SLOWDOWN] = { "devplane_nvidia_slowdown",
				"1 while heat or power slows the GPU down.", NVML_SAMPLE_CLOCKS },
	[MEASURED_ECC_CORRECTED] = { "devplane_nvidia_ecc_corrected_errors",
				     "Corrected memory errors since the kernel module was loaded.",
				     NVML_SAMPLE_ECC_CORRECTED },
	[MEASURED_ECC_UNCORRECTED] = { "devplane_nvidia_ecc_uncorrected_errors",
				       "Uncorrected memory errors since the kernel module was "
				       "loaded.",
				       NVML_SAMPLE_ECC_UNCORRECTED },
};

struct nvidia_measure {
	struct metrics_family *families[MEASURED], *xids, *held;
	struct arena arena; /* of the holders' labels */
	struct str (*labels)[ARRAY_SIZE(held_labels)];
	size_t nlabels;
};

struct nvidia_measure *nvidia_measure_new(struct metrics *m)
{
	struct nvidia_measure *x = XNEW(struct nvidia_measure);
	struct metrics_spec xids = { .name = "devplane_nvidia_xids_total",
				     .help = "Xids that the GPU reported.",
				     .type = METRICS_COUNTER,
				     .labels = xid_labels,
				     .labels_n = ARRAY_SIZE(xid_labels) };
	struct metrics_spec held = { .name = "devplane_nvidia_device_held",
				     .help = "1 for each device that a claim holds; uuid is the "
					     "GPU's.",
				     .type = METRICS_GAUGE,
				     .labels = held_labels,
				     .labels_n = ARRAY_SIZE(held_labels) };

	arena_init(&x->arena, GPU_SNAPSHOT_MAX);
	for (size_t i = 0; i < MEASURED; i++) {
		struct metrics_spec s = { .name = measures[i].name,
					  .help = measures[i].help,
					  .type = METRICS_GAUGE,
					  .labels = gpu_labels,
					  .labels_n = ARRAY_SIZE(gpu_labels) };

		(void)metrics_register(m, &s, &x->families[i], NULL);
	}
	(void)metrics_register(m, &xids, &x->xids, NULL);
	(void)metrics_register(m, &held, &x->held, NULL);
	return x;
}

void nvidia_measure_free(struct nvidia_measure *m)
{
	if (!m)
		return;
	arena_release(&m->arena);
	free(m);
}

static double value_of(const struct nvml_sample *s, enum measured what)
{
	const uint64_t slow = NVML_SLOW_HARDWARE | NVML_SLOW_THERMAL | NVML_SLOW_POWER_BRAKE;
	const double values[MEASURED] = {
		[MEASURED_UTILIZATION] = s->utilization / 100.0,
		[MEASURED_MEMORY_USED] = (double)s->memory_used,
		[MEASURED_MEMORY_TOTAL] = (double)s->memory_total,
		[MEASURED_TEMPERATURE] = s->temperature,
		[MEASURED_POWER] = s->power / 1000.0,
		[MEASURED_SLOWDOWN] = s->clock_reasons & slow ? 1 : 0,
		[MEASURED_ECC_CORRECTED] = (double)s->ecc_corrected,
		[MEASURED_ECC_UNCORRECTED] = (double)s->ecc_uncorrected,
	};

	return values[what];
}

void nvidia_measure_gpu(struct nvidia_measure *m, const struct nvml_gpu *g,
			const struct nvml_sample *s)
{
	char digits[STR_DIGITS];
	struct str values[] = { str_print_u64(digits, g->minor), g->uuid };

	for (enum measured i = 0; m && i < MEASURED; i++) {
		if (!m->families[i])
			continue;
		if (s->known & measures[i].flag)
			metrics_gauge_set(
				metrics_gauge_of(m->families[i], values, ARRAY_SIZE(values)),
				value_of(s, i));
		else
			metrics_remove_of(m->families[i], values, ARRAY_SIZE(values));
	}
}

void nvidia_measure_xid(struct nvidia_measure *m, const struct nvml_gpu *g, uint32_t xid)
{
	char minor[STR_DIGITS], number[STR_DIGITS];

	if (m && m->xids)
		metrics_counter_add(metrics_counter(m->xids, str_print_u64(minor, g->minor),
						    g->uuid, str_print_u64(number, xid)),
				    1);
}

void nvidia_measure_holders(struct nvidia_measure *m, const struct gpu_holder *v, size_t n)
{
	if (!m || !m->held)
		return;
	for (size_t i = 0; i < m->nlabels; i++)
		metrics_remove_of(m->held, m->labels[i], ARRAY_SIZE(held_labels));
	arena_clear(&m->arena);
	m->labels = arena_calloc(&m->arena, sizeof(*m->labels) * (n + 1));
	m->nlabels = n;
	for (size_t i = 0; i < n; i++) {
		const struct str from[] = { str_from(v[i].device), v[i].gpu, v[i].claim.ns,
					    v[i].claim.name };

		for (size_t k = 0; k < ARRAY_SIZE(held_labels); k++)
			m->labels[i][k] = arena_str(&m->arena, from[k]);
		metrics_gauge_set(metrics_gauge_of(m->held, m->labels[i], ARRAY_SIZE(held_labels)),
				  1);
	}
}
