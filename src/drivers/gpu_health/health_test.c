#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "devplane/driver.h"
#include "drivers/gpu_health/health.h"

/* 2026-01-02T03:04:05Z */
#define T0 (INT64_C(1767323045) * CLOCK_SEC)

static const struct gpu_health_opts defaults;
static const struct gpu_poll good = { .remap_known = true };

struct world {
	struct xid_rules *rules;
	struct gpu_health h;
	struct gpu_health_view v;
	int64_t now;
};

static int setup(void **state)
{
	static struct world w;

	w = (struct world){ .rules = xid_rules_new(), .now = T0 };
	gpu_health_init(&w.h);
	*state = &w;
	return 0;
}

static int teardown(void **state)
{
	struct world *w = *state;

	xid_rules_free(w->rules);
	return 0;
}

static bool poll_gpu(struct world *w, struct gpu_poll p)
{
	w->now += 5 * CLOCK_SEC;
	return gpu_health_note_poll(&w->h, &p, &defaults, w->now);
}

static bool xid(struct world *w, uint32_t number)
{
	struct gpu_xid x = { .xid = number, .gi = GPU_WHOLE, .ci = GPU_WHOLE, .at_ns = w->now };

	return gpu_health_note_xid(&w->h, &x, xid_rules_find(w->rules, number));
}

static void expect(struct world *w, uint32_t health, const char *key, const char *value,
		   const char *effect)
{
	gpu_health_view(&w->h, &defaults, &w->v);
	if (w->v.health != health)
		fail_msg("health %u, not %u: %s", w->v.health, health, w->v.message);
	assert_int_equal(w->v.ntaints, key ? 1 : 0);
	if (!key)
		return;
	assert_string_equal(w->v.taints[0].key, key);
	assert_string_equal(w->v.taints[0].value, value);
	assert_string_equal(w->v.taints[0].effect, effect);
}

static void expect_healthy(struct world *w)
{
	expect(w, DP_HEALTHY, NULL, NULL, NULL);
	assert_string_equal(w->v.message, "");
}

static void a_new_gpu_is_unknown_until_its_first_poll(void **state)
{
	struct world *w = *state;

	expect(w, DP_UNKNOWN, NULL, NULL, NULL);
	assert_string_equal(w->v.message, "The GPU has not been checked yet");
	assert_true(poll_gpu(w, good));
	expect_healthy(w);
	assert_false(poll_gpu(w, good));
}

static void an_application_xid_changes_nothing(void **state)
{
	struct world *w = *state;

	(void)poll_gpu(w, good);
	assert_false(xid(w, 31));
	assert_false(xid(w, 154));
	assert_false(xid(w, 4711));
	expect_healthy(w);
}

static void a_fatal_xid_needs_two_good_polls(void **state)
{
	struct world *w = *state;

	(void)poll_gpu(w, good);
	w->now = T0;
	assert_true(xid(w, 48));
	expect(w, DP_UNHEALTHY, "gpu.nvidia.com/xid", "48", "NoSchedule");
	assert_string_equal(w->v.message,
			    "Xid 48 at 2026-01-02T03:04:05Z: double-bit ECC error; reset the GPU");
	w->now += CLOCK_SEC;
	assert_false(xid(w, 48));
	assert_false(poll_gpu(w, good));
	expect(w, DP_UNHEALTHY, "gpu.nvidia.com/xid", "48", "NoSchedule");
	assert_false(xid(w, 48));
	assert_false(poll_gpu(w, good));
	assert_true(poll_gpu(w, good));
	expect_healthy(w);
}

static void good_polls_count_only_in_a_row(void **state)
{
	struct world *w = *state;

	(void)poll_gpu(w, good);
	(void)xid(w, 95);
	(void)poll_gpu(w, good);
	(void)gpu_health_note_silent(&w->h, 5000, w->now);
	(void)poll_gpu(w, good);
	gpu_health_view(&w->h, &defaults, &w->v);
	assert_int_equal(w->v.health, DP_UNHEALTHY);
	assert_true(poll_gpu(w, good));
	expect_healthy(w);
}

static void an_old_driver_keeps_a_fatal_xid(void **state)
{
	struct gpu_poll old = { .recovery = GPU_UNSUPPORTED, .remap_known = true };
	struct world *w = *state;

	(void)poll_gpu(w, old);
	(void)xid(w, 48);
	(void)xid(w, 94);
	for (int i = 0; i < 10; i++)
		(void)poll_gpu(w, old);
	expect(w, DP_UNHEALTHY, "gpu.nvidia.com/xid", "48", "NoSchedule");
}

static void a_recovery_action_is_unhealthy(void **state)
{
	static const struct {
		int32_t action;
		const char *value;
	} want[] = { { 1, "gpu-reset" }, { 2, "node-reboot" },
		     { 3, "drain-p2p" }, { 4, "drain-and-reset" },
		     { 6, "bus-reset" }, { 7, "system-reboot" },
		     { 42, "42" } };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		struct gpu_poll p = { .recovery = want[i].action };

		assert_true(poll_gpu(w, p));
		assert_false(poll_gpu(w, p));
		expect(w, DP_UNHEALTHY, "gpu.nvidia.com/recovery", want[i].value, "NoSchedule");
	}
	assert_false(poll_gpu(w, good));
	assert_true(poll_gpu(w, (struct gpu_poll){ .recovery = 5 }));
	expect_healthy(w);
}

static void a_contained_xid_is_degraded(void **state)
{
	struct world *w = *state;

	(void)poll_gpu(w, good);
	assert_true(xid(w, 94));
	expect(w, DP_HEALTHY, "gpu.nvidia.com/degraded", "xid-94", "None");
	assert_non_null(strstr(w->v.message, "Xid 94 at "));
	(void)poll_gpu(w, good);
	assert_true(poll_gpu(w, good));
	expect_healthy(w);
}

static void pending_rows_are_degraded_and_failed_ones_broken(void **state)
{
	struct gpu_poll p = { .remap_known = true, .remap_pending = true };
	struct world *w = *state;

	assert_true(poll_gpu(w, p));
	expect(w, DP_HEALTHY, "gpu.nvidia.com/degraded", "row-remap-pending", "None");
	/* NVML does not say: the finding stays. */
	for (int i = 0; i < 3; i++)
		assert_false(poll_gpu(w, (struct gpu_poll){ .remap_known = false }));
	expect(w, DP_HEALTHY, "gpu.nvidia.com/degraded", "row-remap-pending", "None");
	(void)poll_gpu(w, good);
	assert_true(poll_gpu(w, good));
	p = (struct gpu_poll){ .remap_known = true, .remap_failure = true };
	assert_true(poll_gpu(w, p));
	expect(w, DP_UNHEALTHY, "gpu.nvidia.com/row-remap-failure", "", "NoSchedule");
}

static void a_long_slowdown_is_degraded(void **state)
{
	struct gpu_poll slow = { .remap_known = true, .slowdown = 0x40 };
	struct world *w = *state;

	for (int i = 0; i < 12; i++)
		(void)poll_gpu(w, slow);
	expect_healthy(w);
	assert_true(poll_gpu(w, slow));
	expect(w, DP_HEALTHY, "gpu.nvidia.com/degraded", "slowdown", "None");
	assert_non_null(strstr(w->v.message, "because of heat; check the cooling"));
	/* Short breaks do not end it. */
	for (int i = 0; i < 10; i++) {
		assert_false(poll_gpu(w, good));
		assert_false(poll_gpu(w, slow));
	}
	(void)poll_gpu(w, good);
	assert_true(poll_gpu(w, good));
	expect_healthy(w);
	/* Clocks that are low because the GPU is idle, or by a user's setting, are fine. */
	for (int i = 0; i < 30; i++)
		(void)poll_gpu(w, (struct gpu_poll){ .remap_known = true, .slowdown = 0x1 | 0x4 });
	expect_healthy(w);
}

static void a_lost_gpu_may_evict_pods(void **state)
{
	struct gpu_health_opts evict = { .evict = true };
	struct world *w = *state;

	(void)poll_gpu(w, good);
	assert_true(gpu_health_note_lost(&w->h, w->now));
	assert_false(gpu_health_note_lost(&w->h, w->now));
	expect(w, DP_UNHEALTHY, "gpu.nvidia.com/gpu-lost", "", "NoSchedule");
	gpu_health_view(&w->h, &evict, &w->v);
	assert_string_equal(w->v.taints[0].effect, "NoExecute");
	(void)poll_gpu(w, good);
	(void)poll_gpu(w, good);
	expect_healthy(w);
	assert_true(xid(w, 79));
	expect(w, DP_UNHEALTHY, "gpu.nvidia.com/gpu-lost", "", "NoSchedule");
}

static void silence_is_unknown_and_faults_stay_unhealthy(void **state)
{
	struct world *w = *state;

	(void)poll_gpu(w, good);
	assert_true(gpu_health_note_silent(&w->h, 5000, w->now));
	assert_false(gpu_health_note_silent(&w->h, 5000, w->now));
	expect(w, DP_UNKNOWN, "gpu.nvidia.com/unmonitored", "", "NoSchedule");
	assert_non_null(strstr(w->v.message, "did not answer within 5000 ms"));
	(void)xid(w, 119);
	gpu_health_view(&w->h, &defaults, &w->v);
	assert_int_equal(w->v.health, DP_UNHEALTHY);
	assert_int_equal(w->v.ntaints, 2);
	assert_non_null(strstr(w->v.message, ". Since "));
}

static void degraded_findings_share_one_taint(void **state)
{
	struct world *w = *state;

	(void)poll_gpu(w, (struct gpu_poll){ .remap_known = true, .remap_pending = true });
	(void)xid(w, 94);
	expect(w, DP_HEALTHY, "gpu.nvidia.com/degraded", "xid-94", "None");
}

static void a_condition_names_the_process(void **state)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(1024);
	struct gpu_xid x = { .xid = 31, .pid = 17, .name = STR("a\n"), .at_ns = T0 };
	struct world *w = *state;

	gpu_xid_print(&x, xid_rules_find(w->rules, 31), &text);
	assert_string_equal(text.p, "Xid 31 at 2026-01-02T03:04:05Z in process 17 (\"a\\n\"): "
				    "access to memory that is not mapped; examine the program");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_new_gpu_is_unknown_until_its_first_poll),
		cmocka_unit_test(an_application_xid_changes_nothing),
		cmocka_unit_test(a_fatal_xid_needs_two_good_polls),
		cmocka_unit_test(good_polls_count_only_in_a_row),
		cmocka_unit_test(an_old_driver_keeps_a_fatal_xid),
		cmocka_unit_test(a_recovery_action_is_unhealthy),
		cmocka_unit_test(a_contained_xid_is_degraded),
		cmocka_unit_test(pending_rows_are_degraded_and_failed_ones_broken),
		cmocka_unit_test(a_long_slowdown_is_degraded),
		cmocka_unit_test(a_lost_gpu_may_evict_pods),
		cmocka_unit_test(silence_is_unknown_and_faults_stay_unhealthy),
		cmocka_unit_test(degraded_findings_share_one_taint),
		cmocka_unit_test(a_condition_names_the_process),
	};
	struct CMUnitTest all[ARRAY_SIZE(tests)];

	for (size_t i = 0; i < ARRAY_SIZE(tests); i++) {
		all[i] = tests[i];
		all[i].setup_func = setup;
		all[i].teardown_func = teardown;
	}
	return cmocka_run_group_tests_name("health", all, NULL, NULL);
}
