#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "drivers/gpu_share/mps_commands.h"

static const struct mps_device devices[] = { { "GPU-a", 2048 }, { "GPU-b", 0 }, { "GPU-c", 1 } };

static void setup_sets_what_is_limited(void **state)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1024);

	(void)state;
	mps_print_setup(devices, 3, 50, true, &text);
	assert_string_equal(text.p, "set_default_active_thread_percentage 50\n"
				    "set_default_device_pinned_mem_limit GPU-a 2048M\n"
				    "set_default_device_pinned_mem_limit GPU-c 1M\n"
				    "start_server -uid 0\n"
				    "get_default_active_thread_percentage\n");
	buf_clear(&text);
	mps_print_setup(devices, 0, MPS_THREADS_UNSET, false, &text);
	assert_string_equal(text.p, "get_default_active_thread_percentage\n");
	buf_clear(&text);
	mps_print_setup(devices, 0, 0, false, &text);
	assert_string_equal(text.p, "get_default_active_thread_percentage\n");
}

static void a_rejected_command_is_found_in_the_output(void **state)
{
	static const struct {
		const char *output;
		int32_t threads;
		const char *want; /* NULL: accepted */
	} cases[] = {
		{ "25.0\n25.0\n", 25, NULL },
		{ "100.0\n", MPS_THREADS_UNSET, NULL },
		{ "100.0\n", 0, NULL },
		{ "100.0\n100.0\n", 25,
		  "MPS did not accept 25 percent of the threads; 100 percent are in force" },
		{ "Unknown command \"start_server\"\n100.0\n", 0,
		  "MPS rejects a command: \"Unknown command \\\"start_server\\\"\\n100.0\"" },
		{ "", 0, "MPS gave an unexpected answer: \"\"" },
		{ "what\n", 0, "MPS gave an unexpected answer: \"what\"" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct error err = { .msg = "" };
		int r = mps_check_setup(str_from(cases[i].output), cases[i].threads, &err);

		assert_int_equal(r, cases[i].want ? -ERR_IO : 0);
		assert_string_equal(err.msg, cases[i].want ? cases[i].want : "");
	}
}

static void consumed_memory_is_whole_mebibytes(void **state)
{
	struct error err = { .msg = "" };
	int64_t mib;

	(void)state;
	assert_int_equal(mps_memory_of(STR("2Gi"), &mib, &err), 0);
	assert_int_equal(mib, 2048);
	assert_int_equal(mps_memory_of(STR("3000000"), &mib, &err), 0);
	assert_int_equal(mib, 2);
	assert_int_equal(mps_memory_of(STR("1k"), &mib, &err), -ERR_INVALID);
	assert_string_equal(err.msg, "memory: must be at least 1Mi");
	assert_int_equal(mps_memory_of(STR("-1Gi"), &mib, &err), -ERR_INVALID);
	assert_int_equal(mps_memory_of(STR("x"), &mib, &err), -ERR_INVALID);
}

static void containers_get_the_folder_and_their_limits(void **state)
{
	CLEANUP(arena_release) struct arena a;
	const char *const *env;

	(void)state;
	arena_init(&a, MIB);
	env = mps_container_env(&a, devices, 3, 50);
	assert_string_equal(env[0], "CUDA_MPS_PIPE_DIRECTORY=/tmp/nvidia-mps");
	assert_string_equal(env[1], "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=2048M,2=1M");
	assert_string_equal(env[2], "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50");
	assert_null(env[3]);
	env = mps_container_env(&a, &devices[1], 1, MPS_THREADS_UNSET);
	assert_null(env[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(setup_sets_what_is_limited),
		cmocka_unit_test(a_rejected_command_is_found_in_the_output),
		cmocka_unit_test(consumed_memory_is_whole_mebibytes),
		cmocka_unit_test(containers_get_the_folder_and_their_limits),
	};

	return cmocka_run_group_tests_name("mps_commands", tests, NULL, NULL);
}
