#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drivers/gpu_cdi/libraries.h"

#include "base/core/limits.h"
#include "drivers/gpu_cdi/root_fixture.h"

#define DEBIAN "/usr/lib/x86_64-linux-gnu"

static struct arena arena;

static int setup(void **state)
{
	arena_init(&arena, MIB);
	return root_fixture_setup(state);
}

static int teardown(void **state)
{
	arena_release(&arena);
	return root_fixture_teardown(state);
}

static void put(const char *root, const char *name, const char *soname)
{
	root_fixture_library(root, name, soname, EM_X86_64);
}

static int find(struct gpu_libraries_opts o, struct gpu_libraries *l, struct error *err)
{
	if (!o.version)
		o.version = "580.1";
	if (!o.machine)
		o.machine = EM_X86_64;
	return gpu_libraries_find(&arena, &o, l, err);
}

static const char *bound_on(const struct gpu_libraries *l, const char *path)
{
	for (size_t i = 0; i < l->nfiles; i++)
		if (strcmp(l->files[i].path, path) == 0)
			return l->files[i].host_path;
	return "";
}

static void libraries_are_bound_on_their_sonames(void **state)
{
	struct gpu_libraries l;

	put(*state, DEBIAN "/libcuda.so.580.1", "libcuda.so.1");
	put(*state, DEBIAN "/libnvidia-ml.so.580.1", "libnvidia-ml.so.1");
	put(*state, DEBIAN "/libnvidia-nvvm.so.580.1", "libnvidia-nvvm.so.4");
	put(*state, DEBIAN "/libnvidia-gpucomp.so.580.1", "libnvidia-gpucomp.so.580.1");
	put(*state, DEBIAN "/libGLX_nvidia.so.580.1", "libGLX_nvidia.so.0");
	root_fixture_text(*state, DEBIAN "/libnvidia-cfg.so.580.1", "no library");
	root_fixture_write(*state, "/usr/bin/nvidia-smi",
			   STR("\x7f"
			       "ELF"),
			   0755);
	assert_int_equal(find((struct gpu_libraries_opts){ .root = *state }, &l, NULL), 0);
	assert_string_equal(l.folder, DEBIAN);
	assert_int_equal(l.nfiles, 2 * (1 + 4) + 1);
	assert_string_equal(bound_on(&l, DEBIAN "/libcuda.so.1"), DEBIAN "/libcuda.so.580.1");
	assert_string_equal(bound_on(&l, DEBIAN "/libcuda.so"), DEBIAN "/libcuda.so.580.1");
	assert_string_equal(bound_on(&l, "/usr/lib64/libcuda.so.1"), DEBIAN "/libcuda.so.580.1");
	assert_string_equal(bound_on(&l, "/usr/lib64/libnvidia-nvvm.so.4"),
			    DEBIAN "/libnvidia-nvvm.so.580.1");
	assert_string_equal(bound_on(&l, DEBIAN "/libnvidia-gpucomp.so.580.1"),
			    DEBIAN "/libnvidia-gpucomp.so.580.1");
	assert_string_equal(bound_on(&l, "/usr/bin/nvidia-smi"), "/usr/bin/nvidia-smi");
	assert_int_equal(
		find((struct gpu_libraries_opts){ .root = *state, .no_smi = true }, &l, NULL), 0);
	assert_string_equal(bound_on(&l, "/usr/bin/nvidia-smi"), "");
}

static void an_nvidia_smi_that_is_a_script_is_passed_over(void **state)
{
	struct gpu_libraries l;

	put(*state, DEBIAN "/libcuda.so.580.1", "libcuda.so.1");
	root_fixture_write(*state, "/usr/bin/nvidia-smi", STR("#!/bin/sh\n"), 0755);
	assert_int_equal(find((struct gpu_libraries_opts){ .root = *state }, &l, NULL), 0);
	assert_string_equal(bound_on(&l, "/usr/bin/nvidia-smi"), "");
	put(*state, "/usr/local/nvidia/bin/nvidia-smi", "x");
	assert_int_equal(find((struct gpu_libraries_opts){ .root = *state }, &l, NULL), 0);
	assert_string_equal(bound_on(&l, "/usr/bin/nvidia-smi"),
			    "/usr/local/nvidia/bin/nvidia-smi");
}

static void the_copy_with_the_modules_version_is_taken(void **state)
{
	struct error err = { .msg = "" };
	struct gpu_libraries l;

	put(*state, DEBIAN "/libcuda.so.575.9", "libcuda.so.1");
	assert_int_equal(find((struct gpu_libraries_opts){ .root = *state }, &l, &err),
			 -ERR_NOT_FOUND);
	assert_string_equal(
		err.msg, "cannot find libcuda.so.580.1, the version of the loaded kernel module; "
			 "install the driver's libraries of this version, or name their folder "
			 "(found: " DEBIAN "/libcuda.so.575.9)");
	put(*state, "/usr/lib64/libcuda.so.580.1", "libcuda.so.1");
	assert_int_equal(find((struct gpu_libraries_opts){ .root = *state }, &l, &err), 0);
	assert_string_equal(l.folder, "/usr/lib64");
}

static void a_copy_for_another_processor_is_passed_over(void **state)
{
	struct gpu_libraries_opts arm = { .root = *state, .machine = EM_AARCH64 };
	struct error err = { .msg = "" };
	struct gpu_libraries l;

	put(*state, "/usr/lib64/libcuda.so.580.1", "libcuda.so.1");
	assert_int_equal(find(arm, &l, &err), -ERR_INVALID);
	assert_non_null(strstr(err.msg, "for another kind of processor"));
	root_fixture_library(*state, "/usr/lib/libcuda.so.580.1", "libcuda.so.1", EM_AARCH64);
	assert_int_equal(find(arm, &l, &err), 0);
	assert_string_equal(l.folder, "/usr/lib");
	assert_string_equal(bound_on(&l, "/usr/lib/aarch64-linux-gnu/libcuda.so.1"),
			    "/usr/lib/libcuda.so.580.1");
}

static void a_driver_may_have_its_own_root_and_folder(void **state)
{
	struct gpu_libraries_opts o = { .root = *state,
					.driver_root = "/run/nvidia/driver",
					.library_dir = "/opt/lib" };
	struct gpu_libraries l;

	put(*state, "/run/nvidia/driver/opt/lib/libcuda.so.580.1", "libcuda.so.1");
	put(*state, DEBIAN "/libcuda.so.580.1", "libcuda.so.1");
	assert_int_equal(find(o, &l, NULL), 0);
	assert_string_equal(l.folder, "/run/nvidia/driver/opt/lib");
	assert_string_equal(bound_on(&l, DEBIAN "/libcuda.so.1"),
			    "/run/nvidia/driver/opt/lib/libcuda.so.580.1");
}

static void two_libraries_with_one_soname_are_bound_once(void **state)
{
	struct gpu_libraries l;

	put(*state, DEBIAN "/libcuda.so.580.1", "libcuda.so.1");
	put(*state, DEBIAN "/libnvidia-ml.so.580.1", "libcuda.so.1");
	assert_int_equal(find((struct gpu_libraries_opts){ .root = *state }, &l, NULL), 0);
	assert_int_equal(l.nfiles, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(libraries_are_bound_on_their_sonames, setup,
						teardown),
		cmocka_unit_test_setup_teardown(an_nvidia_smi_that_is_a_script_is_passed_over,
						setup, teardown),
		cmocka_unit_test_setup_teardown(the_copy_with_the_modules_version_is_taken, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_copy_for_another_processor_is_passed_over, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_driver_may_have_its_own_root_and_folder, setup,
						teardown),
		cmocka_unit_test_setup_teardown(two_libraries_with_one_soname_are_bound_once, setup,
						teardown),
	};

	return cmocka_run_group_tests_name("libraries", tests, NULL, NULL);
}
