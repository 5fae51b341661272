/* Differences, as `diff -u` prints them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "cli/output/text_diff.h"

static void assert_diff(const char *before, const char *after, bool colour, const char *want)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	CLEANUP(arena_release) struct arena a;
	struct text_diff d = { str_from(before), str_from(after), STR("a"), STR("b"), colour };

	arena_init(&a, 64 * MIB);
	assert_int_equal(text_diff_print(&a, &d, &out), *want != '\0');
	assert_string_equal(out.p ? out.p : "", want);
}

static void the_same_has_no_difference(void **state UNUSED)
{
	assert_diff("", "", false, "");
	assert_diff("a\nb\n", "a\nb\n", false, "");
}

static void lines_are_changed_with_some_around_them(void **state UNUSED)
{
	assert_diff("1\n2\n3\n4\n5\n6\n7\n8\n9\n", "1\n2\n3\n4\nx\n6\n7\n8\n9\n", false,
		    "--- a\n+++ b\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n");
}

static void something_comes_from_nothing_and_goes_there(void **state UNUSED)
{
	assert_diff("", "1\n2\n", false, "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+1\n+2\n");
	assert_diff("1\n", "", false, "--- a\n+++ b\n@@ -1 +0,0 @@\n-1\n");
}

static void the_fewest_lines_change(void **state UNUSED)
{
	assert_diff("a\nb\nc\nd\n", "a\nc\nx\nd\n", false,
		    "--- a\n+++ b\n@@ -1,4 +1,4 @@\n a\n-b\n c\n+x\n d\n");
}

static void far_changes_are_told_apart_and_near_ones_together(void **state UNUSED)
{
	assert_diff("x\n1\n2\n3\n4\n5\n6\n7\ny\n", "1\n2\n3\n4\n5\n6\n7\n", false,
		    "--- a\n+++ b\n@@ -1,4 +1,3 @@\n-x\n 1\n 2\n 3\n"
		    "@@ -6,4 +5,3 @@\n 5\n 6\n 7\n-y\n");
	assert_diff("x\n1\n2\n3\n4\n5\n6\ny\n", "1\n2\n3\n4\n5\n6\n", false,
		    "--- a\n+++ b\n@@ -1,8 +1,6 @@\n-x\n 1\n 2\n 3\n 4\n 5\n 6\n-y\n");
}

static void colours_are_of_whole_lines(void **state UNUSED)
{
	assert_diff("a\nb\n", "a\n", true,
		    "\033[1m--- a\033[0m\n\033[1m+++ b\033[0m\n"
		    "\033[36m@@ -1,2 +1 @@\033[0m\n a\n\033[31m-b\033[0m\n");
}

/* Too large for the table: everything is replaced, quickly. */
static void large_texts_are_replaced_as_a_whole(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf x = BUF_INIT(MIB), y = BUF_INIT(MIB), out = BUF_INIT(MIB);
	CLEANUP(arena_release) struct arena a;
	struct text_diff d = { .before_name = STR("a"), .after_name = STR("b") };
	const char head[] = "--- a\n+++ b\n@@ -1,5000 +1,5000 @@\n-x0\n-x1\n";

	for (int i = 0; i < 5000; i++) {
		(void)buf_printf(&x, "x%d\n", i);
		(void)buf_printf(&y, "y%d\n", i);
	}
	d.before = buf_str(&x);
	d.after = buf_str(&y);
	arena_init(&a, 4 * MIB);
	assert_true(text_diff_print(&a, &d, &out));
	assert_memory_equal(out.p, head, sizeof(head) - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_has_no_difference),
		cmocka_unit_test(lines_are_changed_with_some_around_them),
		cmocka_unit_test(something_comes_from_nothing_and_goes_there),
		cmocka_unit_test(the_fewest_lines_change),
		cmocka_unit_test(far_changes_are_told_apart_and_near_ones_together),
		cmocka_unit_test(colours_are_of_whole_lines),
		cmocka_unit_test(large_texts_are_replaced_as_a_whole),
	};

	return cmocka_run_group_tests_name("cli/text_diff", tests, NULL, NULL);
}
