/* The fake library itself: several processes, crashes, faults, and rules that the binding hides. */
#include "drivers/nvml/nvml_fixture.h"

#include <sys/wait.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "drivers/nvml/nvml_impl.h"

#ifdef __aarch64__
#define LIBRARIES "aarch64-linux-gnu"
#else
#define LIBRARIES "x86_64-linux-gnu"
#endif

/* Runs fn in a child with its own session, and returns the child's exit code. */
static int in_child(struct nvml_fixture *f, int (*fn)(struct nvml_fixture *f))
{
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (nvml_open(FAKE_NVML_LIBRARY, &f->nvml, NULL) < 0 ||
		    nvml_gpus(f->nvml, &f->arena, &f->gpus, &f->ngpus, NULL, NULL) < 0)
			_exit(99);
		_exit(fn(f));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int create_one(struct nvml_fixture *f)
{
	uint32_t gi, ci;

	if (nvml_set_mig(f->nvml, &f->gpus[0], true, NULL) < 0 ||
	    nvml_create_instance(f->nvml, &f->gpus[0], 19, (struct nvml_placement){ 2, 1 }, &gi,
				 NULL) < 0 ||
	    nvml_create_compute(f->nvml, &f->gpus[0], gi, 1, &ci, NULL) < 0)
		return 98;
	return 0;
}

static size_t instances(struct nvml_fixture *f, struct nvml_instance **all)
{
	size_t n = 99;

	if (!f->nvml)
		fixture_open_session(f);
	assert_int_equal(nvml_instances(f->nvml, &f->gpus[0], &f->arena, all, &n, NULL), 0);
	return n;
}

static void instances_outlive_their_process(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_instance *all;

	assert_int_equal(in_child(f, create_one), 0);
	assert_int_equal(instances(f, &all), 1);
	assert_int_equal(all[0].ncompute, 1);
}

static void a_crash_leaves_the_effect_of_the_call(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_instance *all;

	fake_do(f, "crash nvmlDeviceCreateGpuInstanceWithPlacement");
	assert_int_equal(in_child(f, create_one), 1);
	fake_do(f, "settled");
	assert_int_equal(instances(f, &all), 1);
	assert_int_equal(all[0].place.start, 2);
	assert_int_equal(all[0].ncompute, 0);
}

static void a_crash_before_the_call_leaves_nothing(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_instance *all;

	fake_do(f, "crash-before nvmlGpuInstanceCreateComputeInstance");
	assert_int_equal(in_child(f, create_one), 1);
	assert_int_equal(instances(f, &all), 1);
	assert_int_equal(all[0].ncompute, 0);
}

enum { RACERS = 4 };

static int take_all_places(struct nvml_fixture *f)
{
	int made = 0;

	for (uint32_t at = 0; at < 7; at++) {
		uint32_t gi;

		made += nvml_create_instance(f->nvml, &f->gpus[0], 19,
					     (struct nvml_placement){ at, 1 }, &gi, NULL) == 0;
	}
	return made;
}

static void one_process_gets_each_place(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_instance *all;
	pid_t pids[RACERS];
	int made = 0;

	fixture_open_session(f);
	assert_int_equal(nvml_set_mig(f->nvml, &f->gpus[0], true, NULL), 0);
	for (size_t i = 0; i < RACERS; i++) {
		pids[i] = fork();
		assert_true(pids[i] >= 0);
		if (pids[i] == 0)
			_exit(take_all_places(f));
	}
	for (size_t i = 0; i < RACERS; i++) {
		int status = 0;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		made += WEXITSTATUS(status);
	}
	assert_int_equal(made, 7);
	assert_int_equal(instances(f, &all), 7);
}

static void a_slow_call_takes_its_time(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_condition c;
	int64_t before;

	fixture_open_session(f);
	fake_do(f, "slow nvmlDeviceGetRemappedRows 20 1");
	before = clock_monotonic(clock_system());
	assert_int_equal(nvml_poll(f->nvml, &f->gpus[0], &c, NULL), 0);
	assert_true(clock_monotonic(clock_system()) - before >= 20 * CLOCK_MS);
	fake_do(f, "settled");
}

static void all_calls_can_fail(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_condition c;
	struct nvml_sample s;

	fixture_open_session(f);
	fake_do(f, "fail all 15");
	assert_int_equal(nvml_poll(f->nvml, &f->gpus[0], &c, NULL), -ERR_GONE);
	assert_int_equal(nvml_measure(f->nvml, &f->gpus[1], &s, NULL), -ERR_GONE);
	fake_do(f, "heal all");
	assert_int_equal(nvml_poll(f->nvml, &f->gpus[0], &c, NULL), 0);
}

static void calls_without_a_session_are_refused(void **state)
{
	struct nvml_fixture *f = *state;
	int (*count)(unsigned int *count);
	unsigned int n;

	*(void **)&count = dlsym(f->library, "nvmlDeviceGetCount_v2");
	assert_int_equal(count(&n), NVML_CODE_UNINITIALIZED);
}

static void a_compute_instance_names_its_parent(void **state)
{
	struct nvml_fixture *f = *state;
	const struct nvml_calls *call;
	struct nvml_abi_ci info;
	struct str uuid;
	uint32_t gi, ci;
	void *instance, *compute, *device;

	fixture_open_session(f);
	call = &f->nvml->call;
	assert_int_equal(nvml_set_mig(f->nvml, &f->gpus[1], true, NULL), 0);
	assert_int_equal(nvml_create_instance(f->nvml, &f->gpus[1], 14,
					      (struct nvml_placement){ 4, 2 }, &gi, NULL),
			 0);
	assert_int_equal(nvml_create_compute(f->nvml, &f->gpus[1], gi, 2, &ci, NULL), 0);
	assert_int_equal(call->nvmlDeviceGetGpuInstanceById(f->gpus[1].handle, gi, &instance), 0);
	assert_int_equal(call->nvmlGpuInstanceGetComputeInstanceById(instance, ci, &compute), 0);
	assert_int_equal(call->nvmlComputeInstanceGetInfo_v2(compute, &info), 0);
	assert_ptr_equal(info.device, f->gpus[1].handle);
	/* The MIG device has its own handle, which takes no events. */
	assert_int_equal(nvml_mig_uuid(f->nvml, &f->gpus[1], gi, ci, &f->arena, &uuid, NULL), 0);
	assert_int_equal(call->nvmlDeviceGetHandleByUUID(uuid.p, &device), 0);
	assert_ptr_not_equal(device, info.device);
	assert_int_equal(call->nvmlDeviceRegisterEvents(device, NVML_EVENT_XID, NULL),
			 NVML_CODE_INVALID_ARGUMENT);
	assert_int_equal(call->nvmlComputeInstanceDestroy(compute), 0);
	assert_int_equal(call->nvmlComputeInstanceDestroy(compute), NVML_CODE_INVALID_ARGUMENT);
	assert_int_equal(call->nvmlDeviceGetHandleByUUID(uuid.p, &device), NVML_CODE_NOT_FOUND);
}

static void capability_minors_are_those_of_the_kernel_module(void **state)
{
	struct nvml_fixture *f = *state;
	unsigned int minor = 0;
	char path[512];
	uint32_t gi, ci;
	FILE *file;

	fixture_open_session(f);
	assert_int_equal(nvml_set_mig(f->nvml, &f->gpus[1], true, NULL), 0);
	assert_int_equal(nvml_create_instance(f->nvml, &f->gpus[1], 9,
					      (struct nvml_placement){ 0, 4 }, &gi, NULL),
			 0);
	assert_int_equal(nvml_create_compute(f->nvml, &f->gpus[1], gi, 3, &ci, NULL), 0);
	(void)snprintf(path, sizeof(path),
		       "%s/root/proc/driver/nvidia/capabilities/gpu1/mig/gi%u/ci%u/access",
		       f->folder, gi, ci);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "DeviceFileMinor: %u", &minor), 1);
	(void)fclose(file);
	assert_int_equal(minor, 3 + 135 + 9 * gi + 1 + ci);
}

static void expect_file(struct nvml_fixture *f, const char *name, const char *link)
{
	char path[512], target[512] = "";

	(void)snprintf(path, sizeof(path), "%s/root/%s", f->folder, name);
	if (access(path, R_OK) < 0)
		fail_msg("%s is missing", path);
	if (link && readlink(path, target, sizeof(target) - 1) < 0)
		fail_msg("%s is no link", path);
	assert_string_equal(target, link ? link : "");
}

static void a_root_has_the_files_of_a_machine(void **state)
{
	struct nvml_fixture *f = *state;

	fixture_open_session(f);
	expect_file(f, "proc/devices", NULL);
	expect_file(f, "proc/driver/nvidia/version", NULL);
	expect_file(f, "proc/driver/nvidia-caps/mig-minors", NULL);
	expect_file(f, "sys/bus/pci/devices/0000:00:07.0",
		    "../../../devices/pci0000:00/0000:00:07.0");
	expect_file(f, "sys/bus/pci/devices/0000:00:07.0/numa_node", NULL);
	expect_file(f, "usr/lib/" LIBRARIES "/libcuda.so.580.159.04", NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin, fixture_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(instances_outlive_their_process),
		TEST(a_crash_leaves_the_effect_of_the_call),
		TEST(a_crash_before_the_call_leaves_nothing),
		TEST(one_process_gets_each_place),
		TEST(a_slow_call_takes_its_time),
		TEST(all_calls_can_fail),
		TEST(calls_without_a_session_are_refused),
		TEST(a_compute_instance_names_its_parent),
		TEST(a_root_has_the_files_of_a_machine),
		TEST(capability_minors_are_those_of_the_kernel_module),
	};

	return cmocka_run_group_tests_name("drivers/nvml_fake", tests, NULL, NULL);
}
