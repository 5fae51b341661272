/*
 * The list of devices. A GPU since Hopper switches MIG on and off without a reset, so its full
 * device and its partitions are offered together, and the counters decide. An older GPU keeps its
 * mode: it offers either the full device or partitions.
 */
#include "drivers/gpu_inventory/devices.h"

#include <inttypes.h>
#include <stdlib.h>

enum { CC_SWITCHES_MIG = 9 }; /* Hopper */

bool gpu_places_overlap(struct nvml_placement a, struct nvml_placement b)
{
	return a.start < b.start + b.size && b.start < a.start + a.size;
}

/* The profile with this id; NULL if the GPU does not have it. */
static const struct nvml_profile *gpu_profile_find(const struct gpu_source *s, uint32_t id)
{
	for (size_t i = 0; i < s->nprofiles; i++)
		if (s->profiles[i].id == id)
			return &s->profiles[i];
	return NULL;
}

/* --- amounts --------------------------------------------------------------------------------- */

uint64_t gpu_profile_amount(const struct nvml_profile *p, enum gpu_amount amount)
{
	const uint64_t amounts[GPU_AMOUNTS] = {
		[GPU_MULTIPROCESSORS] = p->multiprocessors,
		[GPU_COPY_ENGINES] = p->copy_engines,
		[GPU_DECODERS] = p->decoders,
		[GPU_ENCODERS] = p->encoders,
		[GPU_JPEG_ENGINES] = p->jpeg_engines,
		[GPU_OFA_ENGINES] = p->ofa_engines,
		[GPU_MEMORY] = p->memory,
		[GPU_COMPUTE_SLICES] = p->slices,
	};

	return amounts[amount];
}

uint64_t gpu_total_amount(const struct gpu_source *s, enum gpu_amount amount)
{
	uint64_t most = 0;

	for (size_t i = 0; i < s->nprofiles; i++)
		most = MAX(most, gpu_profile_amount(&s->profiles[i], amount));
	return most;
}

uint64_t gpu_free_amount(const struct gpu_source *s, enum gpu_amount amount)
{
	uint64_t left = gpu_total_amount(s, amount);

	for (size_t i = 0; i < s->nforeign; i++) {
		const struct nvml_profile *p = gpu_profile_find(s, s->foreign[i].instance.profile);

		left -= p ? MIN(left, gpu_profile_amount(p, amount)) : 0;
	}
	return left;
}

uint32_t gpu_memory_slices(const struct gpu_source *s)
{
	uint32_t end = 0;

	for (size_t i = 0; i < s->nprofiles; i++) {
		const struct nvml_profile *p = &s->profiles[i];

		for (size_t j = 0; j < p->nplacements; j++)
			end = MAX(end, p->placements[j].start + p->placements[j].size);
	}
	return end;
}

bool gpu_slice_is_foreign(const struct gpu_source *s, uint32_t slice)
{
	for (size_t i = 0; i < s->nforeign; i++)
		if (gpu_places_overlap(s->foreign[i].instance.place,
				       (struct nvml_placement){ slice, 1 }))
			return true;
	return false;
}

/* --- which ----------------------------------------------------------------------------------- */

static bool switches_mig(const struct gpu_source *s)
{
	return s->gpu.cc_major >= CC_SWITCHES_MIG;
}

bool gpu_has_counters(const struct gpu_source *s, const struct gpu_inventory_options *o)
{
	return o->mig && s->nprofiles > 0 &&
	       (s->gpu.mig == NVML_MIG_ON || (s->gpu.mig == NVML_MIG_OFF && switches_mig(s)));
}

static bool offers_full(const struct gpu_source *s, const struct gpu_inventory_options *o)
{
	return s->gpu.mig != NVML_MIG_ON || (switches_mig(s) && gpu_has_counters(s, o));
}

static const char *full_blocked(struct arena *a, const struct gpu_source *s)
{
	if (s->nforeign)
		return arena_printf(
			a, "%zu GPU instances that this driver did not make are on the GPU",
			s->nforeign);
	if (s->foreign_mig)
		return "MIG is on, and this driver did not switch it on; to use the full GPU run "
		       "nvidia-smi -mig 0";
	return NULL;
}

static const char *mig_blocked(struct arena *a, const struct gpu_source *s,
			       const struct nvml_profile *p, struct nvml_placement place)
{
	for (size_t i = 0; i < s->nforeign; i++) {
		const struct nvml_instance *f = &s->foreign[i].instance;

		if (gpu_places_overlap(f->place, place))
			return arena_printf(a,
					    "GPU instance %" PRIu32
					    ", which this driver did not make, has its place",
					    f->id);
	}
	for (enum gpu_amount amount = 0; amount < GPU_AMOUNTS; amount++)
		if (gpu_profile_amount(p, amount) > gpu_free_amount(s, amount))
			return "GPU instances that this driver did not make leave too few engines";
	return NULL;
}

/* --- order ----------------------------------------------------------------------------------- */

/* Compute slices of larger instances that could not exist beside one at this place. */
static uint32_t excluded_slices(const struct gpu_source *s, const struct nvml_profile *of,
				struct nvml_placement place)
{
	uint32_t sum = 0;

	for (size_t i = 0; i < s->nprofiles; i++) {
		const struct nvml_profile *p = &s->profiles[i];

		for (size_t j = 0; j < p->nplacements; j++)
			if (p->slices > of->slices && gpu_places_overlap(p->placements[j], place))
				sum += p->slices;
	}
	return sum;
}

static uint64_t engines(const struct nvml_profile *p)
{
	uint64_t sum = 0;

	for (enum gpu_amount amount = 0; amount < GPU_MEMORY; amount++)
		sum += gpu_profile_amount(p, amount);
	return sum;
}

static int order_numbers(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int device_order(const void *x, const void *y)
{
	const struct gpu_device *a = x, *b = y;
	const struct nvml_profile *p = a->profile, *q = b->profile;
	int c = order_numbers(p->slices, q->slices);

	if (c == 0)
		c = order_numbers(a->place.size, b->place.size);
	if (c == 0)
		c = order_numbers(engines(p), engines(q));
	if (c == 0)
		c = order_numbers(p->id, q->id);
	if (c == 0)
		c = order_numbers(a->excludes, b->excludes);
	return c ? c : order_numbers(b->place.start, a->place.start);
}

/* --- the list -------------------------------------------------------------------------------- */

/* "gpu-0-mig-1g18gb-me-20-3" */
static const char *mig_name(struct arena *a, const struct gpu_source *s,
			    const struct nvml_profile *p, uint32_t start)
{
	char *label = arena_strdup(a, p->name), *to = label;

	for (const char *from = label; *from; from++)
		if (*from != '.')
			*to++ = *from == '+' ? '-' : *from;
	*to = '\0';
	return arena_printf(a, "gpu-%" PRIu32 "-mig-%s-%" PRIu32 "-%" PRIu32, s->gpu.minor, label,
			    p->id, start);
}

static size_t list_partitions(struct arena *a, const struct gpu_source *s, struct gpu_device *to)
{
	size_t n = 0;

	for (size_t i = 0; i < s->nprofiles; i++) {
		const struct nvml_profile *p = &s->profiles[i];

		for (size_t j = 0; j < p->nplacements; j++)
			to[n++] = (struct gpu_device){
				.name = mig_name(a, s, p, p->placements[j].start),
				.kind = GPU_MIG,
				.source = s,
				.profile = p,
				.place = p->placements[j],
				.blocked = mig_blocked(a, s, p, p->placements[j]),
				.excludes = excluded_slices(s, p, p->placements[j]),
			};
	}
	return n;
}

/* A static device replaces the partition that has its name. */
static size_t list_static(struct arena *a, const struct gpu_source *s, struct gpu_device *to,
			  size_t n)
{
	for (size_t i = 0; i < s->nforeign; i++) {
		const struct gpu_foreign *f = &s->foreign[i];
		const struct nvml_profile *p = gpu_profile_find(s, f->instance.profile);
		const char *name;
		size_t at;

		if (!p || f->uuid.n == 0)
			continue;
		name = mig_name(a, s, p, f->instance.place.start);
		for (at = 0; at < n && strcmp(to[at].name, name) != 0; at++)
			;
		n = MAX(n, at + 1);
		to[at] = (struct gpu_device){ .name = name,
					      .kind = GPU_MIG_STATIC,
					      .source = s,
					      .profile = p,
					      .place = f->instance.place,
					      .instance = f };
	}
	return n;
}

size_t gpu_devices_room(const struct gpu_source *s)
{
	size_t room = 1 + s->nforeign;

	for (size_t i = 0; i < s->nprofiles; i++)
		room += s->profiles[i].nplacements;
	return room;
}

size_t gpu_devices_list(struct arena *a, const struct gpu_source *s,
			const struct gpu_inventory_options *o, struct gpu_device *to)
{
	size_t full = offers_full(s, o), n = 0;

	if (full)
		to[0] = (struct gpu_device){
			.name = arena_printf(a, "gpu-%" PRIu32, s->gpu.minor),
			.kind = GPU_FULL,
			.source = s,
			.blocked = full_blocked(a, s),
		};
	if (gpu_has_counters(s, o))
		n = list_partitions(a, s, to + full);
	if (o->static_mig)
		n = list_static(a, s, to + full, n);
	qsort(to + full, n, sizeof(*to), device_order);
	return full + n;
}
