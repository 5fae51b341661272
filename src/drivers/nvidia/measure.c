/*
 * Families are a table. Series of holders are removed before the new ones are set. A GPU has one
 * series in each family, so that sums over a family are right. It names the holder only if one
 * claim has the whole GPU.
 */
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

/* Those of the GPU, then those of its holder. */
static const char *const gpu_labels[] = { "gpu", "uuid", "namespace", "claim", "pod" };
static const char *const reason_labels[] = { "gpu", "uuid", "namespace", "claim", "pod", "reason" };
static const char *const xid_labels[] = { "gpu", "uuid", "xid" };
static const char *const held_labels[] = { "device", "uuid", "namespace", "claim", "pod" };
static const char *const fault_labels[] = { "device", "uuid", "namespace", "claim", "pod", "xid" };

enum {
	LABEL_UUID = 1,
	LABEL_HOLDER = 2, /* the first one of namespace, claim, pod */
	GPU_LABELS = ARRAY_SIZE(gpu_labels),
	HELD_LABELS = ARRAY_SIZE(held_labels),
};

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

/* A GPU with its last sample, to print that again when the holder changes. Text is on the heap. */
struct measured_gpu {
	struct str labels[GPU_LABELS];
	struct nvml_sample last;
};

struct held {
	struct str labels[HELD_LABELS];
	bool whole; /* a GPU, not a partition */
};

struct nvidia_measure {
	struct metrics_family *families[MEASURED], *xids, *held, *partitions, *faults, *slowdowns;
	VEC(struct fault) claim_faults; /* their series */
	VEC(struct measured_gpu) gpus;
	struct arena arena; /* of `holders` */
	struct held *holders;
	size_t nholders;
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
					   .labels_n = HELD_LABELS };

	struct metrics_spec faults = { .name = "devplane_nvidia_claim_xids_total",
				       .help = "Xids of a device, by the claim that holds it.",
				       .type = METRICS_COUNTER,
				       .labels = fault_labels,
				       .labels_n = ARRAY_SIZE(fault_labels) };
	struct metrics_spec slowdowns = { .name = "devplane_nvidia_slowdown",
					  .help = "1 while the GPU is slowed down for this reason.",
					  .type = METRICS_GAUGE,
					  .labels = reason_labels,
					  .labels_n = ARRAY_SIZE(reason_labels) };

	arena_init(&x->arena, GPU_SNAPSHOT_MAX);
	vec_init(&x->claim_faults, GPU_USES_MAX);
	vec_init(&x->gpus, GPU_BOOK_GPUS_MAX);
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

static void labels_release(struct str *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free((char *)v[i].p);
}

static void labels_copy(struct str *to, const struct str *from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		to[i] = str_from(str_dup(from[i]));
}

static bool labels_equal(const struct str *a, const struct str *b, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!str_eq(a[i], b[i]))
			return false;
	return true;
}

void nvidia_measure_free(struct nvidia_measure *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->claim_faults.n; i++)
		labels_release(m->claim_faults.v[i].labels, ARRAY_SIZE(fault_labels));
	for (size_t i = 0; i < m->gpus.n; i++)
		labels_release(m->gpus.v[i].labels, GPU_LABELS);
	vec_release(&m->claim_faults);
	vec_release(&m->gpus);
	arena_release(&m->arena);
	free(m);
}

/* --- GPUs ------------------------------------------------------------------------------------ */

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

static void gauge_put(struct metrics_family *f, const struct str *labels, size_t n, bool known,
		      double value)
{
	if (f && known)
		metrics_gauge_set(metrics_gauge_of(f, labels, n), value);
	else if (f)
		metrics_remove_of(f, labels, n);
}

/* Sets the series of a GPU to its last sample, which may be empty. */
static void gpu_put(struct nvidia_measure *m, const struct measured_gpu *g)
{
	struct str labels[ARRAY_SIZE(reason_labels)];
	const struct nvml_sample *s = &g->last;

	for (enum measured i = 0; i < MEASURED; i++)
		gauge_put(m->families[i], g->labels, GPU_LABELS, s->known & measures[i].flag,
			  value_of(s, i));
	for (size_t i = 0; i < GPU_LABELS; i++)
		labels[i] = g->labels[i];
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
		labels[GPU_LABELS] = str_from(reasons[i].name);
		gauge_put(m->slowdowns, labels, ARRAY_SIZE(labels), s->known & NVML_SAMPLE_CLOCKS,
			  s->clock_reasons & reasons[i].bits ? 1 : 0);
	}
}

/* The holder of the whole GPU; NULL: it has none, or several, or its partitions are held. */
static const struct held *holder_of(const struct nvidia_measure *m, struct str uuid)
{
	const struct held *found = NULL;

	for (size_t i = 0; i < m->nholders; i++) {
		const struct held *h = &m->holders[i];

		if (!str_eq(h->labels[LABEL_UUID], uuid))
			continue;
		if (found || !h->whole)
			return NULL;
		found = h;
	}
	return found;
}

/* If a label has changed, the old series go. */
static void gpu_relabel(struct nvidia_measure *m, struct measured_gpu *g, struct str minor)
{
	const struct held *h = holder_of(m, g->labels[LABEL_UUID]);
	struct str labels[GPU_LABELS] = { minor, g->labels[LABEL_UUID], STR(""), STR(""), STR("") };
	struct measured_gpu old = *g;

	for (size_t i = LABEL_HOLDER; h && i < GPU_LABELS; i++)
		labels[i] = h->labels[i];
	if (labels_equal(labels, g->labels, GPU_LABELS))
		return;
	old.last = (struct nvml_sample){ 0 };
	gpu_put(m, &old);
	labels_copy(g->labels, labels, GPU_LABELS);
	labels_release(old.labels, GPU_LABELS);
}

static struct measured_gpu *gpu_of(struct nvidia_measure *m, const struct nvml_gpu *g)
{
	const struct str labels[GPU_LABELS] = { STR(""), g->uuid, STR(""), STR(""), STR("") };
	struct measured_gpu new = { 0 };

	for (size_t i = 0; i < m->gpus.n; i++)
		if (str_eq(m->gpus.v[i].labels[LABEL_UUID], g->uuid))
			return &m->gpus.v[i];
	if (!vec_reserve(&m->gpus, 1))
		return NULL;
	labels_copy(new.labels, labels, GPU_LABELS);
	m->gpus.v[m->gpus.n] = new;
	return &m->gpus.v[m->gpus.n++];
}

void nvidia_measure_gpu(struct nvidia_measure *m, const struct nvml_gpu *g,
			const struct nvml_sample *s)
{
	char digits[STR_DIGITS];
	struct measured_gpu *to = m ? gpu_of(m, g) : NULL;

	if (!to)
		return;
	gpu_relabel(m, to, str_print_u64(digits, g->minor));
	to->last = *s;
	gpu_put(m, to);
}

void nvidia_measure_xid(struct nvidia_measure *m, const struct nvml_gpu *g, uint32_t xid)
{
	char minor[STR_DIGITS], number[STR_DIGITS];

	if (m && m->xids)
		metrics_counter_add(metrics_counter(m->xids, str_print_u64(minor, g->minor),
						    g->uuid, str_print_u64(number, xid)),
				    1);
}

/* --- claims ---------------------------------------------------------------------------------- */

static void remember_fault(struct nvidia_measure *m, const struct str *labels)
{
	struct fault f;

	for (size_t i = 0; i < m->claim_faults.n; i++)
		if (labels_equal(m->claim_faults.v[i].labels, labels, ARRAY_SIZE(fault_labels)))
			return;
	labels_copy(f.labels, labels, ARRAY_SIZE(fault_labels));
	if (!vec_push(&m->claim_faults, f))
		labels_release(f.labels, ARRAY_SIZE(fault_labels));
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
		labels_release(f->labels, ARRAY_SIZE(fault_labels));
		vec_remove(&m->claim_faults, i);
	}
}

static void labels_of(const struct gpu_holder *h, struct str to[static HELD_LABELS])
{
	const struct str from[HELD_LABELS] = { str_from(h->device), h->gpu, h->claim.ns,
					       h->claim.name, h->claim.pod };

	for (size_t i = 0; i < HELD_LABELS; i++)
		to[i] = from[i];
}

void nvidia_measure_partition(struct nvidia_measure *m, const struct gpu_holder *h,
			      const struct nvml_process *v, size_t n)
{
	struct str labels[HELD_LABELS];
	uint64_t used = 0;
	bool known = true;

	if (!m || !h->mig || !h->done)
		return;
	for (size_t i = 0; i < n; i++) {
		if (v[i].gi != h->gi || v[i].ci != h->ci)
			continue;
		used += v[i].memory;
		known = known && v[i].memory;
	}
	labels_of(h, labels);
	gauge_put(m->partitions, labels, HELD_LABELS, known, (double)used);
}

static void drop_holders(struct nvidia_measure *m)
{
	for (size_t i = 0; i < m->nholders; i++) {
		gauge_put(m->held, m->holders[i].labels, HELD_LABELS, false, 0);
		gauge_put(m->partitions, m->holders[i].labels, HELD_LABELS, false, 0);
	}
	arena_clear(&m->arena);
}

void nvidia_measure_holders(struct nvidia_measure *m, const struct gpu_holder *v, size_t n)
{
	if (!m)
		return;
	drop_faults(m, v, n);
	drop_holders(m);
	m->holders = ARENA_ARRAY(&m->arena, struct held, n + 1);
	m->nholders = n;
	for (size_t i = 0; i < n; i++) {
		struct held *h = &m->holders[i];

		labels_of(&v[i], h->labels);
		for (size_t k = 0; k < HELD_LABELS; k++)
			h->labels[k] = arena_str(&m->arena, h->labels[k]);
		h->whole = !v[i].mig;
		gauge_put(m->held, h->labels, HELD_LABELS, true, 1);
	}
	for (size_t i = 0; i < m->gpus.n; i++) {
		gpu_relabel(m, &m->gpus.v[i], m->gpus.v[i].labels[0]);
		gpu_put(m, &m->gpus.v[i]);
	}
}
