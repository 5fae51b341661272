/* Sets of CPUs and their text. */
#include "base/text/cpu_set.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static struct cpu_set parse(const char *text)
{
	struct cpu_set s;

	assert_int_equal(cpu_set_parse(str_from(text), &s, NULL), 0);
	return s;
}

static void check_text(const char *text, const char *want)
{
	CLEANUP(arena_release) struct arena a;
	struct cpu_set s = parse(text);

	arena_init(&a, SIZE_MAX);
	assert_string_equal(arena_strdup(&a, cpu_set_print(&s, &a)), want);
}

static void text_is_read_and_written_as_the_kernel_does(void **state)
{
	check_text("0-3,8", "0-3,8");
	check_text("0-3,8\n", "0-3,8");
	check_text("8,3,1,2,0", "0-3,8");
	check_text("5", "5");
	check_text("1-1,2", "1-2");
	check_text("63-64,2047", "63-64,2047");
	check_text("", "");
	check_text("\n", "");
}

static void text_that_is_no_set_is_refused(void **state)
{
	static const char *const bad[] = { ",",   "1,",   "3-1",           "a",    "1-",    "-1",
					   "1 2", "2048", "0-99999999999", "1--2", "0-3,8 " };
	struct cpu_set s = parse("7");

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct error err;

		if (cpu_set_parse(str_from(bad[i]), &s, &err) != -ERR_INVALID)
			fail_msg("'%s' was taken", bad[i]);
	}
	assert_int_equal(cpu_set_next(&s, -1), 7);
}

static void sets_are_combined(void **state)
{
	struct cpu_set a = parse("0-4"), b = parse("3-6"), s;

	s = a;
	cpu_set_and(&s, &b);
	assert_true(cpu_set_equal(&s, &(struct cpu_set){ .w = { 0x18 } }));
	s = a;
	cpu_set_or(&s, &b);
	assert_int_equal(cpu_set_count(&s), 7);
	cpu_set_minus(&s, &a);
	assert_int_equal(cpu_set_count(&s), 2);
	cpu_set_remove(&s, 5);
	cpu_set_remove(&s, 6);
	assert_true(cpu_set_empty(&s));
}

static void ids_out_of_range_are_in_no_set(void **state)
{
	struct cpu_set s = { 0 };

	cpu_set_add(&s, -1);
	cpu_set_add(&s, CPU_SET_MAX);
	cpu_set_remove(&s, CPU_SET_MAX);
	assert_true(cpu_set_empty(&s));
	assert_false(cpu_set_has(&s, -1));
	assert_false(cpu_set_has(&s, CPU_SET_MAX));
	cpu_set_add(&s, CPU_SET_MAX - 1);
	assert_int_equal(cpu_set_next(&s, -1), CPU_SET_MAX - 1);
	assert_int_equal(cpu_set_next(&s, CPU_SET_MAX - 1), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_read_and_written_as_the_kernel_does),
		cmocka_unit_test(text_that_is_no_set_is_refused),
		cmocka_unit_test(sets_are_combined),
		cmocka_unit_test(ids_out_of_range_are_in_no_set),
	};

	return cmocka_run_group_tests_name("node/cpu_set", tests, NULL, NULL);
}
