/* Profiles and placements are those of an A100 with 80 GiB. */
#include "drivers/sim/partition.h"

#include <stdio.h>
#include <string.h>

#include "base/core/mem.h"

struct vendor_profile {
	const char *name; /* as MIG names it */
	const char *label; /* as part of a device's name */
	const char *memory, *multiprocessors;
	unsigned slices; /* memory slices */
	unsigned first, step, count; /* placements */
};

static const struct vendor_profile profiles[] = {
	{ "1g.10gb", "1g10gb", "10Gi", "14", 1, 0, 1, 7 },
	{ "2g.20gb", "2g20gb", "20Gi", "28", 2, 0, 2, 3 },
	{ "3g.40gb", "3g40gb", "40Gi", "42", 4, 0, 4, 2 },
};

static const char *const slice_names[VENDOR_SLICES] = {
	"memory-slice-0", "memory-slice-1", "memory-slice-2", "memory-slice-3",
	"memory-slice-4", "memory-slice-5", "memory-slice-6", "memory-slice-7",
};

void vendor_partition_fill(const struct vendor_device *gpu, unsigned i, unsigned index,
			   struct vendor_device *ret_device)
{
	const struct vendor_profile *p = profiles;

	for (; i >= p->count; p++)
		i -= p->count;
	*ret_device = (struct vendor_device){ .index = index,
					      .numa = gpu->numa,
					      .profile = p,
					      .parent = gpu,
					      .placement = p->first + i * p->step };
	(void)snprintf(ret_device->name, sizeof(ret_device->name), "%.32s-%s-%u", gpu->name,
		       p->label, ret_device->placement);
	(void)snprintf(ret_device->uuid, sizeof(ret_device->uuid), "MIG-%.50s/%u", gpu->uuid,
		       index);
	(void)snprintf(ret_device->detail, sizeof(ret_device->detail), "%s", gpu->detail);
	(void)snprintf(ret_device->bus, sizeof(ret_device->bus), "%s", gpu->bus);
}

/* Returns the number of counters. */
static uint32_t fill_counters(struct dp_counter *c, const char *memory, const char *multiprocessors,
			      unsigned first, unsigned slices)
{
	uint32_t n = 0;

	c[n++] = (struct dp_counter){ sizeof(c[0]), 0, "memory", memory };
	c[n++] = (struct dp_counter){ sizeof(c[0]), 0, "multiprocessors", multiprocessors };
	for (unsigned i = 0; i < slices; i++)
		c[n++] = (struct dp_counter){ sizeof(c[0]), 0, slice_names[first + i], "1" };
	return n;
}

void vendor_partition_set(const struct vendor_device *gpu, struct dp_counter *counters,
			  struct dp_counter_set *ret_set)
{
	*ret_set = (struct dp_counter_set){ .size = sizeof(*ret_set),
					    .name = gpu->name,
					    .counters = counters };
	ret_set->ncounters = fill_counters(counters, "80Gi", "108", 0, VENDOR_SLICES);
}

static void describe_part(const struct vendor_device *v, struct dp_attribute *attributes,
			  struct dp_capacity *capacity, struct dp_device *d)
{
	const struct vendor_profile *p = v->profile;

	attributes[2].text = "partition";
	attributes[d->nattributes++] = (struct dp_attribute){ sizeof(attributes[0]), DP_STRING,
							      "profile", p->name, 0 };
	attributes[d->nattributes++] = (struct dp_attribute){ sizeof(attributes[0]), DP_STRING,
							      "parentUUID", v->parent->uuid, 0 };
	capacity[0].quantity = p->memory;
	capacity[1].quantity = p->multiprocessors;
}

void vendor_partition_describe(const struct vendor_device *v, struct vendor_counters *c,
			       struct dp_attribute *attributes, struct dp_capacity *capacity,
			       struct dp_device *d)
{
	const struct vendor_profile *p = v->profile;

	c->use = (struct dp_counter_use){ .size = sizeof(c->use),
					  .set = p ? v->parent->name : v->name,
					  .counters = c->counters };
	if (p) {
		describe_part(v, attributes, capacity, d);
		c->use.ncounters = fill_counters(c->counters, p->memory, p->multiprocessors,
						 v->placement, p->slices);
	} else {
		c->use.ncounters = fill_counters(c->counters, "80Gi", "108", 0, VENDOR_SLICES);
	}
	d->consumes = &c->use;
	d->nconsumes = 1;
}

/* --- shares ------------------------------------------------------------------------------- */

void vendor_share_describe(struct dp_capacity *capacity, struct dp_device *d)
{
	static const struct {
		const char *name, *initial, *step;
	} rows[] = {
		{ "memory", "1Gi", "1Gi" },
		{ "multiprocessors", "1", "1" },
		{ "bandwidth", "1G", "1G" },
		{ "luts", "1k", "1k" },
	};

	d->allow_multiple = 1;
	for (uint32_t i = 0; i < d->ncapacity; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(rows); k++) {
			if (strcmp(capacity[i].name, rows[k].name) != 0)
				continue;
			capacity[i].default_quantity = rows[k].initial;
			capacity[i].min = rows[k].step;
			capacity[i].step = rows[k].step;
		}
	}
}
