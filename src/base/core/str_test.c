/*
 * Views at their edges: empty, NULL, whole and one short.
 */
#include "base/core/str.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void equality_compares_bytes_and_lengths(void **state)
{
	assert_true(str_eq(STR("abc"), str_of("abcd", 3)));
	assert_false(str_eq(STR("abc"), STR("abd")));
	assert_false(str_eq(STR("abc"), STR("ab")));
	assert_true(str_eq(STR_NULL, STR("")));
	assert_true(str_eq(STR("a\0b"), STR("a\0b")));
	assert_false(str_eq(STR("a\0b"), STR("a\0c")));
	assert_true(str_eqz(STR("abc"), "abc"));
	assert_true(str_eqz(STR_NULL, NULL));
}

static void order_is_by_bytes_with_prefixes_first(void **state)
{
	assert_true(str_cmp(STR("a"), STR("b")) < 0);
	assert_true(str_cmp(STR("b"), STR("a")) > 0);
	assert_true(str_cmp(STR("a"), STR("ab")) < 0);
	assert_true(str_cmp(STR("\xff"), STR("a")) > 0);
	assert_int_equal(str_cmp(STR("ab"), STR("ab")), 0);
	assert_int_equal(str_cmp(STR_NULL, STR("")), 0);
	assert_true(str_cmp(STR_NULL, STR("a")) < 0);
}

static void case_is_ignored_for_ascii_letters_only(void **state)
{
	assert_true(str_ieq(STR("Content-Type"), STR("cONTENT-tYPE")));
	assert_false(str_ieq(STR("a"), STR("ab")));
	assert_false(str_ieq(STR("@"), STR("`")));
	assert_false(str_ieq(STR("["), STR("{")));
	assert_false(str_ieq(STR("\xc3\x84"), STR("\xc3\xa4")));
	assert_true(str_ieq(STR_NULL, STR("")));
}

static void prefixes_and_suffixes_are_found(void **state)
{
	assert_true(str_starts(STR("apis/v1"), STR("apis")));
	assert_false(str_starts(STR("api"), STR("apis")));
	assert_true(str_starts(STR("x"), STR_NULL));
	assert_true(str_starts(STR_NULL, STR_NULL));
	assert_true(str_ends(STR("a.yaml"), STR(".yaml")));
	assert_false(str_ends(STR("yaml"), STR(".yaml")));
	assert_true(str_ends(STR("x"), STR("")));
}

static void skipping_stops_at_the_end(void **state)
{
	struct str s = STR("abc");

	assert_true(str_eqz(str_skip(s, 0), "abc"));
	assert_true(str_eqz(str_skip(s, 2), "c"));
	assert_ptr_equal(str_skip(s, 3).p, s.p + 3);
	assert_int_equal(str_skip(s, 99).n, 0);
	assert_null(str_skip(STR_NULL, 1).p);
}

static void searching_gives_an_index_or_minus_one(void **state)
{
	assert_int_equal(str_chr(STR("a=b=c"), '='), 1);
	assert_int_equal(str_chr(STR("abc"), '='), -1);
	assert_int_equal(str_chr(STR_NULL, 'a'), -1);
	assert_int_equal(str_chr(STR("\xc3\xa9"), '\xa9'), 1);
	assert_int_equal(str_find(STR("foobar"), STR("bar")), 3);
	assert_int_equal(str_find(STR("foobar"), STR("baz")), -1);
	assert_int_equal(str_find(STR("foobar"), STR("")), 0);
	assert_int_equal(str_find(STR_NULL, STR("a")), -1);
	assert_int_equal(str_find(str_of("foobar", 5), STR("bar")), -1);
}

static void put_copies_and_takes_an_empty_text(void **state)
{
	char room[4] = "....";

	(void)state;
	assert_ptr_equal(str_put(room, STR("ab")), room + 2);
	assert_memory_equal(room, "ab..", 4);
	assert_ptr_equal(str_put(room, STR_NULL), room);
	assert_memory_equal(room, "ab..", 4);
}

static void trimming_takes_spaces_and_tabs_off_both_ends(void **state)
{
	assert_true(str_eqz(str_trim(STR(" \t a b\t ")), "a b"));
	assert_true(str_eqz(str_trim(STR(" \t ")), ""));
	assert_true(str_eqz(str_trim(STR("\na ")), "\na"));
	assert_int_equal(str_trim(STR_NULL).n, 0);
}

static void trimming_space_takes_line_ends_off_too_but_no_zero_bytes(void **state)
{
	assert_true(str_is_one_of('.', "[.]"));
	assert_false(str_is_one_of('a', "[.]"));
	assert_false(str_is_one_of('\0', "[.]"));
	assert_true(str_eqz(str_trim_space(STR(" \t\r\n a\n b\v\f ")), "a\n b"));
	assert_true(str_eqz(str_trim_space(STR("\n")), ""));
	assert_int_equal(str_trim_space(STR("\0a\0")).n, 3);
	assert_int_equal(str_trim_space(STR_NULL).n, 0);
}

static void splitting_yields_every_piece_once(void **state)
{
	static const char *const expected[] = { "a", "", "bc", "" };
	struct str rest = STR("a,,bc,"), piece;
	size_t n = 0;

	while (str_split(&rest, ',', &piece))
		assert_true(str_eqz(piece, expected[n++]));
	assert_int_equal(n, ARRAY_SIZE(expected));
	rest = STR("");
	assert_true(str_split(&rest, ',', &piece));
	assert_int_equal(piece.n, 0);
	assert_false(str_split(&rest, ',', &piece));
	rest = STR_NULL;
	assert_false(str_split(&rest, ',', &piece));
}

static void numbers_are_read_up_to_their_limits(void **state)
{
	uint64_t u = 0;
	int64_t i = 0;

	assert_true(str_to_u64(STR("18446744073709551615"), &u));
	assert_int_equal(u, UINT64_MAX);
	assert_true(str_to_u64(STR("007"), &u));
	assert_int_equal(u, 7);
	assert_true(str_to_i64(STR("-9223372036854775808"), &i));
	assert_int_equal(i, INT64_MIN);
	assert_true(str_to_i64(STR("9223372036854775807"), &i));
	assert_int_equal(i, INT64_MAX);
	assert_true(str_to_i64(STR("-0"), &i));
	assert_int_equal(i, 0);
}

static void numbers_are_printed_up_to_their_limits(void **state)
{
	char room[STR_DIGITS];

	assert_true(str_eq(str_print_u64(room, 0), STR("0")));
	assert_true(str_eq(str_print_u64(room, UINT64_MAX), STR("18446744073709551615")));
	assert_true(str_eq(str_print_i64(room, -7), STR("-7")));
	assert_true(str_eq(str_print_i64(room, INT64_MAX), STR("9223372036854775807")));
	assert_true(str_eq(str_print_i64(room, INT64_MIN), STR("-9223372036854775808")));
}

static void a_text_that_is_not_just_a_number_is_rejected(void **state)
{
	static const char *const bad[] = { "",
					   "-",
					   "+1",
					   " 1",
					   "1 ",
					   "1x",
					   "0x1",
					   "--1",
					   "1.0",
					   "9223372036854775808",
					   "-9223372036854775809",
					   "99999999999999999999999" };
	int64_t i = 7;
	uint64_t u = 7;

	for (size_t n = 0; n < ARRAY_SIZE(bad); n++)
		assert_false(str_to_i64(str_from(bad[n]), &i));
	assert_int_equal(i, 7);
	assert_false(str_to_u64(STR("18446744073709551616"), &u));
	assert_false(str_to_u64(STR("-1"), &u));
	assert_false(str_to_u64(STR("1\xb2"), &u));
	assert_false(str_to_u64(STR_NULL, &u));
	assert_int_equal(u, 7);
}

static void well_formed_utf8_is_accepted(void **state)
{
	assert_true(str_is_utf8(STR_NULL));
	assert_true(str_is_utf8(STR("plain ascii that is longer than a machine word")));
	assert_true(str_is_utf8(STR("\xc2\x80 \xdf\xbf")));
	assert_true(str_is_utf8(STR("\xe0\xa0\x80 \xed\x9f\xbf \xee\x80\x80 \xef\xbf\xbf")));
	assert_true(str_is_utf8(STR("\xf0\x90\x80\x80 \xf4\x8f\xbf\xbf")));
	assert_true(str_is_utf8(STR("1234567\xc3\xa9 1234567\xc3\xa9")));
}

static void malformed_utf8_is_refused_at_every_offset(void **state)
{
	static const char *const bad[] = {
		"\x80",
		"\xbf",
		"\xc0\x80",
		"\xc1\xbf",
		"\xc3",
		"\xc3(",
		"\xe0\x9f\xbf",
		"\xe2\x82",
		"\xed\xa0\x80",
		"\xed\xbf\xbf",
		"\xf0\x8f\xbf\xbf",
		"\xf4\x90\x80\x80",
		"\xf5\x80\x80\x80",
		"\xf0\x9f\x98",
		"\xff",
		"\xfe",
		"\xf0\x9f\x98(",
	};
	char text[40];

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		for (size_t at = 0; at < 20; at++) {
			size_t n = strlen(bad[i]);

			memset(text, 'x', sizeof(text));
			memcpy(text + at, bad[i], n);
			assert_false(str_is_utf8(str_of(text, at + n)));
			assert_false(str_is_utf8(str_of(text, sizeof(text))));
		}
	}
}

static void characters_are_counted_not_bytes(void **state)
{
	(void)state;
	assert_int_equal(str_characters(STR_NULL), 0);
	assert_int_equal(str_characters(STR("abc")), 3);
	assert_int_equal(str_characters(STR("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80")), 5);
}

static void code_points_are_read_and_other_bytes_replaced(void **state)
{
	static const uint32_t want[] = { 'a',    0xe9,   0x20ac, 0x1f600, 0xfffd,
					 0xfffd, 0xfffd, 0xfffd, 0xfffd,  'z' };
	struct str s = STR("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xe2\x82\xc0\x80\xffz");
	size_t at = 0;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++)
		assert_int_equal(str_rune(s, &at), want[i]);
	assert_int_equal(at, s.n);
}

static void hexadecimal_digits_are_of_either_case(void **state)
{
	static const char digits[] = "0123456789abcdef", upper[] = "0123456789ABCDEF";

	(void)state;
	for (int c = 0; c < 256; c++) {
		const char *at = c ? strchr(digits, c) : NULL, *up = c ? strchr(upper, c) : NULL;
		int want = at ? (int)(at - digits) : up ? (int)(up - upper) : -1;

		assert_int_equal(str_hex_digit((char)c), want);
	}
}

static void copies_are_terminated(void **state)
{
	char *copy = str_dup(str_of("abcdef", 3)), *empty = str_dup(STR_NULL);

	assert_string_equal(copy, "abc");
	assert_string_equal(empty, "");
	free(copy);
	free(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equality_compares_bytes_and_lengths),
		cmocka_unit_test(order_is_by_bytes_with_prefixes_first),
		cmocka_unit_test(case_is_ignored_for_ascii_letters_only),
		cmocka_unit_test(prefixes_and_suffixes_are_found),
		cmocka_unit_test(skipping_stops_at_the_end),
		cmocka_unit_test(searching_gives_an_index_or_minus_one),
		cmocka_unit_test(put_copies_and_takes_an_empty_text),
		cmocka_unit_test(trimming_takes_spaces_and_tabs_off_both_ends),
		cmocka_unit_test(trimming_space_takes_line_ends_off_too_but_no_zero_bytes),
		cmocka_unit_test(splitting_yields_every_piece_once),
		cmocka_unit_test(numbers_are_read_up_to_their_limits),
		cmocka_unit_test(numbers_are_printed_up_to_their_limits),
		cmocka_unit_test(a_text_that_is_not_just_a_number_is_rejected),
		cmocka_unit_test(well_formed_utf8_is_accepted),
		cmocka_unit_test(malformed_utf8_is_refused_at_every_offset),
		cmocka_unit_test(characters_are_counted_not_bytes),
		cmocka_unit_test(code_points_are_read_and_other_bytes_replaced),
		cmocka_unit_test(hexadecimal_digits_are_of_either_case),
		cmocka_unit_test(copies_are_terminated),
	};

	return cmocka_run_group_tests_name("base/str", tests, NULL, NULL);
}
