#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drivers/gpu_cdi/proc.h"

#include "drivers/gpu_cdi/root_fixture.h"

static void the_version_is_sysfs_or_else_procs(void **state)
{
	char version[GPU_VERSION_SIZE];
	struct error err = { .msg = "" };

	assert_int_equal(gpu_proc_version(*state, version, &err), -ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "modprobe nvidia"));
	root_fixture_text(
		*state, "/proc/driver/nvidia/version",
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  "
		"Release Build  (dvs-builder@U22)  Mon\nGCC version:  gcc version 12.3.0\n");
	assert_int_equal(gpu_proc_version(*state, version, &err), 0);
	assert_string_equal(version, "580.159.04");
	root_fixture_text(*state, "/sys/module/nvidia/version", "570.10\n");
	assert_int_equal(gpu_proc_version(*state, version, &err), 0);
	assert_string_equal(version, "570.10");
}

static void a_text_without_a_version_has_none(void **state)
{
	static const char *const texts[] = {
		"",       "NVRM version: x", "580",
		"580.",   "580.1.2.3",       "a.b",
		"580.1x", "x\n580.159.04",   "1234567890123456789012345.12345678901234567890"
	};
	char version[GPU_VERSION_SIZE];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (gpu_proc_read_version(str_from(texts[i]), version))
			fail_msg("%s has %s", texts[i], version);
	/* A file of /proc that is empty. */
	assert_false(gpu_proc_read_version(STR_NULL, version));
}

static void majors_are_by_whole_word(void **state)
{
	struct gpu_majors m;

	(void)state;
	gpu_proc_read_majors(STR("Character devices:\n  1 mem\n195 nvidia\n195 nvidia-modeset\n"
				 "195 nvidiactl\n509 nvidia-caps-imex-channels\n510 nvidia-caps\n"
				 "511 nvidia-uvm\n\nBlock devices:\n  7 loop\n  9 nvidia-caps\n"),
			     &m);
	assert_int_equal(m.nvidia, 195);
	assert_int_equal(m.caps, 510);
	assert_int_equal(m.uvm, 511);
	gpu_proc_read_majors(STR("Character devices:\n509 nvidia-caps-imex-channels\n\n"
				 "Block devices:\n  9 nvidia-uvm\n"),
			     &m);
	assert_int_equal(m.nvidia, 195);
	assert_int_equal(m.caps, 0);
	assert_int_equal(m.uvm, 0);
}

static void caps_are_of_the_gpu_and_compute_instance(void **state)
{
	struct error err = { .msg = "" };
	struct gpu_cap cap;

	root_fixture_text(*state, "/proc/driver/nvidia/capabilities/gpu1/mig/gi3/access",
			  "DeviceFileMinor: 165\nDeviceFileMode: 292\nDeviceFileModify: 1\n");
	root_fixture_text(*state, "/proc/driver/nvidia/capabilities/gpu1/mig/gi3/ci0/access",
			  "DeviceFileMinor: 166\nDeviceFileMode: 256\nDeviceFileModify: 1\n");
	assert_int_equal(gpu_proc_cap(*state, 1, 3, -1, &cap, &err), 0);
	assert_int_equal(cap.minor, 165);
	assert_int_equal(cap.mode, 0444);
	assert_int_equal(gpu_proc_cap(*state, 1, 3, 0, &cap, &err), 0);
	assert_int_equal(cap.minor, 166);
	assert_int_equal(cap.mode, 0400);
	assert_int_equal(gpu_proc_cap(*state, 0, 3, 0, &cap, &err), -ERR_NOT_FOUND);
	assert_string_equal(err.msg,
			    "the MIG instance gi3/ci0 of GPU 0 does not exist: there is no "
			    "/proc/driver/nvidia/capabilities/gpu0/mig/gi3/ci0/access");
	root_fixture_text(*state, "/proc/driver/nvidia/capabilities/gpu1/mig/gi3/access", "x\n");
	assert_int_equal(gpu_proc_cap(*state, 1, 3, -1, &cap, &err), -ERR_IO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_version_is_sysfs_or_else_procs,
						root_fixture_setup, root_fixture_teardown),
		cmocka_unit_test(a_text_without_a_version_has_none),
		cmocka_unit_test(majors_are_by_whole_word),
		cmocka_unit_test_setup_teardown(caps_are_of_the_gpu_and_compute_instance,
						root_fixture_setup, root_fixture_teardown),
	};

	return cmocka_run_group_tests_name("proc", tests, NULL, NULL);
}
