/*
 * Claims on two H200s: devices are made and destroyed, failures leave nothing, instances of others
 * stay, and the messages say what is in the way.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/system/file.h"
#include "base/system/folder.h"
#include "drivers/gpu_prepare/prepare_fixture.h"

#define SMALL "gpu-0-mig-1g18gb-19-6"
#define LARGE "gpu-0-mig-4g71gb-5-0"

static int setup(void **state)
{
	*state = world_new();
	return 0;
}

static int teardown(void **state)
{
	world_free(*state);
	return 0;
}

static int prepare_one(struct world *w, const char *uid, const char *device)
{
	struct gpu_want want = { .device = world_device(w, device) };
	struct gpu_prepared ret;

	return world_prepare(w, uid, &want, 1, &ret);
}

static void must(struct world *w, int r)
{
	if (r < 0)
		fail_msg("%s", w->err.msg);
}

static void must_say(struct world *w, int r, int code, const char *text)
{
	assert_int_equal(r, -code);
	if (!strstr(w->err.msg, text))
		fail_msg("\"%s\" does not say \"%s\"", w->err.msg, text);
}

static size_t instances(const struct world *w, size_t gpu)
{
	size_t n = 0;

	for (size_t i = 0; i < FAKE_INSTANCES; i++)
		n += w->fake->gpus[gpu].v[i].there;
	return n;
}

static size_t holders(const struct world *w)
{
	struct gpu_holder h;
	size_t n = 0;

	while (gpu_prepare_holder(w->prepare, n, &h))
		n++;
	return n;
}

static void must_be_empty(struct world *w)
{
	for (size_t i = 0; i < FAKE_GPUS; i++) {
		assert_int_equal(instances(w, i), 0);
		assert_false(w->fake->gpus[i].on);
	}
	assert_int_equal(holders(w), 0);
}

/* --- full GPUs ------------------------------------------------------------------------------- */

static void a_full_gpu_is_only_booked(void **state)
{
	struct world *w = *state;
	struct gpu_want want = { .device = world_device(w, "gpu-1") };
	struct gpu_prepared ret;

	must(w, world_prepare(w, "c1", &want, 1, &ret));
	assert_true(str_eqz(ret.uuid, "GPU-b"));
	assert_int_equal(ret.minor, 1);
	assert_false(ret.mig);
	assert_int_equal(w->fake->calls, 0);
	must_say(w, prepare_one(w, "c2", "gpu-1"), ERR_CONFLICT, "claim default/c1 (c1) has gpu-1");
	must_say(w, prepare_one(w, "c2", "gpu-1-mig-1g18gb-19-6"), ERR_CONFLICT, "has gpu-1");
	world_restart(w);
	must_say(w, prepare_one(w, "c2", "gpu-1"), ERR_CONFLICT, "claim default/c1");
	must(w, world_undo(w, "c1"));
	must(w, prepare_one(w, "c2", "gpu-1"));
}

static void shares_of_a_full_gpu_are_booked_together(void **state)
{
	struct world *w = *state;
	struct gpu_want want[2] = { { .device = world_device(w, "gpu-0"), .shared = true },
				    { .device = world_device(w, "gpu-0"), .shared = true } };
	struct gpu_prepared ret[2];

	must(w, world_prepare(w, "c1", want, 2, ret));
	must(w, world_prepare(w, "c2", want, 1, ret));
	assert_int_equal(holders(w), 2);
	must_say(w, prepare_one(w, "c3", "gpu-0"), ERR_CONFLICT, "has gpu-0");
	must_say(w, prepare_one(w, "c3", SMALL), ERR_CONFLICT, "has gpu-0");
	must(w, world_undo(w, "c1"));
	must(w, world_undo(w, "c2"));
	must_be_empty(w);
}

static void an_exclusive_gpu_gets_its_compute_mode_and_loses_it_at_the_end(void **state)
{
	struct world *w = *state;
	struct gpu_want want = { .device = world_device(w, "gpu-1"), .exclusive = true };
	struct fake_gpu *g = &w->fake->gpus[1];
	struct gpu_prepared ret;

	must(w, world_prepare(w, "c1", &want, 1, &ret));
	assert_true(ret.exclusive);
	assert_int_equal(g->compute, NVML_COMPUTE_EXCLUSIVE);
	/* The kernel module may forget it. */
	g->compute = NVML_COMPUTE_DEFAULT;
	world_restart(w);
	assert_int_equal(g->compute, NVML_COMPUTE_EXCLUSIVE);
	must(w, world_prepare(w, "c1", &want, 1, &ret));
	assert_true(ret.exclusive);
	must(w, world_undo(w, "c1"));
	assert_int_equal(g->compute, NVML_COMPUTE_DEFAULT);
	assert_int_equal(w->fake->gpus[0].compute, NVML_COMPUTE_DEFAULT);
}

static void a_compute_mode_that_somebody_else_chose_stays(void **state)
{
	struct world *w = *state;
	struct gpu_want want = { .device = world_device(w, "gpu-1"), .exclusive = true };
	struct fake_gpu *g = &w->fake->gpus[1];
	struct gpu_prepared ret;

	g->compute = NVML_COMPUTE_EXCLUSIVE;
	must(w, world_prepare(w, "c1", &want, 1, &ret));
	assert_true(ret.exclusive);
	must(w, world_undo(w, "c1"));
	assert_int_equal(g->compute, NVML_COMPUTE_EXCLUSIVE);
	g->compute = NVML_COMPUTE_PROHIBITED;
	must(w, world_prepare(w, "c1", &want, 1, &ret));
	assert_false(ret.exclusive);
	must(w, world_undo(w, "c1"));
	assert_int_equal(g->compute, NVML_COMPUTE_PROHIBITED);
}

static void a_compute_mode_that_could_not_be_set_back_is_set_later(void **state)
{
	struct world *w = *state;
	struct gpu_want want = { .device = world_device(w, "gpu-1"), .exclusive = true };
	struct fake_gpu *g = &w->fake->gpus[1];
	struct gpu_prepared ret;

	must(w, world_prepare(w, "c1", &want, 1, &ret));
	w->fake->fail_at = w->fake->calls + 1;
	must(w, world_undo(w, "c1"));
	assert_int_equal(g->compute, NVML_COMPUTE_EXCLUSIVE);
	want.exclusive = false;
	must(w, world_prepare(w, "c2", &want, 1, &ret));
	assert_int_equal(g->compute, NVML_COMPUTE_DEFAULT);
	assert_false(ret.exclusive);
}

/* --- MIG ------------------------------------------------------------------------------------- */

static void a_partition_is_made_and_destroyed(void **state)
{
	struct world *w = *state;
	struct gpu_want want = { .device = world_device(w, SMALL) };
	struct gpu_prepared ret;

	must(w, world_prepare(w, "c1", &want, 1, &ret));
	assert_true(ret.mig);
	assert_int_equal(ret.gi, 6);
	assert_true(str_eqz(ret.uuid, "MIG-GPU-a-6-0"));
	assert_true(w->fake->gpus[0].on);
	assert_int_equal(w->fake->gpus[0].v[6].ncompute, 1);
	assert_int_equal(w->fake->calls, 3);

	ret = (struct gpu_prepared){ 0 };
	must(w, world_prepare(w, "c1", &want, 1, &ret));
	assert_true(str_eqz(ret.uuid, "MIG-GPU-a-6-0"));
	assert_int_equal(w->fake->calls, 3);
	world_restart(w);
	must(w, world_prepare(w, "c1", &want, 1, &ret));
	assert_true(str_eqz(ret.uuid, "MIG-GPU-a-6-0"));
	assert_int_equal(w->fake->calls, 3);

	must(w, world_undo(w, "c1"));
	must_be_empty(w);
	must(w, world_undo(w, "c1"));
	must(w, world_undo(w, "never-seen"));
}

static void partitions_of_several_claims_and_gpus_coexist(void **state)
{
	struct world *w = *state;
	struct gpu_want want[3] = { { .device = world_device(w, SMALL) },
				    { .device = world_device(w, LARGE) },
				    { .device = world_device(w, "gpu-1-mig-7g141gb-0-0") } };
	struct gpu_prepared ret[3];

	must(w, world_prepare(w, "c1", want, 3, ret));
	assert_int_equal(ret[2].minor, 1);
	must(w, prepare_one(w, "c2", "gpu-0-mig-2g35gb-14-4"));
	assert_int_equal(instances(w, 0), 3);
	must_say(w, prepare_one(w, "c3", "gpu-0-mig-1g18gb-19-5"), ERR_CONFLICT,
		 "claim default/c2 (c2) has gpu-0-mig-2g35gb-14-4");
	must_say(w, prepare_one(w, "c3", "gpu-0"), ERR_CONFLICT, "claim default/c1");
	must(w, world_undo(w, "c1"));
	assert_int_equal(instances(w, 0), 1);
	assert_true(w->fake->gpus[0].on);
	assert_false(w->fake->gpus[1].on);
	must(w, world_undo(w, "c2"));
	must_be_empty(w);
}

static void devices_of_one_claim_that_overlap_are_refused(void **state)
{
	struct world *w = *state;
	struct gpu_want want[2] = { { .device = world_device(w, SMALL) },
				    { .device = world_device(w, "gpu-0") } };
	struct gpu_prepared ret[2];

	must_say(w, world_prepare(w, "c1", want, 2, ret), ERR_CONFLICT, "cannot exist together");
	assert_int_equal(w->fake->calls, 0);
	must_be_empty(w);
}

static void an_instance_that_vanished_is_made_again(void **state)
{
	struct world *w = *state;

	must(w, prepare_one(w, "c1", SMALL));
	w->fake->gpus[0].v[6].ncompute = 0;
	must(w, prepare_one(w, "c1", SMALL));
	assert_int_equal(w->fake->gpus[0].v[6].ncompute, 1);
	w->fake->gpus[0].v[6].there = false;
	w->fake->gpus[0].on = false;
	must(w, prepare_one(w, "c1", SMALL));
	assert_true(w->fake->gpus[0].v[6].there);
	must(w, world_undo(w, "c1"));
	must_be_empty(w);
}

static void after_a_reboot_nothing_is_booked(void **state)
{
	struct world *w = *state;

	must(w, prepare_one(w, "c1", SMALL));
	memset(w->fake, 0, sizeof(*w->fake));
	w->options.boot_id = "boot-2";
	world_restart(w);
	assert_int_equal(holders(w), 0);
	must(w, prepare_one(w, "c2", "gpu-0"));
	must(w, world_undo(w, "c2"));
	must(w, prepare_one(w, "c1", SMALL));
	must(w, world_undo(w, "c1"));
	must_be_empty(w);
}

/* The mode of an A100 survives a reboot. */
static void mig_that_we_switched_on_goes_off_after_a_reboot(void **state)
{
	struct world *w = *state;

	must(w, prepare_one(w, "c1", SMALL));
	w->fake->gpus[0].v[6].there = false;
	w->options.boot_id = "boot-2";
	world_restart(w);
	must_be_empty(w);
}

static void admin_access_uses_what_is_there(void **state)
{
	struct world *w = *state;
	struct gpu_want want[2] = { { .device = world_device(w, SMALL), .admin = true },
				    { .device = world_device(w, "gpu-0"), .admin = true } };
	struct gpu_prepared ret[2];

	must_say(w, world_prepare(w, "c2", want, 1, ret), ERR_NOT_FOUND, "adminAccess");
	must(w, prepare_one(w, "c1", SMALL));
	must(w, world_prepare(w, "c2", want, 2, ret));
	assert_true(str_eqz(ret[0].uuid, "MIG-GPU-a-6-0"));
	assert_true(str_eqz(ret[1].uuid, "GPU-a"));
	assert_int_equal(holders(w), 1);
	must(w, world_undo(w, "c2"));
	assert_int_equal(instances(w, 0), 1);
}

/* --- failures -------------------------------------------------------------------------------- */

/* Each call fails in turn, before and after its effect. */
static void a_prepare_that_fails_leaves_nothing(void **state)
{
	struct world *w = *state;
	struct gpu_want want[2] = { { .device = world_device(w, SMALL) },
				    { .device = world_device(w, "gpu-1-mig-3g71gb-9-4") } };
	struct gpu_prepared ret[2];

	for (uint32_t at = 1; at <= 6; at++)
		for (int late = 0; late < 2; late++) {
			w->fake->calls = 0;
			w->fake->fail_at = at;
			w->fake->fail_late = late;
			must_say(w, world_prepare(w, "c1", want, 2, ret), ERR_IO, "Unknown Error");
			must_be_empty(w);
			world_restart(w);
			must_be_empty(w);
		}
	w->fake->fail_at = 0;
	must(w, world_prepare(w, "c1", want, 2, ret));
}

static void a_rollback_that_fails_is_finished_later(void **state)
{
	struct world *w = *state;

	must(w, prepare_one(w, "c0", LARGE));
	/* The compute instance fails, and so does destroying the GPU instance. */
	w->fake->calls = 0;
	w->fake->fail_at = 2;
	w->fake->fail_late = true;
	w->fake->gpus[0].v[6].pid = 0;
	must_say(w, prepare_one(w, "c1", SMALL), ERR_IO, "Unknown Error");
	assert_int_equal(instances(w, 0), 1);
	w->fake->fail_at = 0;
	must(w, prepare_one(w, "c1", SMALL));
	must(w, world_undo(w, "c1"));
	must(w, world_undo(w, "c0"));
	must_be_empty(w);
}

static int fail_save(void *arg, const char *step, struct error *err)
{
	int *left = arg;

	if (strcmp(step, "save") != 0 || --*left)
		return 0;
	return error_set(err, ERR_IO, "no space left");
}

static void a_book_that_cannot_be_saved_stops_the_prepare(void **state)
{
	struct world *w = *state;
	int left;

	w->options.on_step = fail_save;
	w->options.arg = &left;
	for (int at = 1; at <= 2; at++) {
		left = 0;
		world_restart(w);
		left = at;
		must_say(w, prepare_one(w, "c1", SMALL), ERR_IO, "no space left");
		must_be_empty(w);
	}
	left = 0;
	must(w, prepare_one(w, "c1", SMALL));
	left = 1;
	must_say(w, world_undo(w, "c1"), ERR_IO, "no space left");
	/* The kubelet tries again, and then the file is right. */
	must(w, world_undo(w, "c1"));
	left = 0;
	world_restart(w);
	must_be_empty(w);
}

static void a_busy_instance_names_the_process(void **state)
{
	struct world *w = *state;
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/4711", w->proc);
	must(w, folder_make(path, 0755, &w->err));
	(void)snprintf(path, sizeof(path), "%s/4711/comm", w->proc);
	must(w, file_write_atomic(path, STR("python3\n"), 0644, &w->err));
	must(w, prepare_one(w, "c1", SMALL));
	must(w, prepare_one(w, "c2", LARGE));
	w->fake->gpus[0].v[6].pid = 4711;
	must_say(w, world_undo(w, "c1"), ERR_CONFLICT, SMALL);
	must_say(w, world_undo(w, "c1"), ERR_CONFLICT, "in use by process 4711 (python3); end it");
	assert_int_equal(holders(w), 2);
	w->fake->gpus[0].v[6].pid = 0;
	must(w, world_undo(w, "c1"));
	must(w, world_undo(w, "c2"));
	w->fake->gpus[0].pid = 4712;
	must_say(w, prepare_one(w, "c1", SMALL), ERR_CONFLICT, "in use by process 4712; end it");
	must_be_empty(w);
}

static void a_claim_of_a_lost_gpu_can_go(void **state)
{
	struct world *w = *state;

	must(w, prepare_one(w, "c1", SMALL));
	w->fake->gpus[0].lost = true;
	must(w, world_undo(w, "c1"));
	must(w, world_undo(w, "c1"));
	must_say(w, prepare_one(w, "c2", LARGE), ERR_GONE, "lost");
	w->fake->gpus[0].lost = false;
	/* It came back without a reset, with the instance. */
	must(w, prepare_one(w, "c2", SMALL));
	assert_int_equal(holders(w), 1);
	must(w, world_undo(w, "c2"));
	must_be_empty(w);
}

static void an_abandoned_instance_goes_at_the_start(void **state)
{
	struct world *w = *state;

	must(w, prepare_one(w, "c1", SMALL));
	w->fake->gpus[0].lost = true;
	must(w, world_undo(w, "c1"));
	world_restart(w);
	assert_non_null(strstr(w->notes.p, "cannot undo claim default/c1: " SMALL));
	w->fake->gpus[0].lost = false;
	world_restart(w);
	must_be_empty(w);
}

/* --- start ----------------------------------------------------------------------------------- */

static void a_start_keeps_what_is_done(void **state)
{
	struct world *w = *state;

	must(w, prepare_one(w, "c1", SMALL));
	must(w, prepare_one(w, "c2", LARGE));
	must(w, world_start(w));
	world_restart(w);
	assert_int_equal(holders(w), 2);
	assert_int_equal(instances(w, 0), 2);
	assert_int_equal(w->notes.n, 0);
}

/* --- others ---------------------------------------------------------------------------------- */

static void instances_of_others_are_left_alone(void **state)
{
	struct world *w = *state;
	struct gpu_seen *seen = NULL;
	size_t n = 0;
	int bare, used;

	bare = fake_nvml_add(w->fake, 0, 19, (struct nvml_placement){ 6, 1 }, false);
	used = fake_nvml_add(w->fake, 0, 9, (struct nvml_placement){ 0, 4 }, true);
	assert_true(bare >= 0 && used >= 0);
	must_say(w, prepare_one(w, "c1", SMALL), ERR_CONFLICT,
		 "GPU instance 6, which this driver did not make, is at its place");
	must_say(w, prepare_one(w, "c1", LARGE), ERR_CONFLICT, "GPU instance 8");
	must_say(w, prepare_one(w, "c1", "gpu-0"), ERR_CONFLICT, "nvidia-smi -mig 0");
	must(w, prepare_one(w, "c1", "gpu-0-mig-2g35gb-14-4"));
	must(w, gpu_prepare_look(w->prepare, fake_nvml_session(w->fake), &w->arena, &seen, &n,
				 &w->err));
	assert_int_equal(n, FAKE_GPUS);
	assert_int_equal(seen[0].nforeign, 2);
	assert_true(seen[0].foreign_mig);
	assert_int_equal(seen[0].foreign[0].uuid.n, 0);
	assert_true(str_eqz(seen[0].foreign[1].uuid, "MIG-GPU-a-8-0"));
	assert_int_equal(seen[1].nforeign, 0);
	assert_false(seen[1].foreign_mig);
	must(w, world_undo(w, "c1"));
	world_restart(w);
	assert_int_equal(instances(w, 0), 2);
	assert_true(w->fake->gpus[0].on);
}

static void mig_stays_on_while_others_have_instances(void **state)
{
	struct world *w = *state;

	must(w, prepare_one(w, "c1", LARGE));
	assert_true(fake_nvml_add(w->fake, 0, 19, (struct nvml_placement){ 6, 1 }, true) >= 0);
	must(w, world_undo(w, "c1"));
	assert_true(w->fake->gpus[0].on);
	w->fake->gpus[0].v[6].there = false;
	/* We had switched it on, so a full GPU gets it off. */
	must(w, prepare_one(w, "c2", "gpu-0"));
	assert_false(w->fake->gpus[0].on);
}

static void mig_that_others_switched_on_stays_on(void **state)
{
	struct world *w = *state;

	w->fake->gpus[0].on = true;
	must(w, prepare_one(w, "c1", SMALL));
	must(w, world_undo(w, "c1"));
	assert_true(w->fake->gpus[0].on);
	must_say(w, prepare_one(w, "c1", "gpu-0"), ERR_CONFLICT, "MIG is on");
	assert_true(w->fake->gpus[0].on);
}

static void an_instance_of_others_can_be_a_device(void **state)
{
	struct world *w = *state;
	struct gpu_foreign f = { .instance = { .id = 6, .profile = 19, .place = { 6, 1 } },
				 .uuid = STR("MIG-GPU-a-6-0") };
	struct gpu_inventory_options o = gpu_fixture_options;
	struct gpu_prepared ret;
	struct gpu_want want;

	assert_true(fake_nvml_add(w->fake, 0, 19, (struct nvml_placement){ 6, 1 }, true) >= 0);
	o.static_mig = true;
	w->sources[0].gpu.mig = NVML_MIG_ON;
	w->sources[0].foreign = &f;
	w->sources[0].nforeign = 1;
	gpu_inventory_make(&w->arena, w->sources, 1, &o, &w->inventory);
	want = (struct gpu_want){ .device = world_device(w, SMALL) };
	must(w, world_prepare(w, "c1", &want, 1, &ret));
	assert_true(str_eqz(ret.uuid, "MIG-GPU-a-6-0"));
	must_say(w, world_prepare(w, "c2", &want, 1, &ret), ERR_CONFLICT, "claim default/c1");
	must(w, world_undo(w, "c1"));
	assert_int_equal(instances(w, 0), 1);
	w->fake->gpus[0].v[6].there = false;
	must_say(w, world_prepare(w, "c2", &want, 1, &ret), ERR_NOT_FOUND, "does not exist");
	assert_int_equal(instances(w, 0), 0);
}

#define PREPARE_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PREPARE_TEST(a_full_gpu_is_only_booked),
		PREPARE_TEST(shares_of_a_full_gpu_are_booked_together),
		PREPARE_TEST(an_exclusive_gpu_gets_its_compute_mode_and_loses_it_at_the_end),
		PREPARE_TEST(a_compute_mode_that_somebody_else_chose_stays),
		PREPARE_TEST(a_compute_mode_that_could_not_be_set_back_is_set_later),
		PREPARE_TEST(a_partition_is_made_and_destroyed),
		PREPARE_TEST(partitions_of_several_claims_and_gpus_coexist),
		PREPARE_TEST(devices_of_one_claim_that_overlap_are_refused),
		PREPARE_TEST(an_instance_that_vanished_is_made_again),
		PREPARE_TEST(after_a_reboot_nothing_is_booked),
		PREPARE_TEST(mig_that_we_switched_on_goes_off_after_a_reboot),
		PREPARE_TEST(admin_access_uses_what_is_there),
		PREPARE_TEST(a_prepare_that_fails_leaves_nothing),
		PREPARE_TEST(a_rollback_that_fails_is_finished_later),
		PREPARE_TEST(a_book_that_cannot_be_saved_stops_the_prepare),
		PREPARE_TEST(a_busy_instance_names_the_process),
		PREPARE_TEST(a_claim_of_a_lost_gpu_can_go),
		PREPARE_TEST(an_abandoned_instance_goes_at_the_start),
		PREPARE_TEST(a_start_keeps_what_is_done),
		PREPARE_TEST(instances_of_others_are_left_alone),
		PREPARE_TEST(mig_stays_on_while_others_have_instances),
		PREPARE_TEST(mig_that_others_switched_on_stays_on),
		PREPARE_TEST(an_instance_of_others_can_be_a_device),
	};

	return cmocka_run_group_tests_name("drivers/gpu_prepare", tests, NULL, NULL);
}
