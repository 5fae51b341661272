/* All descriptions of one publication live in an arena, which goes when the SDK has copied them. */
#include "drivers/sim/devices.h"

#include <stdio.h>

#include "base/core/arena.h"
#include "base/core/mem.h"
#include "drivers/drivers_limits.h"
#include "drivers/sim/partition.h"

int vendor_layout_check(const struct vendor_layout *l, bool plugin, struct error *err)
{
	size_t parts = l->partitions ? VENDOR_PARTS : 0;

	if (plugin && (l->partitions || l->shares || l->fabric))
		return error_set(err, ERR_INVALID,
				 "device plugins cannot have --partitions, --shares and --fabric: "
				 "use --mode dra");
	if (l->partitions && strcmp(l->kind->name, "gpu") != 0)
		return error_set(err, ERR_INVALID, "--partitions is for --kind gpu, not %s",
				 l->kind->name);
	if (l->fabric_label && str_chr(str_from(l->fabric_label), '=') < 1)
		return error_set(err, ERR_INVALID,
				 "--fabric-nodes \"%s\" is not a label NAME=VALUE",
				 l->fabric_label);
	if (l->devices * (1 + parts) + l->fabric > DRIVER_DEVICES_MAX)
		return error_set(err, ERR_INVALID, "more than %d devices and partitions",
				 DRIVER_DEVICES_MAX);
	return 0;
}

static void make_fabric(struct vendor_devices *d)
{
	const struct vendor_layout *l = &d->layout;
	char seed[256];

	(void)snprintf(seed, sizeof(seed), "%s/%s", VENDOR_FABRIC, l->driver);
	for (unsigned i = 0; i < l->fabric; i++) {
		struct vendor_device *v = &d->v[d->n];

		vendor_kind_fill(l->kind, seed, i, -1, v);
		v->index = (unsigned)d->n++;
		v->fabric = true;
		(void)snprintf(v->name, sizeof(v->name), "%s-%u", VENDOR_FABRIC, i);
	}
}

void vendor_devices_make(struct vendor_devices *d, const struct vendor_layout *l)
{
	unsigned numas = l->numa_nodes ? l->numa_nodes : 1;
	unsigned parts = l->partitions ? VENDOR_PARTS : 0;
	char seed[512];

	d->layout = *l;
	d->n = 0;
	d->v = xcalloc((size_t)l->devices * (1 + parts) + l->fabric + 1, sizeof(*d->v));
	(void)snprintf(seed, sizeof(seed), "%s/%s", l->node ? l->node : "", l->driver);
	for (unsigned i = 0; i < l->devices; i++)
		vendor_kind_fill(l->kind, seed, i, (int)(i % numas), &d->v[d->n++]);
	for (unsigned i = 0; i < l->devices * parts; i++) {
		vendor_partition_fill(&d->v[i / parts], i % parts, (unsigned)d->n, &d->v[d->n]);
		d->n++;
	}
	make_fabric(d);
}

void vendor_devices_release(struct vendor_devices *d)
{
	for (size_t i = 0; i < d->n; i++)
		free(d->v[i].message);
	free(d->v);
	d->v = NULL;
	d->n = 0;
}

struct vendor_device *vendor_devices_find(const struct vendor_devices *d, struct str name)
{
	for (size_t i = 0; i < d->n; i++)
		if (str_eqz(name, d->v[i].name))
			return &d->v[i];
	return NULL;
}

const char *vendor_devices_pool(const struct vendor_devices *d, const struct vendor_device *v)
{
	return v->fabric ? VENDOR_FABRIC : d->layout.pool;
}

bool vendor_device_is_meant(const struct vendor_device *v, struct str name)
{
	return str_eqz(name, "all") || str_eqz(name, v->name) ||
	       (v->parent && str_eqz(name, v->parent->name));
}

/* --- for the SDK -------------------------------------------------------------------------- */

static void devices_describe(const struct vendor_devices *d, const struct vendor_device *v,
			     struct arena *a, struct dp_device *to)
{
	struct dp_attribute *attributes = ARENA_ARRAY(a, struct dp_attribute, VENDOR_ATTRIBUTES);
	struct dp_capacity *capacity = ARENA_ARRAY(a, struct dp_capacity, VENDOR_CAPACITIES);

	vendor_kind_describe(d->layout.kind, v, attributes, capacity, to);
	if (d->layout.partitions && !v->fabric)
		vendor_partition_describe(v, ARENA_NEW(a, struct vendor_counters), attributes,
					  capacity, to);
	if (d->layout.shares)
		vendor_share_describe(capacity, to);
	to->pool = vendor_devices_pool(d, v);
	/* It is attached to the node of the first pod. */
	to->binds_to_node = v->fabric;
}

static void describe_sets(const struct vendor_devices *d, struct arena *a, struct dp_inventory *in)
{
	struct dp_counter_set *sets = ARENA_ARRAY(a, struct dp_counter_set, d->n + 1);

	in->sets = sets;
	for (size_t i = 0; d->layout.partitions && i < d->n; i++) {
		if (d->v[i].parent || d->v[i].fabric)
			continue;
		vendor_partition_set(&d->v[i], ARENA_ARRAY(a, struct dp_counter, VENDOR_COUNTERS),
				     &sets[in->nsets]);
		sets[in->nsets++].pool = d->layout.pool;
	}
}

/* {"nodeSelectorTerms":[..]} for the label "NAME=VALUE". */
static const char *selector_of(struct arena *a, const char *label)
{
	struct str value = str_from(label), name;

	(void)str_split(&value, '=', &name);
	return arena_printf(a,
			    "{\"nodeSelectorTerms\":[{\"matchExpressions\":[{\"key\":\"%.*s\","
			    "\"operator\":\"In\",\"values\":[\"%.*s\"]}]}]}",
			    STR_ARG(name), STR_ARG(value));
}

static void describe_pool(const struct vendor_devices *d, struct arena *a, struct dp_inventory *in)
{
	const struct vendor_layout *l = &d->layout;
	struct dp_pool *pool = ARENA_NEW(a, struct dp_pool);

	if (l->fabric == 0)
		return;
	*pool = (struct dp_pool){
		.size = sizeof(*pool),
		.name = VENDOR_FABRIC,
		.all_nodes = !l->fabric_label,
		.node_selector = l->fabric_label ? selector_of(a, l->fabric_label) : NULL,
		.prepare_only = l->fabric_publisher &&
				(!l->node || strcmp(l->fabric_publisher, l->node) != 0),
	};
	in->pools = pool;
	in->npools = 1;
}

int vendor_devices_publish(const struct vendor_devices *d, struct dp_driver *driver,
			   struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct dp_inventory in = { .size = sizeof(in) };
	struct dp_device *list;
	char message[512];

	arena_init(&a, SIZE_MAX);
	list = ARENA_ARRAY(&a, struct dp_device, d->n + 1);
	in.devices = list;
	for (size_t i = 0; i < d->n; i++)
		if (!d->v[i].removed)
			devices_describe(d, &d->v[i], &a, &list[in.ndevices++]);
	describe_sets(d, &a, &in);
	describe_pool(d, &a, &in);
	if (dp_driver_set_inventory(driver, &in, message, sizeof(message)) < 0)
		return error_set(err, ERR_INVALID, "%s", message);
	return 0;
}
