/* MIG on the fake library: profiles, codes of NVML, ids, UUIDs, and every set of placements. */
#include "base/core/clock.h"
#include "drivers/nvml/nvml_fixture.h"

#include <unistd.h>

/* The profiles of an H200, as driver 580 reports them. */
static const struct expected {
	uint32_t id, number;
	const char *name;
	uint32_t slices, multiprocessors, copy_engines, decoders, ofa, mib, instances, size;
	const char *starts;
} expected[] = {
	{ 19, 0, "1g.18gb", 1, 16, 1, 1, 0, 16384, 7, 1, "0123456" },
	{ 14, 1, "2g.35gb", 2, 32, 2, 2, 0, 33280, 3, 2, "024" },
	{ 9, 2, "3g.71gb", 3, 60, 3, 3, 0, 71424, 2, 4, "04" },
	{ 5, 3, "4g.71gb", 4, 64, 4, 4, 0, 71424, 1, 4, "0" },
	{ 0, 4, "7g.141gb", 7, 132, 8, 7, 1, 143360, 1, 8, "0" },
	{ 20, 7, "1g.18gb+me", 1, 16, 1, 1, 1, 16384, 1, 1, "0123456" },
	{ 15, 9, "1g.35gb", 1, 26, 1, 1, 0, 33280, 4, 2, "0246" },
};

static void switch_mig(struct nvml_fixture *f, size_t gpu, bool on)
{
	struct error err = { 0 };

	if (nvml_set_mig(f->nvml, &f->gpus[gpu], on, &err) < 0)
		fail_msg("%s", err.msg);
}

static uint32_t create(struct nvml_fixture *f, size_t gpu, uint32_t profile, uint32_t start,
		       uint32_t size)
{
	struct error err = { 0 };
	uint32_t gi = UINT32_MAX;

	if (nvml_create_instance(f->nvml, &f->gpus[gpu], profile,
				 (struct nvml_placement){ start, size }, &gi, &err) < 0)
		fail_msg("profile %u at %u: %s", profile, start, err.msg);
	return gi;
}

static uint32_t create_compute(struct nvml_fixture *f, size_t gpu, uint32_t gi, uint32_t slices)
{
	struct error err = { 0 };
	uint32_t ci = UINT32_MAX;

	if (nvml_create_compute(f->nvml, &f->gpus[gpu], gi, slices, &ci, &err) < 0)
		fail_msg("%s", err.msg);
	return ci;
}

static size_t count_instances(struct nvml_fixture *f, size_t gpu, struct nvml_instance **all)
{
	struct error err = { 0 };
	size_t n = 99;

	if (nvml_instances(f->nvml, &f->gpus[gpu], &f->arena, all, &n, &err) < 0)
		fail_msg("%s", err.msg);
	return n;
}

static void profiles_are_those_of_an_h200_also_with_mig_off(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_profile *p;
	size_t n;

	assert_int_equal(nvml_profiles(f->nvml, &f->gpus[0], &f->arena, &p, &n, NULL), 0);
	assert_int_equal(n, ARRAY_SIZE(expected));
	for (size_t i = 0; i < n; i++) {
		const struct expected *e = &expected[i];

		assert_int_equal(p[i].id, e->id);
		assert_int_equal(p[i].number, e->number);
		assert_true(str_eqz(p[i].name, e->name));
		assert_int_equal(p[i].slices, e->slices);
		assert_int_equal(p[i].multiprocessors, e->multiprocessors);
		assert_int_equal(p[i].copy_engines, e->copy_engines);
		assert_int_equal(p[i].decoders, e->decoders);
		assert_int_equal(p[i].jpeg_engines, e->decoders);
		assert_int_equal(p[i].encoders, 0);
		assert_int_equal(p[i].ofa_engines, e->ofa);
		assert_int_equal(p[i].memory, (uint64_t)e->mib << 20);
		assert_int_equal(p[i].instances, e->instances);
		assert_int_equal(p[i].nplacements, strlen(e->starts));
		for (size_t k = 0; k < p[i].nplacements; k++) {
			assert_int_equal(p[i].placements[k].start, e->starts[k] - '0');
			assert_int_equal(p[i].placements[k].size, e->size);
		}
	}
}

static void mig_switches_on_and_off(void **state)
{
	struct nvml_fixture *f = *state;
	enum nvml_mig mode;

	switch_mig(f, 0, true);
	assert_int_equal(nvml_get_mig(f->nvml, &f->gpus[0], &mode, NULL), 0);
	assert_int_equal(mode, NVML_MIG_ON);
	assert_int_equal(nvml_get_mig(f->nvml, &f->gpus[1], &mode, NULL), 0);
	assert_int_equal(mode, NVML_MIG_OFF);
	switch_mig(f, 0, true);
	switch_mig(f, 0, false);
	assert_int_equal(nvml_get_mig(f->nvml, &f->gpus[0], &mode, NULL), 0);
	assert_int_equal(mode, NVML_MIG_OFF);
}

static void a_mode_that_waits_for_a_reset_is_an_error(void **state)
{
	struct nvml_fixture *f = *state;
	struct error err = { 0 };

	fake_do(f, "mig-reset 0");
	assert_int_equal(nvml_set_mig(f->nvml, &f->gpus[0], true, &err), -ERR_GONE);
	assert_non_null(strstr(err.msg, "requires reset"));
	fixture_read_gpus(f);
	assert_int_equal(f->gpus[0].mig, NVML_MIG_OFF);
	assert_int_equal(f->gpus[0].mig_pending, NVML_MIG_ON);
}

static void mig_stays_on_while_an_instance_exists(void **state)
{
	struct nvml_fixture *f = *state;
	struct error err = { 0 };
	uint32_t gi;

	switch_mig(f, 0, true);
	gi = create(f, 0, 19, 3, 1);
	assert_int_equal(nvml_set_mig(f->nvml, &f->gpus[0], false, &err), -ERR_CONFLICT);
	assert_non_null(strstr(err.msg, "switch MIG off"));
	assert_int_equal(nvml_destroy_instance(f->nvml, &f->gpus[0], gi, NULL), 0);
	switch_mig(f, 0, false);
}

static void without_mig_nothing_can_be_created_or_listed(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_instance *all;
	uint32_t gi;

	assert_int_equal(nvml_create_instance(f->nvml, &f->gpus[0], 19,
					      (struct nvml_placement){ 0, 1 }, &gi, NULL),
			 -ERR_UNIMPLEMENTED);
	assert_int_equal(count_instances(f, 0, &all), 0);
}

static void instances_are_listed_with_and_without_compute(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_instance *all;
	uint32_t bare, full;

	switch_mig(f, 0, true);
	bare = create(f, 0, 9, 4, 4);
	full = create(f, 0, 14, 2, 2);
	assert_int_equal(create_compute(f, 0, full, 2), 0);
	assert_int_equal(count_instances(f, 0, &all), 2);
	assert_int_equal(all[0].id, full);
	assert_int_equal(all[0].profile, 14);
	assert_int_equal(all[0].place.start, 2);
	assert_int_equal(all[0].place.size, 2);
	assert_int_equal(all[0].ncompute, 1);
	assert_int_equal(all[0].compute[0], 0);
	assert_int_equal(all[1].id, bare);
	assert_int_equal(all[1].profile, 9);
	assert_int_equal(all[1].ncompute, 0);
	assert_int_equal(count_instances(f, 1, &all), 0);
}

static void overlapping_instances_have_no_room_even_the_same_one(void **state)
{
	struct nvml_fixture *f = *state;
	struct error err = { 0 };
	uint32_t gi;

	switch_mig(f, 0, true);
	(void)create(f, 0, 14, 2, 2);
	assert_int_equal(nvml_create_instance(f->nvml, &f->gpus[0], 14,
					      (struct nvml_placement){ 2, 2 }, &gi, &err),
			 -ERR_TOO_LARGE);
	assert_non_null(strstr(err.msg, "code 23"));
	assert_int_equal(nvml_create_instance(f->nvml, &f->gpus[0], 5,
					      (struct nvml_placement){ 0, 4 }, &gi, NULL),
			 -ERR_TOO_LARGE);
}

static void a_place_that_the_profile_does_not_have_is_an_error(void **state)
{
	struct nvml_fixture *f = *state;
	uint32_t gi;

	switch_mig(f, 0, true);
	assert_int_equal(nvml_create_instance(f->nvml, &f->gpus[0], 14,
					      (struct nvml_placement){ 1, 2 }, &gi, NULL),
			 -ERR_IO);
}

static void destroying_goes_from_the_inside_to_the_outside(void **state)
{
	struct nvml_fixture *f = *state;
	const struct nvml_gpu *g = &f->gpus[0];
	uint32_t gi, ci;

	switch_mig(f, 0, true);
	gi = create(f, 0, 19, 0, 1);
	ci = create_compute(f, 0, gi, 1);
	assert_int_equal(nvml_destroy_instance(f->nvml, g, gi, NULL), -ERR_CONFLICT);
	assert_int_equal(nvml_destroy_compute(f->nvml, g, gi, ci, NULL), 0);
	assert_int_equal(nvml_destroy_compute(f->nvml, g, gi, ci, NULL), -ERR_NOT_FOUND);
	assert_int_equal(nvml_destroy_instance(f->nvml, g, gi, NULL), 0);
	assert_int_equal(nvml_destroy_instance(f->nvml, g, gi, NULL), -ERR_NOT_FOUND);
	assert_int_equal(nvml_destroy_compute(f->nvml, g, gi, ci, NULL), -ERR_NOT_FOUND);
}

static void a_busy_compute_instance_stays(void **state)
{
	struct nvml_fixture *f = *state;
	const struct nvml_gpu *g = &f->gpus[0];
	uint32_t gi, ci;

	switch_mig(f, 0, true);
	gi = create(f, 0, 19, 0, 1);
	ci = create_compute(f, 0, gi, 1);
	fake_do(f, "busy 0 %u %u 4242", gi, ci);
	assert_int_equal(nvml_destroy_compute(f->nvml, g, gi, ci, NULL), -ERR_CONFLICT);
	fake_do(f, "idle 0");
	assert_int_equal(nvml_destroy_compute(f->nvml, g, gi, ci, NULL), 0);
}

static void a_compute_instance_takes_all_slices_of_every_profile(void **state)
{
	struct nvml_fixture *f = *state;
	const struct nvml_gpu *g = &f->gpus[1];

	switch_mig(f, 1, true);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		const struct expected *e = &expected[i];
		uint32_t gi = create(f, 1, e->id, (uint32_t)(e->starts[0] - '0'), e->size);
		uint32_t ci = create_compute(f, 1, gi, e->slices), more;

		assert_int_equal(nvml_create_compute(f->nvml, g, gi, e->slices, &more, NULL),
				 -ERR_TOO_LARGE);
		assert_int_equal(nvml_destroy_compute(f->nvml, g, gi, ci, NULL), 0);
		assert_int_equal(nvml_destroy_instance(f->nvml, g, gi, NULL), 0);
	}
}

static void a_compute_profile_that_does_not_exist_is_not_found(void **state)
{
	struct nvml_fixture *f = *state;
	struct error err = { 0 };
	uint32_t gi, ci;

	switch_mig(f, 0, true);
	gi = create(f, 0, 14, 0, 2);
	assert_int_equal(nvml_create_compute(f->nvml, &f->gpus[0], gi, 5, &ci, &err),
			 -ERR_NOT_FOUND);
	assert_non_null(strstr(err.msg, "5 slices"));
}

static void an_instance_without_readable_info_is_not_left_behind(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_instance *all;
	uint32_t gi, ci;

	switch_mig(f, 0, true);
	fake_do(f, "fail nvmlGpuInstanceGetInfo 999 1");
	assert_int_equal(nvml_create_instance(f->nvml, &f->gpus[0], 19,
					      (struct nvml_placement){ 0, 1 }, &gi, NULL),
			 -ERR_IO);
	assert_int_equal(count_instances(f, 0, &all), 0);
	gi = create(f, 0, 19, 0, 1);
	fake_do(f, "fail nvmlComputeInstanceGetInfo_v2 999 1");
	assert_int_equal(nvml_create_compute(f->nvml, &f->gpus[0], gi, 1, &ci, NULL), -ERR_IO);
	assert_int_equal(count_instances(f, 0, &all), 1);
	assert_int_equal(all[0].ncompute, 0);
}

static struct str uuid_of(struct nvml_fixture *f, size_t gpu, uint32_t gi, uint32_t ci)
{
	struct error err = { 0 };
	struct str uuid = STR_NULL;

	if (nvml_mig_uuid(f->nvml, &f->gpus[gpu], gi, ci, &f->arena, &uuid, &err) < 0)
		fail_msg("%s", err.msg);
	return uuid;
}

static void the_same_place_has_the_same_uuid_again(void **state)
{
	struct nvml_fixture *f = *state;
	struct str first, again, other;
	uint32_t gi;

	switch_mig(f, 0, true);
	gi = create(f, 0, 14, 2, 2);
	(void)create_compute(f, 0, gi, 2);
	first = uuid_of(f, 0, gi, 0);
	assert_true(str_starts(first, STR("MIG-")));
	assert_int_equal(first.n, strlen("MIG-") + 36);
	assert_int_equal(nvml_destroy_compute(f->nvml, &f->gpus[0], gi, 0, NULL), 0);
	assert_int_equal(nvml_destroy_instance(f->nvml, &f->gpus[0], gi, NULL), 0);
	assert_int_equal(create(f, 0, 14, 2, 2), gi);
	(void)create_compute(f, 0, gi, 2);
	again = uuid_of(f, 0, gi, 0);
	assert_true(str_eq(first, again));
	gi = create(f, 0, 14, 4, 2);
	(void)create_compute(f, 0, gi, 2);
	other = uuid_of(f, 0, gi, 0);
	assert_false(str_eq(first, other));
}

static void an_instance_that_is_gone_has_no_uuid(void **state)
{
	struct nvml_fixture *f = *state;
	struct str uuid;
	uint32_t gi;

	switch_mig(f, 0, true);
	gi = create(f, 0, 14, 2, 2);
	assert_int_equal(nvml_mig_uuid(f->nvml, &f->gpus[0], gi, 0, &f->arena, &uuid, NULL),
			 -ERR_NOT_FOUND);
}

static void ids_depend_on_the_gpu(void **state)
{
	struct nvml_fixture *f = *state;

	switch_mig(f, 0, true);
	switch_mig(f, 1, true);
	assert_int_not_equal(create(f, 0, 19, 0, 1), create(f, 1, 19, 0, 1));
}

static void instances_outlive_the_session(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_instance *all;

	switch_mig(f, 0, true);
	(void)create(f, 0, 19, 6, 1);
	nvml_close(f->nvml);
	fixture_open_session(f);
	assert_int_equal(f->gpus[0].mig, NVML_MIG_ON);
	assert_int_equal(count_instances(f, 0, &all), 1);
	assert_int_equal(all[0].place.start, 6);
}

static void every_call_on_a_lost_gpu_says_so(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_instance *all;
	struct nvml_profile *profiles;
	uint32_t id = 0;
	size_t n;

	switch_mig(f, 0, true);
	fake_do(f, "lost 0");
	assert_int_equal(nvml_instances(f->nvml, &f->gpus[0], &f->arena, &all, &n, NULL),
			 -ERR_GONE);
	assert_int_equal(nvml_profiles(f->nvml, &f->gpus[0], &f->arena, &profiles, &n, NULL),
			 -ERR_GONE);
	assert_int_equal(nvml_set_mig(f->nvml, &f->gpus[0], false, NULL), -ERR_GONE);
	assert_int_equal(nvml_create_instance(f->nvml, &f->gpus[0], 19,
					      (struct nvml_placement){ 0, 1 }, &id, NULL),
			 -ERR_GONE);
	assert_int_equal(nvml_destroy_instance(f->nvml, &f->gpus[0], 1, NULL), -ERR_GONE);
}

static void missing_permission_is_reported(void **state)
{
	struct nvml_fixture *f = *state;

	struct error err;
	uint32_t id;

	fake_do(f, "fail nvmlDeviceSetMigMode 4");
	assert_int_equal(nvml_set_mig(f->nvml, &f->gpus[0], true, &err), -ERR_FORBIDDEN);
	assert_non_null(strstr(err.msg, "run the driver as root"));
	fake_do(f, "heal");
	assert_int_equal(nvml_set_mig(f->nvml, &f->gpus[0], true, NULL), 0);
	fake_do(f, "fail nvmlDeviceCreateGpuInstanceWithPlacement 4");
	assert_int_equal(nvml_create_instance(f->nvml, &f->gpus[0], 19,
					      (struct nvml_placement){ 0, 1 }, &id, &err),
			 -ERR_FORBIDDEN);
	assert_non_null(strstr(err.msg, "run the driver as root"));
}

/* Else the time of NVML counts as that of the driver. */
static void calls_that_list_are_timed(void **state)
{
	struct nvml_fixture *f = *state;
	struct nvml_instance *v;
	struct nvml_process *p;
	size_t n;
	int64_t before;

	assert_int_equal(nvml_set_mig(f->nvml, &f->gpus[0], true, NULL), 0);
	fake_do(f, "slow nvmlDeviceGetGpuInstanceProfileInfoV 20 1");
	before = nvml_time(f->nvml);
	assert_int_equal(nvml_instances(f->nvml, &f->gpus[0], &f->arena, &v, &n, NULL), 0);
	assert_true(nvml_time(f->nvml) - before >= 20 * CLOCK_MS);
	fake_do(f, "slow nvmlDeviceGetComputeRunningProcesses_v3 20 1");
	before = nvml_time(f->nvml);
	assert_int_equal(nvml_processes(f->nvml, &f->gpus[0], &f->arena, &p, &n, NULL), 0);
	assert_true(nvml_time(f->nvml) - before >= 20 * CLOCK_MS);
}

static bool has_file(struct nvml_fixture *f, const char *name)
{
	char path[512];

	(void)snprintf(path, sizeof(path), "%s/root/proc/driver/nvidia/capabilities/%s", f->folder,
		       name);
	return access(path, F_OK) == 0;
}

static void capability_files_come_and_go_with_instances(void **state)
{
	struct nvml_fixture *f = *state;
	uint32_t gi;

	switch_mig(f, 0, true);
	assert_false(has_file(f, "gpu0/mig/gi0/access"));
	gi = create(f, 0, 0, 0, 8);
	assert_int_equal(gi, 0);
	assert_true(has_file(f, "gpu0/mig/gi0/access"));
	assert_false(has_file(f, "gpu0/mig/gi0/ci0/access"));
	(void)create_compute(f, 0, gi, 7);
	assert_true(has_file(f, "gpu0/mig/gi0/ci0/access"));
	(void)nvml_destroy_compute(f->nvml, &f->gpus[0], gi, 0, NULL);
	(void)nvml_destroy_instance(f->nvml, &f->gpus[0], gi, NULL);
	assert_false(has_file(f, "gpu0/mig/gi0/access"));
}

/* --- every set of placements ------------------------------------------------------------------ */

struct place {
	uint32_t profile, start, size;
	uint32_t memory; /* bits of memory slices */
	bool media; /* the profile of which only one instance can exist */
};

struct packing {
	struct nvml_fixture *f;
	struct place places[32];
	size_t n;
	size_t sets;
};

static void list_places(struct packing *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		for (const char *at = expected[i].starts; *at; at++) {
			uint32_t start = (uint32_t)(*at - '0'), size = expected[i].size;

			p->places[p->n++] = (struct place){ expected[i].id, start, size,
							    ((1U << size) - 1) << start,
							    expected[i].id == 20 };
		}
	}
}

/* Tries every place on top of a set, and goes on with those behind `from` that fit. */
static void pack(struct packing *p, size_t from, uint32_t memory, bool media)
{
	const struct nvml_gpu *g = &p->f->gpus[0];

	p->sets++;
	for (size_t i = 0; i < p->n; i++) {
		const struct place *at = &p->places[i];
		bool fits = !(at->memory & memory) && !(at->media && media);
		uint32_t gi;
		int r = nvml_create_instance(p->f->nvml, g, at->profile,
					     (struct nvml_placement){ at->start, at->size }, &gi,
					     NULL);

		assert_int_equal(r, fits ? 0 : -ERR_TOO_LARGE);
		if (!fits)
			continue;
		if (i >= from)
			pack(p, i + 1, memory | at->memory, media || at->media);
		assert_int_equal(nvml_destroy_instance(p->f->nvml, g, gi, NULL), 0);
	}
}

static void every_set_of_placements_fits_exactly_if_the_table_says_so(void **state)
{
	struct packing p = { .f = *state };

	(void)unsetenv("FAKE_NVML_ROOT");
	list_places(&p);
	assert_int_equal(p.n, 25);
	switch_mig(p.f, 0, true);
	pack(&p, 0, 0, false);
	assert_int_equal(p.sets, 2319);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_begin_session, fixture_end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(profiles_are_those_of_an_h200_also_with_mig_off),
		TEST(mig_switches_on_and_off),
		TEST(a_mode_that_waits_for_a_reset_is_an_error),
		TEST(mig_stays_on_while_an_instance_exists),
		TEST(without_mig_nothing_can_be_created_or_listed),
		TEST(instances_are_listed_with_and_without_compute),
		TEST(overlapping_instances_have_no_room_even_the_same_one),
		TEST(a_place_that_the_profile_does_not_have_is_an_error),
		TEST(destroying_goes_from_the_inside_to_the_outside),
		TEST(a_busy_compute_instance_stays),
		TEST(a_compute_instance_takes_all_slices_of_every_profile),
		TEST(a_compute_profile_that_does_not_exist_is_not_found),
		TEST(an_instance_without_readable_info_is_not_left_behind),
		TEST(the_same_place_has_the_same_uuid_again),
		TEST(an_instance_that_is_gone_has_no_uuid),
		TEST(ids_depend_on_the_gpu),
		TEST(instances_outlive_the_session),
		TEST(every_call_on_a_lost_gpu_says_so),
		TEST(missing_permission_is_reported),
		TEST(calls_that_list_are_timed),
		TEST(capability_files_come_and_go_with_instances),
		TEST(every_set_of_placements_fits_exactly_if_the_table_says_so),
	};

	return cmocka_run_group_tests_name("drivers/nvml_mig", tests, NULL, NULL);
}
