/* Families are a table. Series of holders are removed before the new ones are set. */
#include "drivers/nvidia/measure.h"

#include <stdlib.h>

#include "base/core/mem.h"
#include "base/core/vec.h"
#include "base/report/metrics.h"
#include "drivers/drivers_limits.h"

enum measured {
	MEASURED_UTILIZATION,
	MEASURED_MEMORY_USED,
	MEASURED_MEMORY_TOTAL,
	MEASURED_TEMPERATURE,
	MEASURED_POWER,
	MEASURED_ECC_CORRECTED,
	MEASURED_ECC_UNCORRECTED,
	MEASURED,
};

static const char *const gpu_labels[] = { "gpu", "uuid" };
static const char *const xid_labels[] = { "gpu", "uuid", "xid" };
static const char *const held_labels[] = { "device", "uuid", "namespace", "claim", "pod" };
enum { PARTITION_LABELS = 2 }; /* the first ones of these */
static const char *const fault_labels[] = { "device", "uuid", "namespace", "claim", "pod", "xid" };
static const char *const reason_labels[] = { "gpu", "uuid", "reason" };

static const struct {
	const char *name;
	uint64_t bits; /* of NVML's clock event reasons */
} reasons[] = {
	{ "power-cap", NVML_SLOW_POWER_CAP },
	{ "hardware", NVML_SLOW_HARDWARE },
	{ "software-thermal", NVML_SLOW_SOFTWARE_THERMAL },
	{ "hardware-thermal", NVML_SLOW_HARDWARE_THERMAL },
	{ "power-brake", NVML_SLOW_POWER_BRAKE },
};

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
	[MEASURED_ECC_CORRECTED] = { "devplane_nvidia_ecc_corrected_errors",
				     "Corrected memory errors since the kernel module was loaded.",
				     NVML_SAMPLE_ECC_CORRECTED },
	[MEASURED_ECC_UNCORRECTED] = { "devplane_nvidia_ecc_uncorrected_errors",
				       "Uncorrected memory errors since the kernel module was "
				       "loaded.",
				       NVML_SAMPLE_ECC_UNCORRECTED },
};

/* Text is on the heap. */
struct fault {
	struct str labels[ARRAY_SIZE(fault_labels)];
};

struct nvidia_measure {
	struct metrics_family *families[MEASURED], *xids, *held, *partitions, *faults, *slowdowns;
	VEC(struct fault) claim_faults; /* their series */
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

	struct metrics_spec partitions = { .name = "devplane_nvidia_partition_memory_used_bytes",
					   .help = "Memory that programs use on a MIG partition.",
					   .type = METRICS_GAUGE,
					   .labels = held_labels,
					   .labels_n = PARTITION_LABELS };

	struct metrics_spec faults = {
		.name = "devplane_nvidia_claim_xids_total",
		.help = "Xids of programs, by the claim that has the device.",
		.type = METRICS_COUNTER,
		.labels = fault_labels,
		.labels_n = ARRAY_SIZE(fault_labels)
	};
	struct metrics_spec slowdowns = { .name = "devplane_nvidia_slowdown",
					  .help = "1 while the GPU is slowed down for this reason.",
					  .type = METRICS_GAUGE,
					  .labels = reason_labels,
					  .labels_n = ARRAY_SIZE(reason_labels) };

	arena_init(&x->arena, GPU_SNAPSHOT_MAX);
	vec_init(&x->claim_faults, GPU_USES_MAX);
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
	(void)metrics_register(m, &partitions, &x->partitions, NULL);
	(void)metrics_register(m, &faults, &x->faults, NULL);
	(void)metrics_register(m, &slowdowns, &x->slowdowns, NULL);
	return x;
}

static void fault_release(struct fault *f)
{
	for (size_t i = 0; i < ARRAY_SIZE(fault_labels); i++)
		free((char *)f->labels[i].p);
}

void nvidia_measure_free(struct nvidia_measure *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->claim_faults.n; i++)
		fault_release(&m->claim_faults.v[i]);
	vec_release(&m->claim_faults);
	arena_release(&m->arena);
	free(m);
}

static double value_of(const struct nvml_sample *s, enum measured what)
{
	const double values[MEASURED] = {
		[MEASURED_UTILIZATION] = s->utilization / 100.0,
		[MEASURED_MEMORY_USED] = (double)s->memory_used,
		[MEASURED_MEMORY_TOTAL] = (double)s->memory_total,
		[MEASURED_TEMPERATURE] = s->temperature,
		[MEASURED_POWER] = s->power / 1000.0,
		[MEASURED_ECC_CORRECTED] = (double)s->ecc_corrected,
		[MEASURED_ECC_UNCORRECTED] = (double)s->ecc_uncorrected,
	};

	return values[what];
}

static void measure_slowdown(struct nvidia_measure *m, const struct nvml_gpu *g,
			     const struct nvml_sample *s)
{
	char digits[STR_DIGITS];
	struct str values[] = { str_print_u64(digits, g->minor), g->uuid, STR_NULL };

	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		values[2] = str_from(reasons[i].name);
		if (s->known & NVML_SAMPLE_CLOCKS)
			metrics_gauge_set(
				metrics_gauge_of(m->slowdowns, values, ARRAY_SIZE(values)),
				s->clock_reasons & reasons[i].bits ? 1 : 0);
		else
			metrics_remove_of(m->slowdowns, values, ARRAY_SIZE(values));
	}
}

void nvidia_measure_gpu(struct nvidia_measure *m, const struct nvml_gpu *g,
			const struct nvml_sample *s)
{
	char digits[STR_DIGITS];
	struct str values[] = { str_print_u64(digits, g->minor), g->uuid };

	if (m && m->slowdowns)
		measure_slowdown(m, g, s);
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

static void remember_fault(struct nvidia_measure *m, const struct str *labels)
{
	struct fault f;

	for (size_t i = 0; i < m->claim_faults.n; i++) {
		bool same = true;

		for (size_t k = 0; k < ARRAY_SIZE(fault_labels); k++)
			same = same && str_eq(m->claim_faults.v[i].labels[k], labels[k]);
		if (same)
			return;
	}
	for (size_t k = 0; k < ARRAY_SIZE(fault_labels); k++)
		f.labels[k] = str_from(str_dup(labels[k]));
	if (vec_push(&m->claim_faults, f) < 0)
		fault_release(&f);
}

void nvidia_measure_fault(struct nvidia_measure *m, const struct gpu_holder *h, uint32_t xid)
{
	char number[STR_DIGITS];
	const struct str labels[] = {
		str_from(h->device), h->gpu,       h->claim.ns,
		h->claim.name,       h->claim.pod, str_print_u64(number, xid)
	};

	if (!m || !m->faults)
		return;
	remember_fault(m, labels);
	metrics_counter_add(metrics_counter_of(m->faults, labels, ARRAY_SIZE(labels)), 1);
}

/* Else the series of claims that are gone would add up. */
static void drop_faults(struct nvidia_measure *m, const struct gpu_holder *v, size_t n)
{
	for (size_t i = m->claim_faults.n; i-- > 0;) {
		struct fault *f = &m->claim_faults.v[i];
		bool held = false;

		for (size_t k = 0; k < n; k++)
			held = held || (str_eqz(f->labels[0], v[k].device) &&
					str_eq(f->labels[2], v[k].claim.ns) &&
					str_eq(f->labels[3], v[k].claim.name));
		if (held)
			continue;
		metrics_remove_of(m->faults, f->labels, ARRAY_SIZE(fault_labels));
		fault_release(f);
		vec_remove(&m->claim_faults, i);
	}
}

void nvidia_measure_partition(struct nvidia_measure *m, const struct gpu_holder *h,
			      const struct nvml_process *v, size_t n)
{
	struct str values[PARTITION_LABELS] = { str_from(h->device), h->gpu };
	uint64_t used = 0;
	bool known = true;

	if (!m || !m->partitions || !h->mig || !h->done)
		return;
	for (size_t i = 0; i < n; i++) {
		if (v[i].gi != h->gi || v[i].ci != h->ci)
			continue;
		used += v[i].memory;
		known = known && v[i].memory;
	}
	if (known)
		metrics_gauge_set(metrics_gauge_of(m->partitions, values, PARTITION_LABELS),
				  (double)used);
	else
		metrics_remove_of(m->partitions, values, PARTITION_LABELS);
}

void nvidia_measure_holders(struct nvidia_measure *m, const struct gpu_holder *v, size_t n)
{
	if (!m || !m->held)
		return;
	if (m->faults)
		drop_faults(m, v, n);
	for (size_t i = 0; i < m->nlabels; i++) {
		metrics_remove_of(m->held, m->labels[i], ARRAY_SIZE(held_labels));
		if (m->partitions)
			metrics_remove_of(m->partitions, m->labels[i], PARTITION_LABELS);
	}
	arena_clear(&m->arena);
	m->labels = arena_calloc(&m->arena, sizeof(*m->labels) * (n + 1));
	m->nlabels = n;
	for (size_t i = 0; i < n; i++) {
		const struct str from[] = { str_from(v[i].device), v[i].gpu, v[i].claim.ns,
					    v[i].claim.name, v[i].claim.pod };

		for (size_t k = 0; k < ARRAY_SIZE(held_labels); k++)
			m->labels[i][k] = arena_str(&m->arena, from[k]);
		metrics_gauge_set(metrics_gauge_of(m->held, m->labels[i], ARRAY_SIZE(held_labels)),
				  1);
	}
}
