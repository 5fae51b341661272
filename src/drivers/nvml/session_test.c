/* The session: loading the library, error codes, versions, and the list of GPUs. */
#include "drivers/nvml/nvml_fixture.h"

#include "drivers/nvml/abi.h"

static int open_code(const char *path, struct error *err)
{
	struct nvml *n = NULL;
	int r = nvml_open(path, &n, err);

	nvml_close(n);
	return r;
}

static void a_missing_library_says_what_to_install(void **state)
{
	struct error err = { 0 };

	assert_int_equal(open_code("/nowhere/libnvidia-ml.so.1", &err), -ERR_UNAVAILABLE);
	assert_non_null(strstr(err.msg, "install the NVIDIA driver"));
	assert_int_equal(open_code("/nowhere/libnvidia-ml.so.1", NULL), -ERR_UNAVAILABLE);
}

static void another_library_is_refused(void **state)
{
	struct error err = { 0 };

	assert_int_equal(open_code("libc.so.6", &err), -ERR_UNAVAILABLE);
	assert_non_null(strstr(err.msg, "not an NVML library"));
}

static void a_library_of_another_version_is_refused(void **state)
{
	struct nvml_fixture *f = *state;
	struct error err = { 0 };

	fake_do(f, "mismatch");
	assert_int_equal(open_code(FAKE_NVML_LIBRARY, &err), -ERR_UNAVAILABLE);
	assert_non_null(strstr(err.msg, "does not match the loaded kernel module"));
	assert_non_null(strstr(err.msg, "code 18"));
	fake_do(f, "heal");
	assert_int_equal(open_code(FAKE_NVML_LIBRARY, &err), 0);
}

static void a_missing_kernel_module_says_what_to_load(void **state)
{
	struct error err = { 0 };

	fake_do(*state, "fail nvmlInitWithFlags 9");
	assert_int_equal(open_code(FAKE_NVML_LIBRARY, &err), -ERR_UNAVAILABLE);
	assert_non_null(strstr(err.msg, "modprobe nvidia"));
}

static void every_code_has_its_error(void **state)
{
	static const struct {
		int nvml, code;
	} codes[] = {
		{ 1, ERR_UNAVAILABLE },   { 2, ERR_IO },
		{ 3, ERR_UNIMPLEMENTED }, { 4, ERR_FORBIDDEN },
		{ 6, ERR_NOT_FOUND },     { 9, ERR_UNAVAILABLE },
		{ 11, ERR_IO },           { 13, ERR_UNIMPLEMENTED },
		{ 15, ERR_GONE },         { 16, ERR_GONE },
		{ 18, ERR_UNAVAILABLE },  { 19, ERR_CONFLICT },
		{ 23, ERR_TOO_LARGE },    { 25, ERR_UNIMPLEMENTED },
		{ 999, ERR_IO },
	};
	struct nvml_fixture *f = *state;

	fixture_open_session(f);
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		struct error err = { 0 };
		struct str driver;
		char text[32];
		int cuda;

		fake_do(f, "fail nvmlSystemGetDriverVersion %d 1", codes[i].nvml);
		assert_int_equal(nvml_versions(f->nvml, &f->arena, &driver, &cuda, &err),
				 -codes[i].code);
		(void)snprintf(text, sizeof(text), "(NVML code %d)", codes[i].nvml);
		assert_non_null(strstr(err.msg, text));
		assert_non_null(strstr(err.msg, "nvmlSystemGetDriverVersion: "));
	}
}

static void versions_are_those_of_the_driver(void **state)
{
	struct nvml_fixture *f = *state;
	struct str driver;
	int cuda;

	fixture_open_session(f);
	assert_int_equal(nvml_versions(f->nvml, &f->arena, &driver, &cuda, NULL), 0);
	assert_true(str_eqz(driver, "580.159.04"));
	assert_int_equal(cuda, 13000);
}

static void a_machine_without_gpus_is_no_error(void **state)
{
	struct nvml_fixture *f = *state;

	fake_do(f, "gpus 0");
	fixture_open_session(f);
	assert_int_equal(f->ngpus, 0);
}

static void gpus_have_their_details(void **state)
{
	struct nvml_fixture *f = *state;
	const struct nvml_gpu *g;

	fixture_open_session(f);
	assert_int_equal(f->ngpus, 2);
	g = &f->gpus[1];
	assert_true(str_eqz(g->uuid, "GPU-fa4e0200-4832-3030-8000-000000000001"));
	assert_true(str_eqz(g->name, "NVIDIA H200"));
	assert_true(str_eqz(g->brand, "Nvidia"));
	assert_true(str_eqz(g->architecture, "Hopper"));
	assert_true(str_eqz(g->pci, "0000:00:07.0"));
	assert_true(str_eqz(g->addressing, "None"));
	assert_int_equal(g->minor, 1);
	assert_int_equal(g->cc_major, 9);
	assert_int_equal(g->cc_minor, 0);
	assert_int_equal(g->memory, UINT64_C(143771) << 20);
	assert_int_equal(g->mig, NVML_MIG_OFF);
	assert_int_equal(g->mig_pending, NVML_MIG_OFF);
	assert_ptr_not_equal(f->gpus[0].handle, f->gpus[1].handle);
}

static void a_gpu_without_mig_says_so(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_profile *profiles;
	size_t n;

	fake_do(f, "no-mig 0");
	fixture_open_session(f);
	assert_int_equal(f->gpus[0].mig, NVML_MIG_NONE);
	assert_int_equal(f->gpus[1].mig, NVML_MIG_OFF);
	assert_int_equal(nvml_profiles(f->nvml, &f->gpus[0], &f->arena, &profiles, &n, NULL), 0);
	assert_int_equal(n, 0);
}

static void a_lost_gpu_is_left_out_and_named(void **state)
{
	struct nvml_fixture *f = *state;
	struct str skipped;

	fixture_open_session(f);
	fake_do(f, "lost 0");
	assert_int_equal(nvml_gpus(f->nvml, &f->arena, &f->gpus, &f->ngpus, &skipped, NULL), 0);
	assert_int_equal(f->ngpus, 1);
	assert_int_equal(f->gpus[0].minor, 1);
	assert_true(str_find(skipped, STR("GPU 0: ")) == 0);
	assert_true(str_find(skipped, STR("GPU is lost")) > 0);
	fake_do(f, "heal");
	fixture_read_gpus(f);
	assert_int_equal(f->ngpus, 2);
}

static void missing_details_are_unknown(void **state)
{
	struct nvml_fixture *f = *state;

	fake_do(f, "fail nvmlDeviceGetBrand 3");
	fake_do(f, "fail nvmlDeviceGetArchitecture 3");
	fake_do(f, "fail nvmlDeviceGetAddressingMode 3");
	fixture_open_session(f);
	assert_int_equal(f->ngpus, 2);
	assert_true(str_eqz(f->gpus[0].brand, "Unknown"));
	assert_true(str_eqz(f->gpus[0].architecture, "Unknown"));
	assert_int_equal(f->gpus[0].addressing.n, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_missing_library_says_what_to_install),
		TEST(another_library_is_refused),
		TEST(a_library_of_another_version_is_refused),
		TEST(a_missing_kernel_module_says_what_to_load),
		TEST(every_code_has_its_error),
		TEST(versions_are_those_of_the_driver),
		TEST(a_machine_without_gpus_is_no_error),
		TEST(gpus_have_their_details),
		TEST(a_gpu_without_mig_says_so),
		TEST(a_lost_gpu_is_left_out_and_named),
		TEST(missing_details_are_unknown),
	};

	return cmocka_run_group_tests_name("drivers/nvml_session", tests, NULL, NULL);
}
