/*
 * A driver's own samples: printed by name, invalid ones left out.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "drivers/sdk/samples.h"

#include "base/core/limits.h"
#include "drivers/drivers_limits.h"

static void samples_are_printed_by_name(void **state UNUSED)
{
	static const char *const a[] = { "gpu", "0", "pod", "x\"\\\ny", NULL };
	static const char *const b[] = { "gpu", "1", NULL };
	CLEANUP(samples_free) struct dp_metrics *m = samples_new();
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

	assert_int_equal(dp_metrics_add(m, "gpu_used_bytes", "Memory\nused.", DP_GAUGE, a, 1.5), 0);
	assert_int_equal(dp_metrics_add(m, "xid_total", NULL, DP_COUNTER, NULL, 3), 0);
	assert_int_equal(dp_metrics_add(m, "gpu_used_bytes", "other", DP_COUNTER, b, 1e9), 0);
	assert_int_equal(samples_print(m, &text), 0);
	assert_string_equal(text.p, "# HELP gpu_used_bytes Memory\\nused.\n"
				    "# TYPE gpu_used_bytes gauge\n"
				    "gpu_used_bytes{gpu=\"0\",pod=\"x\\\"\\\\\\ny\"} 1.5\n"
				    "gpu_used_bytes{gpu=\"1\"} 1e+09\n"
				    "# TYPE xid_total counter\n"
				    "xid_total 3\n");
	assert_int_equal(samples_rejected(m), 0);
}

static void invalid_samples_are_left_out(void **state UNUSED)
{
	static const char *const odd[] = { "gpu", NULL };
	static const char *const name[] = { "g-p", "0", NULL };
	static const char *const own[] = { "__gpu", "0", NULL };
	static const char *const bytes[] = { "gpu", "\xff", NULL };
	CLEANUP(samples_free) struct dp_metrics *m = samples_new();
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);

	assert_int_equal(dp_metrics_add(m, NULL, "", DP_GAUGE, NULL, 1), -1);
	assert_int_equal(dp_metrics_add(m, "0a", "", DP_GAUGE, NULL, 1), -1);
	assert_int_equal(dp_metrics_add(m, "a b", "", DP_GAUGE, NULL, 1), -1);
	assert_int_equal(dp_metrics_add(m, "devplane_a", "", DP_GAUGE, NULL, 1), -1);
	assert_int_equal(dp_metrics_add(m, "a", "", 7, NULL, 1), -1);
	assert_int_equal(dp_metrics_add(m, "a", "", DP_GAUGE, odd, 1), -1);
	assert_int_equal(dp_metrics_add(m, "a", "", DP_GAUGE, name, 1), -1);
	assert_int_equal(dp_metrics_add(m, "a", "", DP_GAUGE, own, 1), -1);
	assert_int_equal(dp_metrics_add(m, "a", "", DP_GAUGE, bytes, 1), -1);
	assert_int_equal(samples_print(m, &text), 0);
	assert_int_equal(text.n, 0);
	assert_int_equal(dp_metrics_add(m, "a", "", DP_GAUGE, NULL, 1), 0);
	assert_int_equal(dp_metrics_add(m, "a", "", DP_GAUGE, NULL, 2), -1);
	assert_int_equal(samples_rejected(m), 10);
}

static void there_is_a_limit_of_samples(void **state UNUSED)
{
	CLEANUP(samples_free) struct dp_metrics *m = samples_new();
	const char *labels[] = { "i", NULL, NULL };
	char text[16];

	for (int i = 0; i < DRIVER_SAMPLES_MAX; i++) {
		(void)snprintf(text, sizeof(text), "%d", i);
		labels[1] = text;
		assert_int_equal(dp_metrics_add(m, "a", NULL, DP_GAUGE, labels, i), 0);
	}
	labels[1] = "x";
	assert_int_equal(dp_metrics_add(m, "a", NULL, DP_GAUGE, labels, 0), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_printed_by_name),
		cmocka_unit_test(invalid_samples_are_left_out),
		cmocka_unit_test(there_is_a_limit_of_samples),
	};

	return cmocka_run_group_tests_name("drivers/samples", tests, NULL, NULL);
}
