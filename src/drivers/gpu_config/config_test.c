#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "drivers/gpu_config/config.h"

#define V       "{\"apiVersion\":\"resource.nvidia.com/v1beta1\",\"kind\":"
#define GPU     V "\"GpuConfig\""
#define MIG     V "\"MigDeviceConfig\""
#define VFIO    V "\"VfioDeviceConfig\""
#define MPS(x)  ",\"sharing\":{\"strategy\":\"MPS\",\"mpsConfig\":{" x "}}}"
#define TIME(x) ",\"sharing\":{\"strategy\":\"TimeSlicing\",\"timeSlicingConfig\":{" x "}}}"

static int setup(void **state)
{
	static struct arena a;

	arena_init(&a, MIB);
	*state = &a;
	return 0;
}

static int teardown(void **state)
{
	arena_release(*state);
	return 0;
}

static struct gpu_config read_ok(struct arena *a, const char *text)
{
	struct error err = { .msg = "" };
	struct gpu_config c = { 0 };

	if (gpu_config_read(a, str_from(text), &c, &err) < 0)
		fail_msg("%s", err.msg);
	return c;
}

static void missing_fields_have_defaults(void **state)
{
	struct gpu_config c = read_ok(*state, GPU "}");

	assert_int_equal(c.kind, GPU_CONFIG_GPU);
	assert_int_equal(c.sharing, GPU_SHARING_NONE);
	assert_int_equal(c.threads, GPU_THREADS_UNSET);
	c = read_ok(*state, GPU TIME(""));
	assert_int_equal(c.sharing, GPU_SHARING_TIME);
	assert_int_equal(c.interval, 0);
	c = read_ok(*state, GPU ",\"sharing\":{\"strategy\":\"MPS\"}}");
	assert_int_equal(c.sharing, GPU_SHARING_MPS);
	assert_int_equal(c.threads, GPU_THREADS_UNSET);
	assert_int_equal(c.memory_mib, 0);
	c = read_ok(*state, GPU ",\"sharing\":null}");
	assert_int_equal(c.sharing, GPU_SHARING_NONE);
}

static void all_fields_are_read(void **state)
{
	struct gpu_config c = read_ok(
		*state,
		GPU MPS("\"defaultActiveThreadPercentage\":50,"
			"\"defaultPinnedDeviceMemoryLimit\":\"10Gi\","
			"\"defaultPerDevicePinnedMemoryLimit\":{\"0\":\"8Gi\",\"GPU-b\":1048576},"
			"\"multiUser\":true"));

	assert_int_equal(c.threads, 50);
	assert_int_equal(c.memory_mib, 10240);
	assert_int_equal(c.nlimits, 2);
	assert_true(str_eqz(c.limits[1].device, "GPU-b"));
	assert_int_equal(c.limits[1].mib, 1);
	assert_true(c.multi_user);
	c = read_ok(*state, GPU TIME("\"interval\":\"Long\""));
	assert_int_equal(c.interval, 3);
	c = read_ok(*state, MIG MPS("\"defaultActiveThreadPercentage\":0"));
	assert_int_equal(c.kind, GPU_CONFIG_MIG);
	assert_int_equal(c.threads, 0);
	c = read_ok(*state, MIG ",\"sharing\":{\"strategy\":\"TimeSlicing\",\"mpsConfig\":{}}}");
	assert_int_equal(c.sharing, GPU_SHARING_TIME);
	c = read_ok(*state, VFIO ",\"iommu\":{\"backendPolicy\":\"PreferIommuFD\","
				 "\"enableAPIDevice\":true}}");
	assert_int_equal(c.kind, GPU_CONFIG_VFIO);
}

static void faults_name_their_field(void **state)
{
	static const struct {
		const char *text, *want;
	} cases[] = {
		{ "[]", "parameters: must be an object" },
		{ "{}", "parameters.apiVersion: must be resource.nvidia.com/v1beta1" },
		{ V "\"ComputeDomainChannelConfig\"}",
		  "parameters.kind: must be GpuConfig or MigDeviceConfig, not "
		  "\"ComputeDomainChannelConfig\"" },
		{ GPU ",\"sharin\":{}}",
		  "parameters: unknown field \"sharin\", did you mean sharing?" },
		{ GPU ",\"Sharing\":null}",
		  "parameters: unknown field \"Sharing\", did you mean sharing?" },
		{ GPU ",\"sharing\":{}}",
		  "parameters.sharing.strategy: is missing; write TimeSlicing or MPS" },
		{ GPU ",\"sharing\":{\"strategy\":\"Fabric\"}}",
		  "parameters.sharing.strategy: must be TimeSlicing or MPS" },
		{ GPU ",\"sharing\":[]}", "parameters.sharing: must be an object" },
		{ GPU TIME("\"interval\":\"Forever\""),
		  "parameters.sharing.timeSlicingConfig.interval: must be Default, Short, Medium "
		  "or Long" },
		{ MIG TIME(""), "parameters.sharing: unknown field \"timeSlicingConfig\"" },
		{ GPU MPS("\"defaultActiveThreadPercentage\":101"),
		  "parameters.sharing.mpsConfig.defaultActiveThreadPercentage: must be an integer "
		  "from 0 to 100" },
		{ GPU MPS("\"defaultActiveThreadPercentage\":1.5"),
		  "parameters.sharing.mpsConfig.defaultActiveThreadPercentage: must be an integer "
		  "from 0 to 100" },
		{ GPU MPS("\"defaultPinnedDeviceMemoryLimit\":\"1k\""),
		  "parameters.sharing.mpsConfig.defaultPinnedDeviceMemoryLimit: must be at least "
		  "1Mi" },
		{ GPU MPS("\"defaultPinnedDeviceMemoryLimit\":\"much\""),
		  "parameters.sharing.mpsConfig.defaultPinnedDeviceMemoryLimit: must be a quantity "
		  "of bytes, such as 10Gi" },
		{ GPU MPS("\"defaultPerDevicePinnedMemoryLimit\":{\"0\":\"-1Gi\"}"),
		  "parameters.sharing.mpsConfig.defaultPerDevicePinnedMemoryLimit[\"0\"]: must be "
		  "at least 1Mi" },
		{ GPU ",\"sharing\":{\"strategy\":\"MPS\",\"timeSlicingConfig\":{}}}",
		  "parameters.sharing.timeSlicingConfig: cannot be together with strategy MPS; "
		  "remove one" },
		{ GPU ",\"sharing\":{\"strategy\":\"TimeSlicing\",\"mpsConfig\":{}}}",
		  "parameters.sharing.mpsConfig: cannot be together with strategy TimeSlicing; "
		  "remove one" },
		{ GPU ",\"sharing\":null,\"sharing\":null}",
		  "parameters: the field \"sharing\" is set twice" },
		{ VFIO ",\"iommu\":{\"backendPolicy\":\"x\"}}",
		  "parameters.iommu.backendPolicy: must be PreferIommuFD or LegacyOnly" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { .msg = "" };
		struct gpu_config c;

		assert_int_equal(gpu_config_read(*state, str_from(cases[i].text), &c, &err),
				 -ERR_INVALID);
		assert_string_equal(err.msg, cases[i].want);
	}
}

static void the_last_config_that_fits_wins(void **state)
{
	struct gpu_config_source v[] = {
		{ STR(GPU TIME("\"interval\":\"Short\"")), true, true },
		{ STR(GPU TIME("\"interval\":\"Long\"")), false, false },
		{ STR(MIG MPS("")), false, false },
	};
	struct gpu_config c;

	assert_int_equal(gpu_config_choose(*state, v, 3, GPU_CONFIG_GPU, &c, NULL), 0);
	assert_int_equal(c.interval, 3);
	assert_int_equal(gpu_config_choose(*state, v, 1, GPU_CONFIG_GPU, &c, NULL), 0);
	assert_int_equal(c.interval, 1);
	assert_int_equal(gpu_config_choose(*state, v, 3, GPU_CONFIG_MIG, &c, NULL), 0);
	assert_int_equal(c.sharing, GPU_SHARING_MPS);
	assert_int_equal(gpu_config_choose(*state, v, 0, GPU_CONFIG_MIG, &c, NULL), 0);
	assert_int_equal(c.kind, GPU_CONFIG_MIG);
	assert_int_equal(c.sharing, GPU_SHARING_NONE);
	assert_int_equal(c.threads, GPU_THREADS_UNSET);
}

static void a_named_request_of_the_wrong_type_is_an_error(void **state)
{
	struct gpu_config_source mig = { STR(MIG "}"), true, true };
	struct gpu_config_source vfio = { STR(VFIO "}"), true, false };
	struct error err = { .msg = "" };
	struct gpu_config c;

	assert_int_equal(gpu_config_choose(*state, &mig, 1, GPU_CONFIG_GPU, &c, &err),
			 -ERR_INVALID);
	assert_string_equal(err.msg, "device class: parameters.kind: MigDeviceConfig is for a MIG "
				     "device, but the request got a full GPU; use GpuConfig");
	assert_int_equal(gpu_config_choose(*state, &vfio, 1, GPU_CONFIG_GPU, &c, &err),
			 -ERR_INVALID);
	assert_string_equal(err.msg,
			    "parameters.kind: VfioDeviceConfig is not supported, because this "
			    "driver does not pass GPUs through to virtual machines; use GpuConfig");
}

static void a_faulty_config_that_loses_is_still_an_error(void **state)
{
	struct gpu_config_source v[] = {
		{ STR("{"), false, true },
		{ STR(GPU "}"), false, false },
	};
	struct error err = { .msg = "" };
	struct gpu_config c;

	assert_int_equal(gpu_config_choose(*state, v, 2, GPU_CONFIG_GPU, &c, &err), -ERR_INVALID);
	assert_memory_equal(err.msg, "device class: parameters: ", 26);
}

static void limits_are_by_uuid_or_index(void **state)
{
	static const char *const uuids[] = { "GPU-a", "GPU-b", "GPU-c" };
	struct gpu_config c = read_ok(
		*state,
		GPU MPS("\"defaultPinnedDeviceMemoryLimit\":\"1Gi\","
			"\"defaultPerDevicePinnedMemoryLimit\":{\"GPU-c\":\"3Gi\",\"0\":\"2Gi\"}"));
	struct error err = { .msg = "" };
	int64_t mib[3];

	assert_int_equal(gpu_config_limits(&c, uuids, 3, mib, &err), 0);
	assert_int_equal(mib[0], 2048);
	assert_int_equal(mib[1], 1024);
	assert_int_equal(mib[2], 3072);
	assert_int_equal(gpu_config_limits(&c, uuids, 2, mib, &err), -ERR_INVALID);
	assert_string_equal(err.msg, "defaultPerDevicePinnedMemoryLimit: \"GPU-c\" is neither the "
				     "UUID nor the index of a device of the claim, which has 2");
	c = read_ok(
		*state,
		GPU MPS("\"defaultPerDevicePinnedMemoryLimit\":{\"GPU-a\":\"3Gi\",\"0\":\"2Gi\"}"));
	assert_int_equal(gpu_config_limits(&c, uuids, 3, mib, &err), -ERR_INVALID);
	assert_string_equal(err.msg, "defaultPerDevicePinnedMemoryLimit: \"0\" names a device that "
				     "another entry names, too");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(missing_fields_have_defaults, setup, teardown),
		cmocka_unit_test_setup_teardown(all_fields_are_read, setup, teardown),
		cmocka_unit_test_setup_teardown(faults_name_their_field, setup, teardown),
		cmocka_unit_test_setup_teardown(the_last_config_that_fits_wins, setup, teardown),
		cmocka_unit_test_setup_teardown(a_named_request_of_the_wrong_type_is_an_error,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_faulty_config_that_loses_is_still_an_error, setup,
						teardown),
		cmocka_unit_test_setup_teardown(limits_are_by_uuid_or_index, setup, teardown),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
