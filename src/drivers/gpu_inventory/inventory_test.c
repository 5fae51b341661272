/*
 * The devices of an H200: names, attributes, capacities and counters as NVIDIA's driver publishes
 * them, and what instances of others change.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/system/file.h"
#include "base/system/folder.h"
#include "base/system/folder_fixture.h"
#include "drivers/gpu_inventory/gpu_fixture.h"

struct test {
	struct arena arena;
	struct gpu_source sources[2];
	struct gpu_inventory_options options;
	struct gpu_inventory inventory;
};

static int setup(void **state)
{
	struct test *t = calloc(1, sizeof(*t));

	arena_init(&t->arena, MIB);
	t->sources[0] = gpu_fixture_h200(0, STR("GPU-a"));
	t->sources[1] = gpu_fixture_h200(1, STR("GPU-b"));
	t->options = gpu_fixture_options;
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct test *t = *state;

	arena_release(&t->arena);
	free(t);
	return 0;
}

static void make(struct test *t, size_t n)
{
	gpu_inventory_make(&t->arena, t->sources, n, &t->options, &t->inventory);
	assert_int_equal(t->inventory.n, t->inventory.sdk.ndevices);
	for (size_t i = 0; i < t->inventory.n; i++)
		assert_string_equal(t->inventory.devices[i].name, t->inventory.sdk.devices[i].name);
}

static const struct dp_device *device(const struct test *t, const char *name)
{
	const struct gpu_device *d = gpu_inventory_find(&t->inventory, str_from(name));

	if (!d)
		fail_msg("there is no device %s", name);
	return &t->inventory.sdk.devices[d - t->inventory.devices];
}

static const char *text_of(const struct dp_device *d, const char *name)
{
	for (uint32_t i = 0; i < d->nattributes; i++)
		if (strcmp(d->attributes[i].name, name) == 0)
			return d->attributes[i].text;
	return NULL;
}

static const struct dp_capacity *capacity_of(const struct dp_device *d, const char *name)
{
	for (uint32_t i = 0; i < d->ncapacity; i++)
		if (strcmp(d->capacity[i].name, name) == 0)
			return &d->capacity[i];
	return NULL;
}

static void check_capacity(const struct dp_device *d, const char *name, const char *quantity)
{
	const struct dp_capacity *c = capacity_of(d, name);

	if (!c)
		fail_msg("%s has no capacity %s", d->name, name);
	assert_string_equal(c->quantity, quantity);
}

static const char *counter_of(const struct dp_counter *v, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (strcmp(v[i].name, name) == 0)
			return v[i].quantity;
	return "absent";
}

/* --- full GPUs ------------------------------------------------------------------------------- */

static void a_full_gpu_has_the_attributes_of_nvidias_driver(void **state)
{
	struct test *t = *state;
	const struct dp_device *d;

	t->options.mig = false;
	make(t, 2);
	assert_int_equal(t->inventory.n, 2);
	d = device(t, "gpu-0");
	assert_string_equal(text_of(d, "type"), "gpu");
	assert_string_equal(text_of(d, "uuid"), "GPU-a");
	assert_string_equal(text_of(d, "productName"), "NVIDIA H200");
	assert_string_equal(text_of(d, "brand"), "Nvidia");
	assert_string_equal(text_of(d, "architecture"), "Hopper");
	assert_string_equal(text_of(d, "cudaComputeCapability"), "9.0.0");
	assert_string_equal(text_of(d, "driverVersion"), "580.159.4");
	assert_string_equal(text_of(d, "cudaDriverVersion"), "13.0.0");
	assert_string_equal(text_of(d, "addressingMode"), "None");
	assert_string_equal(text_of(d, "resource.kubernetes.io/pciBusID"), "0000:00:06.0");
	assert_string_equal(text_of(d, "resource.kubernetes.io/pcieRoot"), "pci0000:00");
	assert_int_equal(d->nattributes, 11);
	assert_int_equal(d->ncapacity, 1);
	check_capacity(d, "memory", "143771Mi");
	assert_int_equal(d->nconsumes, 0);
	assert_int_equal(t->inventory.sdk.nsets, 0);
	assert_string_equal(text_of(device(t, "gpu-1"), "uuid"), "GPU-b");
}

static void unknown_properties_are_left_out_and_a_numa_node_is_a_number(void **state)
{
	struct test *t = *state;
	const struct dp_device *d;

	t->options.mig = false;
	t->options.cuda_version = 0;
	t->sources[0].gpu.addressing = STR_NULL;
	t->sources[0].pcie_root = NULL;
	t->sources[0].numa = 3;
	make(t, 1);
	d = device(t, "gpu-0");
	assert_null(text_of(d, "addressingMode"));
	assert_null(text_of(d, "resource.kubernetes.io/pcieRoot"));
	assert_null(text_of(d, "cudaDriverVersion"));
	assert_string_equal(d->attributes[d->nattributes - 1].name,
			    "resource.kubernetes.io/numaNode");
	assert_int_equal(d->attributes[d->nattributes - 1].type, DP_INT);
	assert_int_equal(d->attributes[d->nattributes - 1].number, 3);
}

static void a_version_becomes_semver(void **state)
{
	struct test *t = *state;

	assert_string_equal(gpu_semver(&t->arena, STR("580.159.04")), "580.159.4");
	assert_string_equal(gpu_semver(&t->arena, STR("610.7")), "610.7.0");
	assert_string_equal(gpu_semver(&t->arena, STR("535.104.005.1")), "535.104.5");
	assert_null(gpu_semver(&t->arena, STR("580.x")));
}

/* --- shares ---------------------------------------------------------------------------------- */

static void shares_by_memory_divide_the_memory_in_steps(void **state)
{
	struct test *t = *state;
	const struct dp_capacity *m;

	t->options.mig = false;
	t->sources[0].gpu.memory += 4096;
	assert_int_equal(gpu_shares_parse(STR("memory"), &t->options, NULL), 0);
	make(t, 1);
	assert_int_equal(device(t, "gpu-0")->allow_multiple, 1);
	m = capacity_of(device(t, "gpu-0"), "memory");
	assert_string_equal(m->quantity, "143771Mi");
	assert_string_equal(m->default_quantity, "143771Mi");
	assert_string_equal(m->min, "1Mi");
	assert_string_equal(m->max, "143771Mi");
	assert_string_equal(m->step, "1Mi");
	assert_null(capacity_of(device(t, "gpu-0"), "shares"));
}

static void shares_by_number_are_a_capacity(void **state)
{
	struct test *t = *state;
	const struct dp_capacity *c;

	assert_int_equal(gpu_shares_parse(STR("4"), &t->options, NULL), 0);
	make(t, 1);
	c = capacity_of(device(t, "gpu-0"), "shares");
	assert_non_null(c);
	assert_string_equal(c->quantity, "4");
	assert_string_equal(c->default_quantity, "1");
	assert_string_equal(c->max, "4");
	assert_string_equal(capacity_of(device(t, "gpu-0"), "memory")->default_quantity, "0");
	assert_int_equal(device(t, "gpu-0-mig-1g18gb-19-6")->allow_multiple, 0);
}

static void unlimited_shares_consume_nothing_by_default(void **state)
{
	struct test *t = *state;
	const struct dp_capacity *m;

	assert_int_equal(gpu_shares_parse(STR("unlimited"), &t->options, NULL), 0);
	make(t, 1);
	m = capacity_of(device(t, "gpu-0"), "memory");
	assert_string_equal(m->default_quantity, "0");
	assert_string_equal(m->min, "0");
	assert_string_equal(m->max, "140Gi");
}

static void a_wrong_number_of_shares_is_rejected(void **state)
{
	static const char *const wrong[] = { "", "0", "-1", "1025", "Memory", "4 " };
	struct test *t = *state;
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_int_equal(gpu_shares_parse(str_from(wrong[i]), &t->options, &err),
				 -ERR_INVALID);
		assert_non_null(strstr(err.msg, "from 1 to 1024"));
	}
}

/* --- MIG ------------------------------------------------------------------------------------- */

static void every_placement_is_a_device_small_ones_first(void **state)
{
	static const char *const names[] = {
		"gpu-0",
		"gpu-0-mig-1g18gb-19-6",
		"gpu-0-mig-1g18gb-19-5",
		"gpu-0-mig-1g18gb-19-4",
		"gpu-0-mig-1g18gb-19-3",
		"gpu-0-mig-1g18gb-19-2",
		"gpu-0-mig-1g18gb-19-1",
		"gpu-0-mig-1g18gb-19-0",
		"gpu-0-mig-1g18gb-me-20-6",
		"gpu-0-mig-1g18gb-me-20-5",
		"gpu-0-mig-1g18gb-me-20-4",
		"gpu-0-mig-1g18gb-me-20-3",
		"gpu-0-mig-1g18gb-me-20-2",
		"gpu-0-mig-1g18gb-me-20-1",
		"gpu-0-mig-1g18gb-me-20-0",
		"gpu-0-mig-1g35gb-15-6",
		"gpu-0-mig-1g35gb-15-4",
		"gpu-0-mig-1g35gb-15-2",
		"gpu-0-mig-1g35gb-15-0",
		"gpu-0-mig-2g35gb-14-4",
		"gpu-0-mig-2g35gb-14-2",
		"gpu-0-mig-2g35gb-14-0",
		"gpu-0-mig-3g71gb-9-4",
		"gpu-0-mig-3g71gb-9-0",
		"gpu-0-mig-4g71gb-5-0",
		"gpu-0-mig-7g141gb-0-0",
	};
	struct test *t = *state;

	make(t, 2);
	assert_int_equal(t->inventory.n, 2 * ARRAY_SIZE(names));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_string_equal(t->inventory.devices[i].name, names[i]);
	assert_string_equal(t->inventory.devices[ARRAY_SIZE(names)].name, "gpu-1");
}

static void a_partition_has_the_attributes_of_its_profile(void **state)
{
	struct test *t = *state;
	const struct dp_device *d;

	make(t, 1);
	d = device(t, "gpu-0-mig-1g18gb-me-20-3");
	assert_string_equal(text_of(d, "type"), "mig");
	assert_string_equal(text_of(d, "profile"), "1g.18gb+me");
	assert_string_equal(text_of(d, "parentUUID"), "GPU-a");
	assert_null(text_of(d, "uuid"));
	assert_string_equal(text_of(d, "architecture"), "Hopper");
	assert_int_equal(d->ncapacity, 7);
	check_capacity(d, "multiprocessors", "16");
	check_capacity(d, "copyEngines", "1");
	check_capacity(d, "decoders", "1");
	check_capacity(d, "encoders", "0");
	check_capacity(d, "jpegEngines", "1");
	check_capacity(d, "ofaEngines", "1");
	check_capacity(d, "memory", "16Gi");
	assert_int_equal(d->nconsumes, 1);
	assert_string_equal(d->consumes[0].set, "gpu-0-counter-set");
	assert_int_equal(d->consumes[0].ncounters, 9);
	assert_string_equal(counter_of(d->consumes[0].counters, 9, "memory-slice-3"), "1");
	assert_string_equal(counter_of(d->consumes[0].counters, 9, "compute-slices"), "1");
	assert_string_equal(counter_of(d->consumes[0].counters, 9, "copy-engines"), "1");
}

static void the_full_gpu_consumes_its_whole_counter_set(void **state)
{
	struct test *t = *state;
	const struct dp_counter_set *set;
	const struct dp_device *d;

	make(t, 2);
	assert_int_equal(t->inventory.sdk.nsets, 2);
	set = &t->inventory.sdk.sets[0];
	assert_string_equal(set->name, "gpu-0-counter-set");
	assert_int_equal(set->ncounters, 16);
	assert_string_equal(counter_of(set->counters, 16, "multiprocessors"), "132");
	assert_string_equal(counter_of(set->counters, 16, "jpeg-engines"), "7");
	assert_string_equal(counter_of(set->counters, 16, "memory"), "140Gi");
	assert_string_equal(counter_of(set->counters, 16, "compute-slices"), "7");
	assert_string_equal(counter_of(set->counters, 16, "memory-slice-7"), "1");
	d = device(t, "gpu-0");
	check_capacity(d, "memory", "140Gi");
	check_capacity(d, "multiprocessors", "132");
	assert_int_equal(d->consumes[0].ncounters, 16);
	for (uint32_t i = 0; i < 16; i++) {
		assert_string_equal(set->counters[i].name, d->consumes[0].counters[i].name);
		assert_string_equal(set->counters[i].quantity, d->consumes[0].counters[i].quantity);
	}
}

static void an_older_gpu_offers_what_its_mode_allows(void **state)
{
	struct test *t = *state;

	t->sources[0].gpu.cc_major = 8;
	make(t, 1);
	assert_int_equal(t->inventory.n, 1);
	assert_int_equal(t->inventory.sdk.nsets, 0);
	check_capacity(device(t, "gpu-0"), "memory", "143771Mi");
	t->sources[0].gpu.mig = NVML_MIG_ON;
	make(t, 1);
	assert_int_equal(t->inventory.n, GPU_FIXTURE_PLACEMENTS);
	assert_null(gpu_inventory_find(&t->inventory, STR("gpu-0")));
	t->sources[0].gpu.mig = NVML_MIG_NONE;
	t->sources[0].nprofiles = 0;
	make(t, 1);
	assert_int_equal(t->inventory.n, 1);
}

/* --- instances of others --------------------------------------------------------------------- */

static const struct gpu_foreign others[] = {
	{ .instance = { .id = 5,
			.profile = 20,
			.place = { 6, 1 },
			.compute = { 0 },
			.ncompute = 1 },
	  .uuid = { "MIG-x", 5 } },
	{ .instance = { .id = 2, .profile = 9, .place = { 0, 4 } } },
};

static void add_others(struct test *t)
{
	t->sources[0].gpu.mig = NVML_MIG_ON;
	t->sources[0].foreign_mig = true;
	t->sources[0].foreign = others;
	t->sources[0].nforeign = 2;
}

static bool is_tainted(const struct test *t, const char *name)
{
	const struct dp_device *d = device(t, name);
	bool blocked = gpu_inventory_find(&t->inventory, str_from(name))->blocked != NULL;

	assert_int_equal(d->ntaints, blocked ? 1 : 0);
	if (blocked)
		assert_string_equal(d->taints[0].key, "gpu.nvidia.com/foreign-instance");
	return blocked;
}

static void instances_of_others_block_what_overlaps_them(void **state)
{
	struct test *t = *state;
	const struct dp_counter_set *set;

	add_others(t);
	make(t, 1);
	assert_true(is_tainted(t, "gpu-0"));
	assert_true(is_tainted(t, "gpu-0-mig-1g18gb-19-6"));
	assert_true(is_tainted(t, "gpu-0-mig-1g18gb-19-3"));
	assert_true(is_tainted(t, "gpu-0-mig-3g71gb-9-4"));
	assert_false(is_tainted(t, "gpu-0-mig-1g18gb-19-4"));
	assert_false(is_tainted(t, "gpu-0-mig-2g35gb-14-4"));
	/* Only one instance has the media engines. */
	assert_true(is_tainted(t, "gpu-0-mig-1g18gb-me-20-4"));
	assert_non_null(
		strstr(gpu_inventory_find(&t->inventory, STR("gpu-0-mig-1g18gb-19-6"))->blocked,
		       "GPU instance 5"));
	set = &t->inventory.sdk.sets[0];
	assert_string_equal(counter_of(set->counters, 16, "ofa-engines"), "0");
	assert_string_equal(counter_of(set->counters, 16, "compute-slices"), "3");
	assert_string_equal(counter_of(set->counters, 16, "memory-slice-3"), "0");
	assert_string_equal(counter_of(set->counters, 16, "memory-slice-4"), "1");
}

static void mig_that_others_switched_on_blocks_the_full_gpu(void **state)
{
	struct test *t = *state;

	t->sources[0].gpu.mig = NVML_MIG_ON;
	make(t, 1);
	assert_false(is_tainted(t, "gpu-0"));
	t->sources[0].foreign_mig = true;
	make(t, 1);
	assert_true(is_tainted(t, "gpu-0"));
	assert_non_null(strstr(t->inventory.devices[0].blocked, "nvidia-smi -mig 0"));
	assert_false(is_tainted(t, "gpu-0-mig-7g141gb-0-0"));
}

static void instances_of_others_are_devices_by_option(void **state)
{
	struct test *t = *state;
	const struct dp_device *d;

	add_others(t);
	t->options.static_mig = true;
	make(t, 1);
	assert_int_equal(t->inventory.n, 1 + GPU_FIXTURE_PLACEMENTS);
	assert_false(is_tainted(t, "gpu-0-mig-1g18gb-me-20-6"));
	d = device(t, "gpu-0-mig-1g18gb-me-20-6");
	assert_string_equal(text_of(d, "uuid"), "MIG-x");
	check_capacity(d, "memorySlice6", "1");
	assert_int_equal(d->nconsumes, 0);
	/* The other one has no compute instance, so nobody can use it. */
	assert_true(is_tainted(t, "gpu-0-mig-3g71gb-9-0"));

	t->options.mig = false;
	make(t, 1);
	assert_int_equal(t->inventory.n, 1);
	assert_int_equal(t->inventory.devices[0].kind, GPU_MIG_STATIC);
	assert_int_equal(t->inventory.sdk.nsets, 0);
	t->options.static_mig = false;
	make(t, 1);
	assert_int_equal(t->inventory.n, 0);
}

/* --- sysfs ----------------------------------------------------------------------------------- */

static void sysfs_has_numa_node_and_root(void **state)
{
	struct test *t = *state;
	char dir[] = "/tmp/gpu-sysfs-XXXXXX", path[160], to[128];

	assert_non_null(mkdtemp(dir));
	(void)snprintf(to, sizeof(to), "%s/devices/pci0000:40/0000:40:01.0/0000:00:06.0", dir);
	assert_int_equal(folder_make(to, 0755, NULL), 0);
	(void)snprintf(path, sizeof(path), "%s/numa_node", to);
	assert_int_equal(file_write_atomic(path, STR("1\n"), 0644, NULL), 0);
	(void)snprintf(path, sizeof(path), "%s/bus/pci/devices", dir);
	assert_int_equal(folder_make(path, 0755, NULL), 0);
	(void)snprintf(path, sizeof(path), "%s/bus/pci/devices/0000:00:06.0", dir);
	assert_int_equal(symlink(to, path), 0);
	gpu_sysfs_read(dir, &t->arena, &t->sources[0]);
	assert_int_equal(t->sources[0].numa, 1);
	assert_string_equal(t->sources[0].pcie_root, "pci0000:40");
	t->sources[0].gpu.pci = STR("0000:99:00.0");
	gpu_sysfs_read(dir, &t->arena, &t->sources[0]);
	assert_int_equal(t->sources[0].numa, -1);
	assert_null(t->sources[0].pcie_root);
	folder_fixture_remove(dir);
}

#define INVENTORY_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		INVENTORY_TEST(a_full_gpu_has_the_attributes_of_nvidias_driver),
		INVENTORY_TEST(unknown_properties_are_left_out_and_a_numa_node_is_a_number),
		INVENTORY_TEST(a_version_becomes_semver),
		INVENTORY_TEST(shares_by_memory_divide_the_memory_in_steps),
		INVENTORY_TEST(shares_by_number_are_a_capacity),
		INVENTORY_TEST(unlimited_shares_consume_nothing_by_default),
		INVENTORY_TEST(a_wrong_number_of_shares_is_rejected),
		INVENTORY_TEST(every_placement_is_a_device_small_ones_first),
		INVENTORY_TEST(a_partition_has_the_attributes_of_its_profile),
		INVENTORY_TEST(the_full_gpu_consumes_its_whole_counter_set),
		INVENTORY_TEST(an_older_gpu_offers_what_its_mode_allows),
		INVENTORY_TEST(instances_of_others_block_what_overlaps_them),
		INVENTORY_TEST(mig_that_others_switched_on_blocks_the_full_gpu),
		INVENTORY_TEST(instances_of_others_are_devices_by_option),
		INVENTORY_TEST(sysfs_has_numa_node_and_root),
	};

	return cmocka_run_group_tests_name("drivers/gpu_inventory", tests, NULL, NULL);
}
