#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "node/eviction/eviction.h"

static int read_flags(const struct eviction_flags *f, struct eviction_config *c, struct error *err)
{
	*c = (struct eviction_config){ .transition_ms = 7 };
	return eviction_config_read(f, c, err);
}

#define FLAGS(...)    (&(struct eviction_flags){ __VA_ARGS__ })
#define LIST(name, v) .name = (v), .n##name = sizeof(v) / sizeof((v)[0])

static void defaults_are_those_of_upstream(void **state)
{
	struct eviction_config c;
	struct error err;

	(void)state;
	assert_int_equal(read_flags(FLAGS(0), &c, &err), 0);
	assert_int_equal(c.n, 5);
	assert_int_equal(c.transition_ms, 7);
	for (size_t i = 0; i < c.n; i++)
		assert_false(c.v[i].soft);
	assert_int_equal(c.v[0].signal, EVICTION_MEMORY);
	assert_int_equal(c.v[0].amount.value, 100 << 20);
	assert_int_equal(eviction_amount_at(&c.v[1].amount, 1000), 100);
	assert_int_equal(eviction_amount_at(&c.v[2].amount, 1000), 150);
}

static void flags_set_all_of_a_threshold(void **state)
{
	const char *const hard[] = { "memory.available<1Gi", " nodefs.available < 5% " };
	const char *const soft[] = { "memory.available<2Gi" };
	const char *const grace[] = { "memory.available=1m30s" };
	const char *const reclaim[] = { "memory.available=500Mi", "imagefs.available=2Gi" };
	struct eviction_config c;
	struct error err;

	(void)state;
	assert_int_equal(read_flags(FLAGS(LIST(hard, hard), LIST(soft, soft), LIST(grace, grace),
					  LIST(reclaim, reclaim)),
				    &c, &err),
			 0);
	assert_int_equal(c.n, 3);
	assert_int_equal(c.v[0].reclaim.value, 500 << 20);
	assert_true(c.v[2].soft);
	assert_int_equal(c.v[2].grace_ms, 90000);
	assert_int_equal(c.v[2].reclaim.value, 500 << 20);
}

static void thresholds_can_be_switched_off(void **state)
{
	const char *const none[] = { "none" };
	const char *const off[] = { "memory.available<0%", "nodefs.available<100%" };
	const char *const twice[] = { "memory.available<1Gi", "memory.available<0%" };
	struct eviction_config c;
	struct error err;

	(void)state;
	assert_int_equal(read_flags(FLAGS(LIST(hard, none)), &c, &err), 0);
	assert_int_equal(c.n, 0);
	assert_int_equal(read_flags(FLAGS(LIST(hard, off)), &c, &err), 0);
	assert_int_equal(c.n, 0);
	assert_int_equal(read_flags(FLAGS(LIST(hard, twice)), &c, &err), 0);
	assert_int_equal(c.n, 0);
}

static void nonsense_is_rejected(void **state)
{
	static const char *const bad[] = { "<",
					   "memory.available",
					   "memory.available<",
					   "memory.available<<1Gi",
					   "memory.available<-1Gi",
					   "memory.available<0",
					   "memory.available<101%",
					   "memory.available<-1%",
					   "memory.available<nan%",
					   "memory.available<inf%",
					   "memory.available<0x10%",
					   "memory.available<%",
					   "memory.available<1Gi2",
					   "memory.available=1Gi",
					   "memory.free<1Gi",
					   "pid.available<10%",
					   "MEMORY.AVAILABLE<1Gi" };
	static const char *const bad_pairs[] = {
		"=",          "memory.available",     "memory.available=",
		"nothing=1m", "memory.available=-1s", "memory.available=soon"
	};
	const char *const soft[] = { "memory.available<2Gi" };
	struct eviction_config c;
	struct error err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (read_flags(FLAGS(.hard = &bad[i], .nhard = 1), &c, &err) != -ERR_INVALID)
			fail_msg("accepted: %s", bad[i]);
	}
	for (size_t i = 0; i < sizeof(bad_pairs) / sizeof(bad_pairs[0]); i++) {
		if (read_flags(FLAGS(LIST(soft, soft), .grace = &bad_pairs[i], .ngrace = 1), &c,
			       &err) != -ERR_INVALID)
			fail_msg("accepted as a grace period: %s", bad_pairs[i]);
	}
	/* A soft threshold needs a grace period. */
	assert_int_equal(read_flags(FLAGS(LIST(soft, soft)), &c, &err), -ERR_INVALID);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_are_those_of_upstream),
		cmocka_unit_test(flags_set_all_of_a_threshold),
		cmocka_unit_test(thresholds_can_be_switched_off),
		cmocka_unit_test(nonsense_is_rejected),
	};

	return cmocka_run_group_tests_name("node/eviction_config", tests, NULL, NULL);
}
