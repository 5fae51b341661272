#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/text/columns.h"

static void row_wraps_the_right_column_below_itself(void **state)
{
	static const struct columns c = { .indent = 2, .left = 4, .width = 20 };
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);

	columns_row(&b, &c, STR("abc"), STR("one two three four"));
	assert_string_equal(b.p, "  abc   one two\n"
				 "        three four\n");
}

static void row_fills_the_line_to_its_last_column(void **state)
{
	static const struct columns c = { .indent = 0, .left = 2, .width = 11 };
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);

	columns_row(&b, &c, STR("ab"), STR("one two x"));
	assert_string_equal(b.p, "ab  one two\n    x\n");
}

static void row_with_a_long_left_text_starts_below_it(void **state)
{
	static const struct columns c = { .indent = 2, .left = 4, .width = 20 };
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);

	columns_row(&b, &c, STR("abcdef"), STR("one two"));
	assert_string_equal(b.p, "  abcdef\n        one two\n");
}

static void row_without_right_text_has_no_trailing_space(void **state)
{
	static const struct columns c = { .indent = 2, .left = 4, .width = 20 };
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);

	columns_row(&b, &c, STR("abc"), STR_NULL);
	assert_string_equal(b.p, "  abc\n");
}

static void row_counts_code_points_not_bytes(void **state)
{
	static const struct columns c = { .indent = 0, .left = 4, .width = 20 };
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);

	columns_row(&b, &c, STR("\xc3\xa9t\xc3\xa9"), STR("x"));
	assert_string_equal(b.p, "\xc3\xa9t\xc3\xa9   x\n");
	assert_int_equal(columns_count(STR("\xc3\xa9t\xc3\xa9")), 3);
	assert_int_equal(columns_count(STR("\xff\xff")), 2);
}

static void word_longer_than_the_line_is_not_cut(void **state)
{
	static const struct columns c = { .indent = 0, .left = 1, .width = 8 };
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);

	columns_row(&b, &c, STR("a"), STR("in incomprehensible ways"));
	assert_string_equal(b.p, "a  in\n   incomprehensible\n   ways\n");
}

static void paragraph_keeps_the_breaks_of_its_text(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(KIB);

	columns_paragraph(&b, 2, 12, STR("one two three\nfour\n\nfive"));
	assert_string_equal(b.p, "  one two\n  three\n  four\n\n  five\n");
}

static void left_column_leaves_half_of_the_line(void **state)
{
	assert_int_equal(columns_left(2, 10, 80), 10);
	assert_int_equal(columns_left(2, 100, 80), 36);
	assert_int_equal(columns_left(2, 10, 4), 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(row_wraps_the_right_column_below_itself),
		cmocka_unit_test(row_fills_the_line_to_its_last_column),
		cmocka_unit_test(row_with_a_long_left_text_starts_below_it),
		cmocka_unit_test(row_without_right_text_has_no_trailing_space),
		cmocka_unit_test(row_counts_code_points_not_bytes),
		cmocka_unit_test(word_longer_than_the_line_is_not_cut),
		cmocka_unit_test(paragraph_keeps_the_breaks_of_its_text),
		cmocka_unit_test(left_column_leaves_half_of_the_line),
	};

	return cmocka_run_group_tests_name("base/columns", tests, NULL, NULL);
}
