#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drivers/gpu_cdi/edits.h"

#include "base/core/limits.h"
#include "drivers/gpu_cdi/root_fixture.h"

static struct arena arena;

static int setup(void **state)
{
	int r = root_fixture_setup(state);

	arena_init(&arena, MIB);
	if (r == 0)
		root_fixture_text(
			*state, "/proc/devices",
			"Character devices:\n195 nvidia\n510 nvidia-caps\n511 nvidia-uvm\n");
	return r;
}

static int teardown(void **state)
{
	arena_release(&arena);
	return root_fixture_teardown(state);
}

static const struct gpu_file file = { "/usr/lib64/libcuda.so.580.1", "/usr/lib64/libcuda.so.1" };
static const struct gpu_libraries libraries = { .files = (struct gpu_file *)&file, .nfiles = 1 };

static void expect_node(const struct gpu_edits *e, size_t i, const char *path, uint32_t major,
			uint32_t minor, uint32_t mode)
{
	assert_true(i < e->nnodes);
	assert_string_equal(e->nodes[i].path, path);
	assert_int_equal(e->nodes[i].type, 'c');
	assert_int_equal(e->nodes[i].major, major);
	assert_int_equal(e->nodes[i].minor, minor);
	assert_int_equal(e->nodes[i].mode, mode);
}

static void a_full_gpu_has_four_nodes(void **state)
{
	struct gpu_edits_device d = { 3, GPU_NO_INSTANCE, GPU_NO_INSTANCE };
	struct gpu_edits e;

	assert_int_equal(gpu_edits_make(&arena, *state, &libraries, &d, &e, NULL), 0);
	assert_int_equal(e.nnodes, 4);
	expect_node(&e, 0, "/dev/nvidiactl", 195, 255, 0666);
	expect_node(&e, 1, "/dev/nvidia-uvm", 511, 0, 0666);
	expect_node(&e, 2, "/dev/nvidia-uvm-tools", 511, 1, 0666);
	expect_node(&e, 3, "/dev/nvidia3", 195, 3, 0666);
	assert_int_equal(e.nfiles, 1);
	assert_string_equal(e.env[0], "NVIDIA_VISIBLE_DEVICES=void");
	assert_null(e.env[1]);
}

static void a_mig_device_has_its_two_capabilities_more(void **state)
{
	struct gpu_edits_device d = { 1, 2, 0 };
	struct error err = { .msg = "" };
	struct gpu_edits e;

	assert_int_equal(gpu_edits_make(&arena, *state, &libraries, &d, &e, &err), -ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "the MIG instance gi2 of GPU 1 does not exist"));
	root_fixture_text(*state, "/proc/driver/nvidia/capabilities/gpu1/mig/gi2/access",
			  "DeviceFileMinor: 156\nDeviceFileMode: 292\n");
	root_fixture_text(*state, "/proc/driver/nvidia/capabilities/gpu1/mig/gi2/ci0/access",
			  "DeviceFileMinor: 157\nDeviceFileMode: 292\n");
	assert_int_equal(gpu_edits_make(&arena, *state, &libraries, &d, &e, &err), 0);
	assert_int_equal(e.nnodes, 6);
	expect_node(&e, 3, "/dev/nvidia1", 195, 1, 0666);
	expect_node(&e, 4, "/dev/nvidia-caps/nvidia-cap156", 510, 156, 0444);
	expect_node(&e, 5, "/dev/nvidia-caps/nvidia-cap157", 510, 157, 0444);
}

static void missing_modules_are_named(void **state)
{
	struct gpu_edits_device d = { 1, 2, 0 };
	struct error err = { .msg = "" };
	struct gpu_edits e;

	root_fixture_text(*state, "/proc/devices", "Character devices:\n195 nvidia\n");
	assert_int_equal(gpu_edits_make(&arena, *state, &libraries, &d, &e, &err), -ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "modprobe nvidia_uvm"));
	root_fixture_text(*state, "/proc/devices", "Character devices:\n511 nvidia-uvm\n");
	assert_int_equal(gpu_edits_make(&arena, *state, &libraries, &d, &e, &err), -ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "has no nvidia-caps"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_full_gpu_has_four_nodes, setup, teardown),
		cmocka_unit_test_setup_teardown(a_mig_device_has_its_two_capabilities_more, setup,
						teardown),
		cmocka_unit_test_setup_teardown(missing_modules_are_named, setup, teardown),
	};

	return cmocka_run_group_tests_name("edits", tests, NULL, NULL);
}
