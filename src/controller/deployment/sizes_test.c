/*
 * Sizes of ReplicaSets in a rollout, as tables.
 */
#include "controller/deployment/sizes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"

static struct deployment_limits read_limits(const char *text)
{
	struct deployment_limits l;
	struct arena a;
	struct json *v;

	arena_init(&a, MIB);
	assert_int_equal(json_parse(&a, str_from(text), NULL, &v, NULL), 0);
	l = deployment_limits(v);
	arena_release(&a);
	return l;
}

#define ROLLING(surge, unavailable)                                                       \
	"\"strategy\":{\"type\":\"RollingUpdate\",\"rollingUpdate\":{\"maxSurge\":" surge \
	",\"maxUnavailable\":" unavailable "}}"

static void limits_are_rounded_and_bounded(void **state UNUSED)
{
	static const struct {
		const char *spec;
		int64_t replicas, surge, unavailable;
	} cases[] = {
		{ "{\"replicas\":10," ROLLING("\"25%\"", "\"25%\"") "}", 10, 3, 2 },
		{ "{\"replicas\":10," ROLLING("\"39%\"", "\"39%\"") "}", 10, 4, 3 },
		{ "{\"replicas\":1," ROLLING("\"25%\"", "\"25%\"") "}", 1, 1, 0 },
		{ "{\"replicas\":2," ROLLING("0", "\"1%\"") "}", 2, 0, 1 },
		{ "{\"replicas\":0," ROLLING("\"50%\"", "\"50%\"") "}", 0, 0, 0 },
		{ "{\"replicas\":0," ROLLING("1", "1") "}", 0, 1, 0 },
		{ "{\"replicas\":3," ROLLING("2", "9") "}", 3, 2, 3 },
		{ "{\"replicas\":4," ROLLING("\"100%\"", "0") "}", 4, 4, 0 },
		{ "{\"replicas\":4,\"strategy\":{\"type\":\"Recreate\"}}", 4, 0, 0 },
		{ "{\"strategy\":{}}", 1, 0, 1 },
		/* Nonsense. */
		{ "{\"replicas\":-3," ROLLING("-1", "-2") "}", 0, 0, 0 },
		{ "{\"replicas\":10," ROLLING("\"oops\"", "\"39%\"") "}", 10, 0, 3 },
		{ "{\"replicas\":10," ROLLING("\"%\"", "\"-5%\"") "}", 10, 0, 1 },
		{ "{\"replicas\":10," ROLLING("[]", "{}") "}", 10, 0, 1 },
		{ "{\"replicas\":2147483647," ROLLING("\"9223372036854775807%\"", "\"100%\"") "}",
		  INT32_MAX, INT32_MAX, INT32_MAX },
		{ "{\"replicas\":99999999999," ROLLING("99999999999", "1") "}", INT32_MAX,
		  INT32_MAX, 1 },
		{ "[]", 1, 0, 1 },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct deployment_limits l = read_limits(cases[i].spec);

		if (l.replicas != cases[i].replicas || l.surge != cases[i].surge ||
		    l.unavailable != cases[i].unavailable)
			fail_msg("%s: %lld %lld %lld", cases[i].spec, (long long)l.replicas,
				 (long long)l.surge, (long long)l.unavailable);
	}
}

static void the_new_one_grows_into_the_surge(void **state UNUSED)
{
	static const struct {
		int64_t replicas, surge, old, now, expected;
		bool recreate;
	} cases[] = {
		{ 10, 0, 10, 0, 0, false }, { 10, 2, 10, 0, 2, false },  { 10, 2, 5, 0, 7, false },
		{ 10, 2, 10, 2, 2, false }, { 10, 2, 2, 11, 10, false }, { 10, 5, 0, 3, 10, false },
		{ 10, 0, 20, 1, 1, false }, { 0, 1, 3, 2, 0, false },    { 4, 0, 0, 0, 4, true },
		{ 4, 0, 9, 1, 4, true },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct deployment_limits l = { .replicas = cases[i].replicas,
					       .surge = cases[i].surge,
					       .rolling = !cases[i].recreate };

		assert_int_equal(deployment_new_size(&l, cases[i].old + cases[i].now, cases[i].now),
				 cases[i].expected);
	}
}

static void old_ones_shrink_as_availability_allows(void **state UNUSED)
{
	static const struct {
		int64_t replicas, unavailable;
		struct deployment_size now, old[2];
		int64_t expected[2];
	} cases[] = {
		{ 10, 1, { 0 }, { { 10, 10, false, 0 } }, { 9 } },
		{ 10, 2, { 0 }, { { 10, 10, false, 0 } }, { 8 } },
		/* Two that are not available go, and then availability allows nothing. */
		{ 10, 2, { 0 }, { { 10, 8, false, 0 } }, { 8 } },
		{ 10, 2, { 0 }, { { 10, 9, false, 0 } }, { 8 } },
		/* New pods that are not available yet hold it back. */
		{ 10, 2, { 2, 0, false, 0 }, { { 8, 8, false, 0 } }, { 8 } },
		{ 10, 2, { 2, 2, false, 0 }, { { 8, 8, false, 0 } }, { 6 } },
		/* Unhealthy ones first, whichever ReplicaSet has them. */
		{ 10, 0, { 3, 3, false, 0 }, { { 8, 8, false, 0 }, { 2, 0, false, 0 } }, { 7, 0 } },
		{ 10, 0, { 2, 2, false, 0 }, { { 8, 8, false, 0 }, { 2, 0, false, 0 } }, { 8, 0 } },
		{ 10,
		  0,
		  { 10, 10, false, 0 },
		  { { 2, 2, false, 0 }, { 1, 0, false, 0 } },
		  { 0, 0 } },
		/* A status that is older than the spec: neither healthy nor unhealthy. */
		{ 10, 2, { 2, 2, false, 0 }, { { 8, 8, true, 0 } }, { 8 } },
		{ 10, 2, { 2, 2, true, 0 }, { { 8, 8, false, 0 } }, { 8 } },
		{ 10, 2, { 5, 5, true, 0 }, { { 8, 8, false, 0 }, { 2, 0, false, 0 } }, { 8, 0 } },
		/* More available than replicas, just after scaling down: they do not count. */
		{ 3, 2, { 0 }, { { 1, 3, false, 0 } }, { 1 } },
		{ 3, 1, { 2, 1, false, 0 }, { { 1, 3, false, 0 } }, { 1 } },
		{ 4, 1, { 4, 4, false, 0 }, { { 1, 3, false, 0 } }, { 0 } },
		{ 4, 1, { 0, 3, false, 0 }, { { 4, 0, false, 0 } }, { 3 } },
		{ 0, 0, { 0 }, { { 3, 3, false, 0 }, { 3, 0, false, 0 } }, { 0, 0 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct deployment_limits l = { .replicas = cases[i].replicas,
					       .unavailable = cases[i].unavailable,
					       .rolling = true };
		struct deployment_size sizes[2] = { cases[i].old[0], cases[i].old[1] };
		struct deployment_size *old[2] = { &sizes[0], &sizes[1] };
		int64_t before = sizes[0].replicas + sizes[1].replicas;
		int64_t by = deployment_shrink_old(&l, &cases[i].now, old, 2);

		if (sizes[0].replicas != cases[i].expected[0] ||
		    sizes[1].replicas != cases[i].expected[1])
			fail_msg("case %zu: %lld %lld", i, (long long)sizes[0].replicas,
				 (long long)sizes[1].replicas);
		assert_int_equal(by, before - sizes[0].replicas - sizes[1].replicas);
	}
}

/* Sizes from large to small, with the Deployment's replicas before. */
static void changes_are_spread_in_proportion(void **state UNUSED)
{
	static const struct {
		int64_t before, after, surge_before, surge;
		int64_t sizes[3], expected[3];
	} cases[] = {
		{ 5, 10, 0, 0, { 3, 2 }, { 6, 4 } },
		{ 5, 3, 0, 0, { 3, 2 }, { 2, 1 } },
		{ 9, 4, 0, 0, { 8, 1 }, { 4, 0 } },
		{ 7, 10, 0, 0, { 3, 2, 2 }, { 4, 3, 3 } },
		{ 13, 8, 0, 0, { 8, 3, 2 }, { 5, 2, 1 } },
		{ 3, 4, 0, 0, { 1, 1, 1 }, { 2, 1, 1 } },
		{ 3, 2, 0, 0, { 1, 1, 1 }, { 0, 1, 1 } },
		{ 4, 5, 0, 0, { 2, 2 }, { 3, 2 } },
		{ 6, 0, 0, 0, { 3, 2, 1 }, { 0, 0, 0 } },
		{ 10, 20, 2, 2, { 6, 6 }, { 11, 11 } },
		{ 10, 50, 3, 6, { 8, 5 }, { 34, 22 } },
		{ 10, 14, 0, 0, { 7, 3 }, { 10, 4 } },
		{ 5, 5, 0, 0, { 3, 2 }, { 3, 2 } },
		/* Without the annotation, status.replicas counts. */
		{ -5, 10, 0, 0, { 3, 2 }, { 6, 4 } },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct deployment_limits l = { .replicas = cases[i].after,
					       .surge = cases[i].surge,
					       .rolling = true };
		int64_t max = cases[i].before + cases[i].surge_before;
		struct deployment_size sizes[3], *active[3];
		size_t n = cases[i].sizes[2] > 0 ? 3 : 2;

		for (size_t k = 0; k < n; k++) {
			sizes[k] = (struct deployment_size){ .replicas = cases[i].sizes[k],
							     .max = max > 0 ? max : 0 };
			active[k] = &sizes[k];
		}
		deployment_scale_proportionally(&l, active, n, max > 0 ? 0 : -max);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(sizes[k].replicas, cases[i].expected[k]);
	}
}

static void sums_stay_within_bounds_for_any_numbers(void **state UNUSED)
{
	static const int64_t values[] = { 0, 1, 2, 7, 100, INT32_MAX - 1, INT32_MAX };
	enum { N = ARRAY_SIZE(values) };

	for (size_t i = 0; i < N * N * N * N * N; i++) {
		struct deployment_limits l = { .replicas = values[i % N],
					       .surge = values[i / N % N],
					       .rolling = true };
		struct deployment_size a = { .replicas = MAX(values[i / N / N % N], 1),
					     .max = values[i / N / N / N % N] };
		struct deployment_size b = { .replicas = MAX(values[i / N / N / N / N], 1),
					     .max = a.max };
		struct deployment_size *active[] = { &a, &b };
		int64_t most = l.replicas ? l.replicas + l.surge : 0;
		bool grows = a.replicas + b.replicas < most;

		deployment_scale_proportionally(&l, active, 2, 3);
		assert_true(a.replicas >= 0 && b.replicas >= 0);
		if (grows)
			assert_true(a.replicas + b.replicas <= most);
		else
			assert_true(a.replicas + b.replicas >= most);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_rounded_and_bounded),
		cmocka_unit_test(the_new_one_grows_into_the_surge),
		cmocka_unit_test(old_ones_shrink_as_availability_allows),
		cmocka_unit_test(changes_are_spread_in_proportion),
		cmocka_unit_test(sums_stay_within_bounds_for_any_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
