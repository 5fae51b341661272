/*
 * Expectations: when they are open, what closes them, and that they end.
 */
#include "controller/pods/expectations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define KEY STR("n/a")

static void nothing_expected_is_met(void **state UNUSED)
{
	struct expectations e;

	expectations_init(&e);
	assert_true(expectations_met(&e, KEY, 0));
	/* Events about an unknown owner change nothing. */
	expectations_created(&e, KEY);
	expectations_deleted(&e, KEY, STR("u1"));
	expectations_forget(&e, KEY);
	assert_true(expectations_met(&e, KEY, 0));
	expectations_release(&e);
}

static void each_creation_must_be_seen(void **state UNUSED)
{
	struct expectations e;

	expectations_init(&e);
	expectations_set(&e, KEY, 2, NULL, 0, 1000);
	assert_false(expectations_met(&e, KEY, 1000));
	assert_true(expectations_met(&e, STR("n/b"), 1000));
	expectations_created(&e, KEY);
	assert_false(expectations_met(&e, KEY, 1000));
	expectations_created(&e, KEY);
	assert_true(expectations_met(&e, KEY, 1000));
	/* One too many is no debt for the next time. */
	expectations_created(&e, KEY);
	expectations_set(&e, KEY, 1, NULL, 0, 1000);
	assert_false(expectations_met(&e, KEY, 1000));
	expectations_release(&e);
}

static void each_deletion_counts_once(void **state UNUSED)
{
	struct str uids[] = { STR("u1"), STR("u2"), STR("u2") };
	struct expectations e;

	expectations_init(&e);
	expectations_set(&e, KEY, 0, uids, 3, 0);
	expectations_deleted(&e, KEY, STR("u1"));
	expectations_deleted(&e, KEY, STR("u1"));
	expectations_deleted(&e, KEY, STR("u3"));
	assert_false(expectations_met(&e, KEY, 0));
	expectations_deleted(&e, KEY, STR("u2"));
	assert_true(expectations_met(&e, KEY, 0));
	expectations_release(&e);
}

static void they_end_after_five_minutes(void **state UNUSED)
{
	struct str uid = STR("u1");
	struct expectations e;

	expectations_init(&e);
	expectations_set(&e, KEY, 1, &uid, 1, 1000);
	assert_false(expectations_met(&e, KEY, 1000 + EXPECTATIONS_MS));
	assert_true(expectations_met(&e, KEY, 1001 + EXPECTATIONS_MS));
	/* New ones begin anew. */
	expectations_set(&e, KEY, 1, NULL, 0, 2000 + EXPECTATIONS_MS);
	assert_false(expectations_met(&e, KEY, 2001 + EXPECTATIONS_MS));
	expectations_created(&e, KEY);
	assert_true(expectations_met(&e, KEY, 2001 + EXPECTATIONS_MS));
	expectations_release(&e);
}

static void an_owner_that_is_gone_is_forgotten(void **state UNUSED)
{
	struct expectations e;

	expectations_init(&e);
	expectations_set(&e, KEY, 1, NULL, 0, 0);
	expectations_forget(&e, KEY);
	assert_true(expectations_met(&e, KEY, 0));
	expectations_release(&e);
}

static void deletions_are_known_until_they_are_seen(void **state UNUSED)
{
	struct str uids[] = { STR("a"), STR("b") };
	struct expectations e;

	expectations_init(&e);
	assert_false(expectations_deleting(&e, STR("n/x"), STR("a")));
	expectations_set(&e, STR("n/x"), 0, uids, 2, 0);
	assert_true(expectations_deleting(&e, STR("n/x"), STR("a")));
	assert_false(expectations_deleting(&e, STR("n/x"), STR("c")));
	assert_false(expectations_deleting(&e, STR("n/y"), STR("a")));
	expectations_deleted(&e, STR("n/x"), STR("a"));
	assert_false(expectations_deleting(&e, STR("n/x"), STR("a")));
	assert_true(expectations_deleting(&e, STR("n/x"), STR("b")));
	expectations_release(&e);
}

static void one_more_deletion_keeps_the_others(void **state UNUSED)
{
	struct expectations e;

	expectations_init(&e);
	assert_false(expectations_deleting(&e, KEY, STR("u1")));
	expectations_add_deleted(&e, KEY, STR("u1"));
	expectations_add_deleted(&e, KEY, STR("u2"));
	expectations_add_deleted(&e, KEY, STR("u2"));
	assert_true(expectations_deleting(&e, KEY, STR("u1")));
	assert_false(expectations_deleting(&e, STR("n/b"), STR("u1")));
	expectations_deleted(&e, KEY, STR("u2"));
	assert_false(expectations_deleting(&e, KEY, STR("u2")));
	assert_true(expectations_deleting(&e, KEY, STR("u1")));
	expectations_forget(&e, KEY);
	assert_false(expectations_deleting(&e, KEY, STR("u1")));
	expectations_release(&e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_expected_is_met),
		cmocka_unit_test(each_creation_must_be_seen),
		cmocka_unit_test(each_deletion_counts_once),
		cmocka_unit_test(they_end_after_five_minutes),
		cmocka_unit_test(an_owner_that_is_gone_is_forgotten),
		cmocka_unit_test(deletions_are_known_until_they_are_seen),
		cmocka_unit_test(one_more_deletion_keeps_the_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
