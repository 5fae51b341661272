/*
 * The layouts are those of Go's text/tabwriter.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "cli/output/tabs.h"

static void assert_aligned(const char *text, const struct tabs_style *style, const char *want)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);

	tabs_align(&out, str_from(text), style);
	assert_string_equal(out.p ? out.p : "", want);
}

static void a_table_has_columns_of_six_and_gaps_of_three(void **state UNUSED)
{
	assert_aligned("NAME\tREADY\tAGE\na\t1/1\t5s\nlonger-name\t0/1\t10m\n", TABS_TABLE,
		       "NAME          READY   AGE\n"
		       "a             1/1     5s\n"
		       "longer-name   0/1     10m\n");
	assert_aligned("A\tB\nx\ty\n", TABS_TABLE, "A     B\nx     y\n");
}

static void a_column_ends_where_a_line_has_none(void **state UNUSED)
{
	assert_aligned("Name:\tx\nLonger name:\ty\nPlain\nA:\tz\n  B:\tz\n", TABS_DESCRIBE,
		       "Name:         x\n"
		       "Longer name:  y\n"
		       "Plain\n"
		       "A:    z\n"
		       "  B:  z\n");
}

static void columns_nest(void **state UNUSED)
{
	assert_aligned("a\tb\tc\naa\tbbbb\tc\nx\ty\naaaaa\tb\tc\n", TABS_DESCRIBE,
		       "a      b     c\n"
		       "aa     bbbb  c\n"
		       "x      y\n"
		       "aaaaa  b  c\n");
}

static void characters_count_and_colours_do_not(void **state UNUSED)
{
	assert_aligned("\xc3\xa4\xc3\xb6\tx\nabc\tx\n", TABS_DESCRIBE,
		       "\xc3\xa4\xc3\xb6   x\nabc  x\n");
	assert_aligned("\033[31mab\033[0m\tx\nabc\tx\n", TABS_DESCRIBE,
		       "\033[31mab\033[0m   x\nabc  x\n");
}

static void empty_lines_and_cells_stay(void **state UNUSED)
{
	assert_aligned("\n", TABS_DESCRIBE, "\n");
	assert_aligned("", TABS_DESCRIBE, "");
	assert_aligned("a\t\tc\nb\tx\tc\n", TABS_DESCRIBE, "a     c\nb  x  c\n");
	assert_aligned("no end", TABS_DESCRIBE, "no end\n");
}

static void later_parts_keep_the_widths(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(MIB);
	struct tabs_memory memory = { { 0 } };

	tabs_align_more(&out, STR("NAME\tX\nlong-name-here\ty\n"), TABS_TABLE, &memory);
	buf_clear(&out);
	tabs_align_more(&out, STR("a\ty\n"), TABS_TABLE, &memory);
	assert_string_equal(out.p, "a                y\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_table_has_columns_of_six_and_gaps_of_three),
		cmocka_unit_test(a_column_ends_where_a_line_has_none),
		cmocka_unit_test(columns_nest),
		cmocka_unit_test(characters_count_and_colours_do_not),
		cmocka_unit_test(empty_lines_and_cells_stay),
		cmocka_unit_test(later_parts_keep_the_widths),
	};

	return cmocka_run_group_tests_name("cli/tabs", tests, NULL, NULL);
}
