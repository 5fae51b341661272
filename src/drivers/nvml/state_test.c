/* Processes, condition, measurements and events of GPUs on the fake library. */
#include "drivers/nvml/nvml_fixture.h"

static void processes_have_their_instances(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_process *p;
	size_t n;

	assert_int_equal(nvml_processes(f->nvml, &f->gpus[0], &f->arena, &p, &n, NULL), 0);
	assert_int_equal(n, 0);
	fake_do(f, "busy 0 3 0 41");
	fake_do(f, "busy 0 42");
	fake_do(f, "busy 1 43");
	assert_int_equal(nvml_processes(f->nvml, &f->gpus[0], &f->arena, &p, &n, NULL), 0);
	assert_int_equal(n, 2);
	assert_int_equal(p[0].pid, 41);
	assert_int_equal(p[0].gi, 3);
	assert_int_equal(p[0].ci, 0);
	assert_int_equal(p[0].memory, 256 << 20);
	assert_int_equal(p[1].pid, 42);
	assert_int_equal(p[1].gi, NVML_WHOLE_GPU);
	assert_int_equal(p[1].ci, NVML_WHOLE_GPU);
}

static void a_list_that_does_not_fit_is_read_again(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_process *p;
	size_t n;

	fake_do(f, "busy 0 41");
	fake_do(f, "fail nvmlDeviceGetComputeRunningProcesses_v3 7 2");
	assert_int_equal(nvml_processes(f->nvml, &f->gpus[0], &f->arena, &p, &n, NULL), 0);
	assert_int_equal(n, 1);
	fake_do(f, "fail nvmlDeviceGetComputeRunningProcesses_v3 7");
	assert_int_equal(nvml_processes(f->nvml, &f->gpus[0], &f->arena, &p, &n, NULL), -ERR_IO);
}

static struct nvml_condition poll(struct nvml_fixture *f)
{
	struct nvml_condition c = { 0 };
	struct error err = { 0 };

	if (nvml_poll(f->nvml, &f->gpus[0], &c, &err) < 0)
		fail_msg("%s", err.msg);
	return c;
}

static void a_poll_finds_the_condition(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_condition c = poll(f);

	assert_int_equal(c.known, NVML_KNOWS_RECOVERY | NVML_KNOWS_REMAPPED | NVML_KNOWS_CLOCKS);
	assert_int_equal(c.recovery, 0);
	assert_false(c.remap_pending);
	assert_false(c.remap_failed);
	assert_int_equal(c.clock_reasons, 0);
	fake_do(f, "recovery 0 4");
	fake_do(f, "remap 0 1 0");
	fake_do(f, "clocks 0 0x48");
	c = poll(f);
	assert_int_equal(c.recovery, 4);
	assert_true(c.remap_pending);
	assert_false(c.remap_failed);
	assert_int_equal(c.clock_reasons & NVML_SLOW_HARDWARE, 0x8);
	assert_int_equal(c.clock_reasons & NVML_SLOW_THERMAL, 0x40);
	fake_do(f, "remap 0 0 1");
	assert_true(poll(f).remap_failed);
	fake_do(f, "heal");
	assert_int_equal(poll(f).recovery, 0);
}

static void remapped_rows_are_unknown_while_instances_exist(void **state)
{
	struct nvml_fixture *f = *state;
	uint32_t gi;

	fake_do(f, "remap 0 1 1");
	assert_int_equal(nvml_set_mig(f->nvml, &f->gpus[0], true, NULL), 0);
	assert_true(poll(f).known & NVML_KNOWS_REMAPPED);
	assert_int_equal(nvml_create_instance(f->nvml, &f->gpus[0], 19,
					      (struct nvml_placement){ 0, 1 }, &gi, NULL),
			 0);
	assert_int_equal(poll(f).known, NVML_KNOWS_RECOVERY | NVML_KNOWS_CLOCKS);
}

static void an_old_driver_knows_no_recovery_action(void **state)
{
	struct nvml_fixture *f = *state;

	fake_do(f, "fail nvmlDeviceGetFieldValues 3");
	assert_int_equal(poll(f).known, NVML_KNOWS_REMAPPED | NVML_KNOWS_CLOCKS);
}

static void a_poll_of_a_lost_gpu_says_so(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_condition c;
	struct nvml_sample s;

	fake_do(f, "lost 0");
	assert_int_equal(nvml_poll(f->nvml, &f->gpus[0], &c, NULL), -ERR_GONE);
	assert_int_equal(nvml_measure(f->nvml, &f->gpus[0], &s, NULL), -ERR_GONE);
	assert_int_equal(nvml_poll(f->nvml, &f->gpus[1], &c, NULL), 0);
	fake_do(f, "lost 1 16");
	assert_int_equal(nvml_poll(f->nvml, &f->gpus[1], &c, NULL), -ERR_GONE);
}

static void a_failing_poll_is_an_error(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_condition c;

	fake_do(f, "fail nvmlDeviceGetRemappedRows 999 1");
	assert_int_equal(nvml_poll(f->nvml, &f->gpus[0], &c, NULL), -ERR_IO);
}

static void a_sample_has_all_values(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_sample s;

	fake_do(f, "busy 0 42");
	fake_do(f, "clocks 0 0x80");
	assert_int_equal(nvml_measure(f->nvml, &f->gpus[0], &s, NULL), 0);
	assert_int_equal(s.known, (NVML_SAMPLE_CLOCKS << 1) - 1);
	assert_int_equal(s.utilization, 12);
	assert_int_equal(s.memory_utilization, 3);
	assert_int_equal(s.memory_total, UINT64_C(143771) << 20);
	assert_int_equal(s.memory_used, UINT64_C(768) << 20);
	assert_int_equal(s.temperature, 42);
	assert_int_equal(s.power, 76543);
	assert_int_equal(s.ecc_corrected, 7);
	assert_int_equal(s.ecc_uncorrected, 0);
	assert_int_equal(s.clock_reasons, NVML_SLOW_POWER_BRAKE);
}

static void an_old_library_has_another_call_for_the_temperature(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_sample s;

	fake_do(f, "fail nvmlDeviceGetTemperatureV 13");
	assert_int_equal(nvml_measure(f->nvml, &f->gpus[0], &s, NULL), 0);
	assert_true(s.known & NVML_SAMPLE_TEMPERATURE);
	assert_int_equal(s.temperature, 41);
}

static void a_sample_leaves_out_what_cannot_be_read(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_sample s;

	assert_int_equal(nvml_set_mig(f->nvml, &f->gpus[0], true, NULL), 0);
	fake_do(f, "fail nvmlDeviceGetPowerUsage 999");
	assert_int_equal(nvml_measure(f->nvml, &f->gpus[0], &s, NULL), 0);
	assert_false(s.known & NVML_SAMPLE_UTILIZATION);
	assert_false(s.known & NVML_SAMPLE_POWER);
	assert_true(s.known & NVML_SAMPLE_MEMORY);
	assert_true(s.known & NVML_SAMPLE_TEMPERATURE);
}

/* --- events ---------------------------------------------------------------------------------- */

static struct nvml_events *open_events(struct nvml_fixture *f)
{
	struct nvml_events *e = NULL;
	struct error err = { 0 };

	if (nvml_events_open(f->nvml, f->gpus, f->ngpus, &e, &err) < 0)
		fail_msg("%s", err.msg);
	return e;
}

static void events_come_in_order_with_their_instances(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_events *e;
	struct nvml_event got;

	fake_do(f, "xid 0 13");
	e = open_events(f);
	assert_int_equal(nvml_events_wait(e, 0, &got, NULL), 0);
	fake_do(f, "xid 1 31 3 0");
	fake_do(f, "xid 0 79");
	fake_do(f, "recovery 0 2");
	assert_int_equal(nvml_events_wait(e, 0, &got, NULL), 1);
	assert_ptr_equal(got.gpu, f->gpus[1].handle);
	assert_int_equal(got.type, NVML_EVENT_XID);
	assert_int_equal(got.data, 31);
	assert_int_equal(got.gi, 3);
	assert_int_equal(got.ci, 0);
	assert_int_equal(nvml_events_wait(e, 0, &got, NULL), 1);
	assert_ptr_equal(got.gpu, f->gpus[0].handle);
	assert_int_equal(got.data, 79);
	assert_int_equal(got.gi, NVML_WHOLE_GPU);
	assert_int_equal(nvml_events_wait(e, 0, &got, NULL), 1);
	assert_int_equal(got.type, NVML_EVENT_RECOVERY);
	assert_int_equal(got.gi, NVML_WHOLE_GPU);
	assert_int_equal(nvml_events_wait(e, 0, &got, NULL), 0);
	nvml_events_close(e);
}

static void clock_events_are_left_out(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_events *e = open_events(f);
	struct nvml_event got;

	fake_do(f, "event 0 0x10");
	fake_do(f, "event 0 0x4");
	fake_do(f, "event 0 0x2");
	assert_int_equal(nvml_events_wait(e, 0, &got, NULL), 1);
	assert_int_equal(got.type, NVML_EVENT_ECC_DOUBLE);
	assert_int_equal(nvml_events_wait(e, 0, &got, NULL), 0);
	nvml_events_close(e);
}

static void a_change_of_mig_mode_is_an_event(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_events *e = open_events(f);
	struct nvml_event got;

	assert_int_equal(nvml_set_mig(f->nvml, &f->gpus[1], true, NULL), 0);
	assert_int_equal(nvml_events_wait(e, 0, &got, NULL), 1);
	assert_int_equal(got.type, NVML_EVENT_MIG_CHANGED);
	assert_ptr_equal(got.gpu, f->gpus[1].handle);
	nvml_events_close(e);
}

static void a_lost_gpu_ends_the_wait(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_events *e = open_events(f);
	struct nvml_event got;

	fake_do(f, "xid 0 79");
	fake_do(f, "lost 0");
	assert_int_equal(nvml_events_wait(e, 1000000, &got, NULL), 1);
	assert_int_equal(got.data, 79);
	assert_int_equal(nvml_events_wait(e, 1000000, &got, NULL), -ERR_GONE);
	nvml_events_close(e);
}

static void one_gpu_that_cannot_be_registered_does_not_hide_others(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_events *e;
	struct nvml_event got;

	fake_do(f, "fail nvmlDeviceRegisterEvents 999 1");
	e = open_events(f);
	fake_do(f, "xid 0 31");
	fake_do(f, "xid 1 43");
	assert_int_equal(nvml_events_wait(e, 0, &got, NULL), 1);
	assert_int_equal(got.data, 43);
	nvml_events_close(e);
	fake_do(f, "fail nvmlDeviceRegisterEvents 3");
	assert_int_equal(nvml_events_open(f->nvml, f->gpus, f->ngpus, &e, NULL),
			 -ERR_UNIMPLEMENTED);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin_session, fixture_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(processes_have_their_instances),
		TEST(a_list_that_does_not_fit_is_read_again),
		TEST(a_poll_finds_the_condition),
		TEST(remapped_rows_are_unknown_while_instances_exist),
		TEST(an_old_driver_knows_no_recovery_action),
		TEST(a_poll_of_a_lost_gpu_says_so),
		TEST(a_failing_poll_is_an_error),
		TEST(a_sample_has_all_values),
		TEST(an_old_library_has_another_call_for_the_temperature),
		TEST(a_sample_leaves_out_what_cannot_be_read),
		TEST(events_come_in_order_with_their_instances),
		TEST(clock_events_are_left_out),
		TEST(a_change_of_mig_mode_is_an_event),
		TEST(a_lost_gpu_ends_the_wait),
		TEST(one_gpu_that_cannot_be_registered_does_not_hide_others),
	};

	return cmocka_run_group_tests_name("drivers/nvml_state", tests, NULL, NULL);
}
