/*
 * The expected texts are what Go prints for the same values.
 */
#include "base/text/print.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/core/compiler.h"

struct row {
	struct str in;
	const char *out;
};

static void check(int (*print)(struct buf *, struct str), const struct row *rows, size_t n)
{
	struct buf b = BUF_INIT(1024);

	for (size_t i = 0; i < n; i++) {
		buf_clear(&b);
		assert_int_equal(print(&b, rows[i].in), 0);
		assert_string_equal(b.p, rows[i].out);
	}
	buf_release(&b);
}

static void quoting_follows_go(void **state)
{
	/* Right column: what fmt.Sprintf("%q", in) gives. */
	static const struct row rows[] = {
		{ { "", 0 }, "\"\"" },
		{ { "plain text", 10 }, "\"plain text\"" },
		{ { "a\"b\\c", 5 }, "\"a\\\"b\\\\c\"" },
		{ { "\a\b\f\n\r\t\v", 7 }, "\"\\a\\b\\f\\n\\r\\t\\v\"" },
		{ { "\0\x1f\x7f", 3 }, "\"\\x00\\x1f\\x7f\"" },
		{ { "caf\xc3\xa9", 5 }, "\"caf\xc3\xa9\"" },
		{ { "\xff\xc3(", 3 }, "\"\\xff\\xc3(\"" },
		{ { "\xc2\x80\xc2\xa0\xc2\xad", 6 }, "\"\\u0080\\u00a0\\u00ad\"" },
		{ { "\xe2\x80\x8b\xef\xbb\xbf", 6 }, "\"\\u200b\\ufeff\"" },
		{ { "\xe2\x80\xa8", 3 }, "\"\\u2028\"" },
		{ { "\xf0\x9f\x98\x80", 4 }, "\"\xf0\x9f\x98\x80\"" },
		{ { "\xf4\x8f\xbf\xbf", 4 }, "\"\\U0010ffff\"" },
		{ { "\xed\xa0\x80", 3 }, "\"\\xed\\xa0\\x80\"" },
		{ { "\xef\xbf\xbd", 3 }, "\"\xef\xbf\xbd\"" },
		{ { "'<>&", 4 }, "\"'<>&\"" },
	};

	check(print_quoted, rows, ARRAY_SIZE(rows));
}

static void json_strings_are_valid_for_any_bytes(void **state)
{
	static const struct row rows[] = {
		{ { "", 0 }, "\"\"" },
		{ { "a\"b\\c\n\t", 7 }, "\"a\\\"b\\\\c\\n\\t\"" },
		{ { "\0\r\x1b\x7f", 4 }, "\"\\u0000\\u000d\\u001b\\u007f\"" },
		{ { "\xff|\xc3", 3 }, "\"\\ufffd|\\ufffd\"" },
		{ { "\xe2\x82\xac", 3 }, "\"\xe2\x82\xac\"" },
		{ { "\xc2\x9b", 2 }, "\"\\u009b\"" },
		{ { "\xc0\x80", 2 }, "\"\\ufffd\\ufffd\"" },
	};

	check(print_json, rows, ARRAY_SIZE(rows));
}

static void bad_bytes_become_replacement_characters(void **state)
{
	static const struct row rows[] = {
		{ { "caf\xc3\xa9 \"\n", 8 }, "caf\xc3\xa9 \"\n" },
		{ { "a\xff\xc3", 3 }, "a\xef\xbf\xbd\xef\xbf\xbd" },
	};

	check(print_utf8, rows, ARRAY_SIZE(rows));
}

/* On the heap, where the sanitizer sees one byte too many. */
static void a_sequence_cut_by_the_end_is_not_read_beyond(void **state)
{
	struct buf b = BUF_INIT(100);

	for (size_t n = 1; n < 4; n++) {
		char *exact = malloc(n);

		memcpy(exact, "\xf0\x9f\x98\x80", n);
		buf_clear(&b);
		assert_int_equal(print_utf8(&b, str_of(exact, n)), 0);
		assert_int_equal(b.n, 3 * n);
		free(exact);
	}
	buf_release(&b);
}

static void a_full_buffer_ends_between_characters(void **state)
{
	struct str in = STR("\xff\n\xe2\x82\xac\x01");
	struct buf whole = BUF_INIT(100);

	assert_int_equal(print_json(&whole, in), 0);
	for (size_t max = 1; max < whole.n; max++) {
		struct buf b = BUF_INIT(max);

		assert_int_equal(print_json(&b, in), -ERR_TOO_LARGE);
		assert_memory_equal(b.p, whole.p, b.n);
		assert_true(str_is_utf8(buf_str(&b)));
		/* "\ufffd ends at 7, \n at 9, the euro at 12, \u0001 at 18. */
		assert_true(b.n == 1 || b.n == 7 || b.n == 9 || b.n == 12 || b.n == 18);
		buf_release(&b);
	}
	buf_release(&whole);
}

static void numbers_are_the_shortest_that_read_back(void **state)
{
	static const struct {
		double in;
		const char *out;
	} rows[] = {
		{ 0, "0" },
		{ -0.0, "-0" },
		{ 1, "1" },
		{ 0.1, "0.1" },
		{ -2.5, "-2.5" },
		{ 100000, "100000" },
		{ 1e6, "1e+06" },
		{ 1234567, "1.234567e+06" },
		{ 0.0001, "0.0001" },
		{ 0.00001, "1e-05" },
		{ 0.005, "0.005" },
		{ 1e100, "1e+100" },
		{ 1.0 / 3, "0.3333333333333333" },
		{ 5e-324, "5e-324" },
		{ INFINITY, "+Inf" },
		{ -INFINITY, "-Inf" },
		{ NAN, "NaN" },
	};
	struct buf b = BUF_INIT(100);

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		buf_clear(&b);
		assert_int_equal(print_f64(&b, rows[i].in), 0);
		assert_string_equal(b.p, rows[i].out);
	}
	buf_release(&b);
}

static void fixed_numbers_have_no_exponent(void **state)
{
	static const struct {
		double v;
		const char *text;
	} rows[] = {
		{ 0, "0" },
		{ -0.0, "-0" },
		{ 1, "1" },
		{ 1.5, "1.5" },
		{ -123.25, "-123.25" },
		{ 1e21, "1000000000000000000000" },
		{ 1e-7, "0.0000001" },
		{ 3600, "3600" },
		{ 0.1, "0.1" },
	};
	struct buf b;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		buf_init(&b, 64);
		assert_int_equal(print_f64_fixed(&b, rows[i].v), 0);
		assert_string_equal(b.p, rows[i].text);
		buf_release(&b);
	}
	buf_init(&b, 64);
	assert_int_equal(print_f64_fixed(&b, 1e300), -ERR_TOO_LARGE);
	buf_release(&b);
}

static void clean_text_is_printable_utf8(void **state)
{
	assert_true(print_is_clean(STR("")));
	assert_true(print_is_clean(STR("caf\xc3\xa9 au lait")));
	assert_false(print_is_clean(STR("a\nb")));
	assert_false(print_is_clean(STR("\x1b[31m")));
	assert_false(print_is_clean(STR("\xff")));
	assert_false(print_is_clean(STR("\xe2\x80\xae"))); /* right-to-left override */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quoting_follows_go),
		cmocka_unit_test(json_strings_are_valid_for_any_bytes),
		cmocka_unit_test(bad_bytes_become_replacement_characters),
		cmocka_unit_test(a_sequence_cut_by_the_end_is_not_read_beyond),
		cmocka_unit_test(a_full_buffer_ends_between_characters),
		cmocka_unit_test(numbers_are_the_shortest_that_read_back),
		cmocka_unit_test(fixed_numbers_have_no_exponent),
		cmocka_unit_test(clean_text_is_printable_utf8),
	};

	return cmocka_run_group_tests_name("base/print", tests, NULL, NULL);
}
