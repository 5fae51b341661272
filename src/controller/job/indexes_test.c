/*
 * Sets of indexes: tables, and nonsense as a status may hold it.
 */
#include "controller/job/indexes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"

static void check_text(struct arena *a, const struct job_indexes *set, const char *expected)
{
	struct str text = job_indexes_print(a, set);

	if (!str_eqz(text, expected))
		fail_msg("\"%.*s\", not \"%s\"", STR_ARG(text), expected);
}

static void texts_are_read_as_far_as_they_are_valid(void **state UNUSED)
{
	static const struct {
		const char *text, *printed;
		int64_t completions, total;
	} cases[] = {
		{ "", "", 10, 0 },
		{ "0", "0", 10, 1 },
		{ "0,1", "0,1", 10, 2 },
		{ "0,1,2", "0-2", 10, 3 },
		{ "1,3-5,7", "1,3-5,7", 10, 5 },
		{ "1,3-9", "1,3,4", 5, 3 },
		{ "1,7", "1", 5, 1 },
		{ "0-2147483647", "0-2147483646", 2147483647, 2147483647 },
		{ "0-2147483647", "", 0, 0 },
		{ "x,3", "3", 10, 1 },
		{ "5-3,7", "7", 10, 1 },
		{ "5,3,6", "5,6", 10, 2 },
		{ "-1,-5-2,2", "2", 10, 1 },
		{ "1-,2-x,3--4,,5", "5", 10, 1 },
		{ "1-3,2-5", "1-3", 10, 3 },
		{ "99999999999999999999,4", "4", 10, 1 },
		{ ",,,,", "", 10, 0 },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct job_indexes set = job_indexes_read(&a, str_from(cases[i].text),
							  cases[i].completions);

		check_text(&a, &set, cases[i].printed);
		assert_int_equal(job_indexes_total(&set), cases[i].total);
	}
	arena_release(&a);
}

static void sets_are_merged_and_compared(void **state UNUSED)
{
	static const struct {
		const char *x, *y, *both;
		int64_t common;
	} cases[] = {
		{ "", "", "", 0 },
		{ "1", "", "1", 0 },
		{ "1-3", "4-6", "1-6", 0 },
		{ "1-3", "5-6", "1-3,5,6", 0 },
		{ "1-9", "3-4", "1-9", 2 },
		{ "0,2,4", "1,3", "0-4", 0 },
		{ "0-2,4,6-8", "2-6", "0-8", 3 },
		{ "3", "0-9", "0-9", 1 },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct job_indexes x = job_indexes_read(&a, str_from(cases[i].x), 100);
		struct job_indexes y = job_indexes_read(&a, str_from(cases[i].y), 100);
		struct job_indexes xy = job_indexes_merge(&a, &x, &y);
		struct job_indexes yx = job_indexes_merge(&a, &y, &x);

		check_text(&a, &xy, cases[i].both);
		check_text(&a, &yx, cases[i].both);
		assert_int_equal(job_indexes_common(&x, &y), cases[i].common);
		assert_int_equal(job_indexes_common(&y, &x), cases[i].common);
		for (int64_t n = -1; n < 12; n++)
			assert_int_equal(job_indexes_has(&xy, n),
					 job_indexes_has(&x, n) || job_indexes_has(&y, n));
	}
	arena_release(&a);
}

static void the_first_missing_indexes_are_found(void **state UNUSED)
{
	static const struct {
		const char *set;
		int64_t completions;
		size_t max;
		const char *missing;
	} cases[] = {
		{ "", 3, 10, "0-2" },
		{ "", 3, 2, "0,1" },
		{ "", 0, 5, "" },
		{ "0-2", 3, 5, "" },
		{ "0,2", 5, 2, "1,3" },
		{ "1-3", 6, 9, "0,4,5" },
		{ "0-99999999", 2147483647, 2, "100000000,100000001" },
		{ "5-9", 3, 9, "0-2" },
	};
	struct arena a;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct job_indexes set = job_indexes_read(&a, str_from(cases[i].set), INT64_MAX);
		int64_t found[16];
		size_t n = job_indexes_missing(&set, cases[i].completions, found, cases[i].max);

		set = job_indexes_of(&a, found, n);
		check_text(&a, &set, cases[i].missing);
	}
	arena_release(&a);
}

static void indexes_are_sorted_and_counted_once(void **state UNUSED)
{
	int64_t v[] = { 5, 1, 3, 1, 4, 5, 0 };
	struct job_indexes set;
	struct arena a;

	arena_init(&a, MIB);
	set = job_indexes_of(&a, v, ARRAY_SIZE(v));
	check_text(&a, &set, "0,1,3-5");
	set = job_indexes_of(&a, NULL, 0);
	check_text(&a, &set, "");
	arena_release(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_read_as_far_as_they_are_valid),
		cmocka_unit_test(sets_are_merged_and_compared),
		cmocka_unit_test(the_first_missing_indexes_are_found),
		cmocka_unit_test(indexes_are_sorted_and_counted_once),
	};

	return cmocka_run_group_tests_name("controller/job_indexes", tests, NULL, NULL);
}
