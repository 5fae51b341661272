/*
 * Devices in the form of the SDK. Attributes and capacities have the names that NVIDIA's driver
 * gives them. A counter has the name of its capacity in lower case with hyphens.
 */
#include "drivers/gpu_inventory/inventory.h"

#include <inttypes.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/json/quantity.h"
#include "drivers/drivers_limits.h"
#include "drivers/gpu_inventory/devices.h"

enum { ATTRIBUTES_MAX = 16, QUANTITY_TEXT_MAX = 64 };

static const struct {
	const char *capacity, *counter;
} amount_names[GPU_AMOUNTS] = {
	[GPU_MULTIPROCESSORS] = { "multiprocessors", "multiprocessors" },
	[GPU_COPY_ENGINES] = { "copyEngines", "copy-engines" },
	[GPU_DECODERS] = { "decoders", "decoders" },
	[GPU_ENCODERS] = { "encoders", "encoders" },
	[GPU_JPEG_ENGINES] = { "jpegEngines", "jpeg-engines" },
	[GPU_OFA_ENGINES] = { "ofaEngines", "ofa-engines" },
	[GPU_MEMORY] = { "memory", "memory" },
	[GPU_COMPUTE_SLICES] = { NULL, "compute-slices" },
};

/* Attributes that the devices of all GPUs have in common. */
struct versions {
	const char *driver, *cuda;
};

static const char *quantity_text(struct arena *a, uint64_t v)
{
	struct buf b = BUF_INIT(QUANTITY_TEXT_MAX);
	const char *text;

	(void)quantity_print(quantity_of((int64_t)v, QUANTITY_BINARY_SI), &b);
	text = arena_strdup(a, buf_str(&b));
	buf_release(&b);
	return text;
}

/* --- attributes ------------------------------------------------------------------------------ */

static void put_text(struct arena *a, struct dp_device *d, uint32_t type, const char *name,
		     struct str text)
{
	struct dp_attribute *to = (struct dp_attribute *)d->attributes + d->nattributes;

	if (text.n == 0)
		return;
	*to = (struct dp_attribute){
		.size = sizeof(*to), .type = type, .name = name, .text = arena_strdup(a, text)
	};
	d->nattributes++;
}

static void put_common_attributes(struct arena *a, const struct gpu_source *s,
				  const struct versions *v, struct dp_device *d)
{
	const struct nvml_gpu *g = &s->gpu;
	const char *cc = arena_printf(a, "%d.%d.0", g->cc_major, g->cc_minor);

	put_text(a, d, DP_STRING, "productName", g->name);
	put_text(a, d, DP_STRING, "brand", g->brand);
	put_text(a, d, DP_STRING, "architecture", g->architecture);
	put_text(a, d, DP_VERSION, "cudaComputeCapability", str_from(cc));
	put_text(a, d, DP_VERSION, "driverVersion", str_from(v->driver));
	put_text(a, d, DP_VERSION, "cudaDriverVersion", str_from(v->cuda));
	put_text(a, d, DP_STRING, "addressingMode", g->addressing);
	put_text(a, d, DP_STRING, "resource.kubernetes.io/pciBusID", g->pci);
	put_text(a, d, DP_STRING, "resource.kubernetes.io/pcieRoot", str_from(s->pcie_root));
	if (s->numa >= 0) {
		struct dp_attribute *to = (struct dp_attribute *)d->attributes + d->nattributes++;

		*to = (struct dp_attribute){ .size = sizeof(*to),
					     .type = DP_INT,
					     .name = "resource.kubernetes.io/numaNode",
					     .number = s->numa };
	}
}

static void put_attributes(struct arena *a, const struct gpu_device *g, const struct versions *v,
			   struct dp_device *d)
{
	d->attributes = ARENA_ARRAY(a, struct dp_attribute, ATTRIBUTES_MAX);
	put_text(a, d, DP_STRING, "type", g->profile ? STR("mig") : STR("gpu"));
	if (!g->profile) {
		put_text(a, d, DP_STRING, "uuid", g->source->gpu.uuid);
	} else {
		if (g->instance)
			put_text(a, d, DP_STRING, "uuid", g->instance->uuid);
		put_text(a, d, DP_STRING, "parentUUID", g->source->gpu.uuid);
		put_text(a, d, DP_STRING, "profile", g->profile->name);
	}
	put_common_attributes(a, g->source, v, d);
}

/* --- capacity -------------------------------------------------------------------------------- */

static struct dp_capacity *put_capacity(struct dp_device *d, const char *name, const char *quantity)
{
	struct dp_capacity *to = (struct dp_capacity *)d->capacity + d->ncapacity++;

	*to = (struct dp_capacity){ .size = sizeof(*to), .name = name, .quantity = quantity };
	return to;
}

static void put_amounts(struct arena *a, const struct gpu_device *g, bool divided,
			struct dp_device *d)
{
	for (enum gpu_amount i = 0; i < GPU_CAPACITIES; i++) {
		uint64_t v = 0;

		if (g->profile)
			v = gpu_profile_amount(g->profile, i);
		else if (divided)
			v = gpu_total_amount(g->source, i);
		else if (i == GPU_MEMORY)
			v = g->source->gpu.memory;
		else
			continue;
		(void)put_capacity(d, amount_names[i].capacity, quantity_text(a, v));
	}
	if (g->kind == GPU_MIG_STATIC)
		for (uint32_t i = 0; i < g->place.size; i++)
			(void)put_capacity(
				d, arena_printf(a, "memorySlice%" PRIu32, g->place.start + i), "1");
}

static struct dp_capacity *find_memory(struct dp_device *d)
{
	for (uint32_t i = 0; i < d->ncapacity; i++)
		if (strcmp(d->capacity[i].name, "memory") == 0)
			return (struct dp_capacity *)&d->capacity[i];
	return NULL;
}

/* The maximum must be a multiple of the step, so the memory is cut to whole MiB. */
static void put_shares(struct arena *a, const struct gpu_inventory_options *o, uint64_t memory,
		       struct dp_device *d)
{
	struct dp_capacity *m = find_memory(d), *shares;
	bool divide = o->shares == GPU_SHARES_MEMORY;

	d->allow_multiple = 1;
	m->quantity = quantity_text(a, memory / MIB * MIB);
	m->default_quantity = divide ? m->quantity : "0";
	m->min = divide ? "1Mi" : "0";
	m->max = m->quantity;
	m->step = "1Mi";
	if (o->shares != GPU_SHARES_COUNT)
		return;
	shares = put_capacity(d, "shares", arena_printf(a, "%" PRIu32, o->share_count));
	shares->default_quantity = shares->min = shares->step = "1";
	shares->max = shares->quantity;
}

static void put_capacities(struct arena *a, const struct gpu_device *g,
			   const struct gpu_inventory_options *o, struct dp_device *d)
{
	bool divided = gpu_has_counters(g->source, o);

	d->capacity = ARENA_ARRAY(a, struct dp_capacity, GPU_CAPACITIES + 1 + g->place.size);
	put_amounts(a, g, divided, d);
	if (g->kind == GPU_FULL && o->shares != GPU_EXCLUSIVE)
		put_shares(a, o,
			   divided ? gpu_total_amount(g->source, GPU_MEMORY)
				   : g->source->gpu.memory,
			   d);
}

/* --- counters -------------------------------------------------------------------------------- */

static void put_counter(struct dp_counter *v, uint32_t *n, const char *name, const char *quantity)
{
	v[*n] = (struct dp_counter){ .size = sizeof(*v), .name = name, .quantity = quantity };
	(*n)++;
}

static const char *slice_counter(struct arena *a, uint32_t slice)
{
	return arena_printf(a, "memory-slice-%" PRIu32, slice);
}

static const char *set_name(struct arena *a, const struct gpu_source *s)
{
	return arena_printf(a, "gpu-%" PRIu32 "-counter-set", s->gpu.minor);
}

static void put_set(struct arena *a, const struct gpu_source *s, struct dp_counter_set *to)
{
	uint32_t slices = gpu_memory_slices(s);
	struct dp_counter *v = ARENA_ARRAY(a, struct dp_counter, GPU_AMOUNTS + slices);

	*to = (struct dp_counter_set){ .size = sizeof(*to), .name = set_name(a, s), .counters = v };
	for (enum gpu_amount i = 0; i < GPU_AMOUNTS; i++)
		put_counter(v, &to->ncounters, amount_names[i].counter,
			    quantity_text(a, gpu_free_amount(s, i)));
	for (uint32_t i = 0; i < slices; i++)
		put_counter(v, &to->ncounters, slice_counter(a, i),
			    gpu_slice_is_foreign(s, i) ? "0" : "1");
}

static void put_consumption(struct arena *a, const struct gpu_device *g, struct dp_device *d)
{
	uint32_t start = g->profile ? g->place.start : 0;
	uint32_t slices = g->profile ? g->place.size : gpu_memory_slices(g->source);
	struct dp_counter *v = ARENA_ARRAY(a, struct dp_counter, GPU_AMOUNTS + slices);
	struct dp_counter_use *use = ARENA_NEW(a, struct dp_counter_use);

	*use = (struct dp_counter_use){ .size = sizeof(*use),
					.set = set_name(a, g->source),
					.counters = v };
	for (enum gpu_amount i = 0; i < GPU_AMOUNTS; i++)
		put_counter(v, &use->ncounters, amount_names[i].counter,
			    quantity_text(a, g->profile ? gpu_profile_amount(g->profile, i)
							: gpu_total_amount(g->source, i)));
	for (uint32_t i = 0; i < slices; i++)
		put_counter(v, &use->ncounters, slice_counter(a, start + i), "1");
	d->consumes = use;
	d->nconsumes = 1;
}

/* --- all ------------------------------------------------------------------------------------- */

static void put_taint(struct arena *a, struct dp_device *d)
{
	struct dp_taint *t = ARENA_NEW(a, struct dp_taint);

	*t = (struct dp_taint){ .size = sizeof(*t),
				.key = GPU_TAINT_FOREIGN,
				.effect = "NoSchedule" };
	d->taints = t;
	d->ntaints = 1;
}

static struct dp_device describe(struct arena *a, const struct gpu_device *g,
				 const struct gpu_inventory_options *o, const struct versions *v)
{
	struct dp_device d = { .size = sizeof(d), .name = g->name, .health = DP_HEALTHY };

	put_attributes(a, g, v, &d);
	put_capacities(a, g, o, &d);
	/* The counters of an instance of somebody else are not in the set. */
	if (g->kind != GPU_MIG_STATIC && gpu_has_counters(g->source, o))
		put_consumption(a, g, &d);
	if (g->blocked)
		put_taint(a, &d);
	return d;
}

static struct versions versions_of(struct arena *a, const struct gpu_inventory_options *o)
{
	struct versions v = { .driver = gpu_semver(a, o->driver_version) };

	if (o->cuda_version > 0)
		v.cuda = arena_printf(a, "%d.%d.0", o->cuda_version / 1000,
				      o->cuda_version % 1000 / 10);
	return v;
}

void gpu_inventory_make(struct arena *a, const struct gpu_source *sources, size_t n,
			const struct gpu_inventory_options *o, struct gpu_inventory *ret)
{
	struct versions versions = versions_of(a, o);
	struct dp_counter_set *sets = ARENA_ARRAY(a, struct dp_counter_set, n + 1);
	struct gpu_device *list;
	struct dp_device *devices;
	size_t room = 1, count = 0, nsets = 0;

	for (size_t i = 0; i < n; i++)
		room += gpu_devices_room(&sources[i]);
	list = ARENA_ARRAY(a, struct gpu_device, room);
	for (size_t i = 0; i < n; i++) {
		count += gpu_devices_list(a, &sources[i], o, list + count);
		if (gpu_has_counters(&sources[i], o))
			put_set(a, &sources[i], &sets[nsets++]);
	}
	devices = ARENA_ARRAY(a, struct dp_device, count + 1);
	for (size_t i = 0; i < count; i++)
		devices[i] = describe(a, &list[i], o, &versions);
	*ret = (struct gpu_inventory){ .devices = list,
				       .n = count,
				       .sdk = { .size = sizeof(ret->sdk),
						.devices = devices,
						.ndevices = count,
						.sets = sets,
						.nsets = nsets } };
}

const struct gpu_device *gpu_inventory_find(const struct gpu_inventory *inv, struct str name)
{
	for (size_t i = 0; i < inv->n; i++)
		if (str_eqz(name, inv->devices[i].name))
			return &inv->devices[i];
	return NULL;
}

const char *gpu_semver(struct arena *a, struct str version)
{
	uint64_t v[3] = { 0 };
	struct str piece;

	for (size_t i = 0; i < ARRAY_SIZE(v) && str_split(&version, '.', &piece); i++)
		if (!str_to_u64(piece, &v[i]))
			return NULL;
	return arena_printf(a, "%" PRIu64 ".%" PRIu64 ".%" PRIu64, v[0], v[1], v[2]);
}

int gpu_shares_parse(struct str text, struct gpu_inventory_options *o, struct error *err)
{
	uint64_t n;

	if (str_eq(text, STR("memory"))) {
		o->shares = GPU_SHARES_MEMORY;
	} else if (str_eq(text, STR("unlimited"))) {
		o->shares = GPU_SHARES_UNLIMITED;
	} else if (str_to_u64(text, &n) && n >= 1 && n <= GPU_SHARES_MAX) {
		o->shares = GPU_SHARES_COUNT;
		o->share_count = (uint32_t)n;
	} else {
		return error_set(err, ERR_INVALID,
				 "use \"memory\", \"unlimited\" or a number from 1 to %d",
				 GPU_SHARES_MAX);
	}
	return 0;
}
