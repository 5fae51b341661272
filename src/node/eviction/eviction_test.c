#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "node/eviction/eviction.h"

#define MIN_MS 60000

/* Hard: memory < 100, nodefs < 10 %; soft: memory < 200 for a minute. Minimum reclaim 50. */
static const struct eviction_config config = {
	.v = { { .signal = EVICTION_NODEFS, .amount = { .relative = true, .part = 0.1 } },
	       { .signal = EVICTION_MEMORY,
		 .amount = { .value = 100 },
		 .reclaim = { .value = 50 } },
	       { .signal = EVICTION_MEMORY,
		 .amount = { .value = 200 },
		 .soft = true,
		 .grace_ms = MIN_MS } },
	.n = 3,
	.transition_ms = 5 * MIN_MS,
};

struct step {
	int64_t minute, memory, disk; /* available; -1: unknown */
	bool memory_pressure, disk_pressure;
	int acts; /* index of the threshold; -1: none */
};

static void run(const struct step *steps, size_t n)
{
	struct eviction_state s = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct eviction_figure f[EVICTION_SIGNALS] = {
			[EVICTION_MEMORY] = { steps[i].memory >= 0, steps[i].memory, 1000 },
			[EVICTION_NODEFS] = { steps[i].disk >= 0, steps[i].disk, 1000 },
		};
		const struct eviction_threshold *t = eviction_look(&s, &config, f,
								   steps[i].minute * MIN_MS);
		int acts = t ? (int)(t - config.v) : -1;

		if (acts != steps[i].acts || s.memory != steps[i].memory_pressure ||
		    s.disk != steps[i].disk_pressure)
			fail_msg("step %zu: acts %d, memory %d, disk %d", i, acts, s.memory,
				 s.disk);
	}
}

static void pressure_stays_for_the_transition_period(void **state)
{
	static const struct step steps[] = {
		{ 0, 500, 500, false, false, -1 }, { 1, 99, 500, true, false, 1 },
		{ 2, 500, 500, true, false, -1 },  { 5, 500, 500, true, false, -1 },
		{ 6, 500, 500, false, false, -1 }, { 7, 500, 99, false, true, 0 },
		{ 8, 500, 100, false, true, -1 },  { 12, 500, 100, false, false, -1 },
	};

	(void)state;
	run(steps, sizeof(steps) / sizeof(steps[0]));
}

static void a_soft_threshold_waits_for_its_grace_period(void **state)
{
	static const struct step steps[] = {
		{ 10, 150, 500, true, false, -1 }, { 10, 150, 500, true, false, -1 },
		{ 11, 150, 500, true, false, 2 },  { 12, 250, 500, true, false, -1 },
		{ 13, 150, 500, true, false, -1 }, { 14, 150, 500, true, false, 2 },
	};

	(void)state;
	run(steps, sizeof(steps) / sizeof(steps[0]));
}

static void a_threshold_stays_met_until_its_minimum_reclaim(void **state)
{
	/* Minute 3: 120 is more than 100, but less than 150. The soft one is due, too, later. */
	static const struct step steps[] = {
		{ 1, 90, 500, true, false, 1 },
		{ 1, 120, 500, true, false, 1 },
		{ 1, 150, 500, true, false, -1 },
		{ 1, 120, 500, true, false, -1 },
	};

	(void)state;
	run(steps, sizeof(steps) / sizeof(steps[0]));
}

static void memory_comes_first_and_unknown_figures_do_not_count(void **state)
{
	static const struct step steps[] = {
		{ 0, -1, -1, false, false, -1 },
		{ 1, 50, 50, true, true, 1 },
		{ 2, -1, 50, true, true, 0 },
	};

	(void)state;
	run(steps, sizeof(steps) / sizeof(steps[0]));
}

/* --- pods ----------------------------------------------------------------------------- */

#define POD(name, ...)                                              \
	{                                                           \
		.owner = (void *)(name), .known = true, __VA_ARGS__ \
	}

static void assert_order(struct eviction_pod *pods, size_t n, enum eviction_signal signal,
			 const char *want)
{
	char got[64] = "";

	eviction_rank(pods, n, signal);
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(got);

		(void)snprintf(got + len, sizeof(got) - len, "%s", (const char *)pods[i].owner);
	}
	assert_string_equal(got, want);
}

static void pods_are_ranked_as_upstream(void **state)
{
	struct eviction_pod memory[] = {
		POD("a", .memory = 10, .memory_request = 20, .priority = -5),
		POD("b", .memory = 30, .memory_request = 20, .priority = 9),
		POD("c", .memory = 30, .memory_request = 20, .priority = 1),
		POD("d", .memory = 90, .memory_request = 20, .priority = 1),
		{ .owner = (void *)"u", .priority = 100 },
		POD("e", .memory = 15, .memory_request = 20, .priority = -5),
	};
	struct eviction_pod disk[] = { POD("a", .disk = 5, .disk_request = 0),
				       POD("b", .disk = 50, .disk_request = 0),
				       POD("c", .disk = 90, .disk_request = 100) };
	struct eviction_pod inodes[] = { POD("a", .inodes = 5), POD("b", .inodes = 50) };
	struct eviction_pod wild[] = {
		POD("a", .memory = INT64_MAX, .memory_request = INT64_MIN),
		POD("b", .memory = 0, .memory_request = INT64_MAX),
	};

	(void)state;
	assert_order(memory, 6, EVICTION_MEMORY, "udcbea");
	assert_order(disk, 3, EVICTION_NODEFS, "bac");
	assert_order(inodes, 2, EVICTION_IMAGEFS_INODES, "ba");
	assert_order(wild, 2, EVICTION_MEMORY, "ab");
}

static void critical_pods_are_not_picked(void **state)
{
	struct eviction_pod pods[] = { POD("a", .critical = true), POD("b", .critical = false) };

	(void)state;
	assert_ptr_equal(eviction_pick(pods, 2), &pods[1]);
	assert_null(eviction_pick(pods, 1));
	assert_null(eviction_pick(NULL, 0));
}

static void the_message_names_figures_and_containers(void **state)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(4096);
	struct eviction_container c[] = {
		{ .name = STR("big"), .memory = 300 << 20, .memory_request = 100 << 20 },
		{ .name = STR("small"), .memory = 1, .memory_request = 100 << 20 },
		{ .name = STR("new"), .memory = -1 },
	};
	struct eviction_pod pod = { .known = true, .containers = c, .ncontainers = 3 };
	struct eviction_threshold t = { .amount = { .value = 100 << 20 } };
	struct eviction_figure f = { true, 50 << 20, INT64_C(1) << 30 };

	(void)state;
	eviction_message(&pod, &t, &f, &out);
	assert_string_equal(out.p, "The node was low on resource: memory. Threshold quantity: "
				   "100Mi, available: 50Mi. Container big was using 300Mi, request "
				   "is 100Mi, has larger consumption of memory. ");
}

static void admission_follows_the_conditions(void **state)
{
	static const struct {
		bool memory, disk, critical, best_effort, tolerates, admits;
	} cases[] = {
		{ .best_effort = true, .admits = true },
		{ .memory = true, .admits = true },
		{ .memory = true, .best_effort = true },
		{ .memory = true, .best_effort = true, .tolerates = true, .admits = true },
		{ .memory = true, .best_effort = true, .critical = true, .admits = true },
		{ .disk = true },
		{ .disk = true, .tolerates = true },
		{ .memory = true, .disk = true },
		{ .disk = true, .critical = true, .admits = true },
	};
	char text[128] = "";

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (eviction_admits(cases[i].memory, cases[i].disk, cases[i].critical,
				    cases[i].best_effort, cases[i].tolerates,
				    text) != cases[i].admits)
			fail_msg("case %zu", i);
	}
	(void)eviction_admits(true, true, false, true, false, text);
	assert_string_equal(text, "The node had condition: [MemoryPressure DiskPressure]. ");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(pressure_stays_for_the_transition_period),
		cmocka_unit_test(a_soft_threshold_waits_for_its_grace_period),
		cmocka_unit_test(a_threshold_stays_met_until_its_minimum_reclaim),
		cmocka_unit_test(memory_comes_first_and_unknown_figures_do_not_count),
		cmocka_unit_test(pods_are_ranked_as_upstream),
		cmocka_unit_test(critical_pods_are_not_picked),
		cmocka_unit_test(the_message_names_figures_and_containers),
		cmocka_unit_test(admission_follows_the_conditions),
	};

	return cmocka_run_group_tests_name("node/eviction", tests, NULL, NULL);
}
