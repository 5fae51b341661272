#include "base/text/quote.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *quoted(struct str s)
{
	static char text[QUOTE_SIZE];

	return quote_text(s, text);
}

static void plain_text_is_put_in_quotes(void **state)
{
	(void)state;
	assert_string_equal(quoted(STR("")), "\"\"");
	assert_string_equal(quoted(STR("a b")), "\"a b\"");
	assert_string_equal(quoted(STR("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80")),
			    "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
}

static void characters_that_would_break_the_line_are_escaped(void **state)
{
	(void)state;
	assert_string_equal(quoted(STR("a\"b\\c")), "\"a\\\"b\\\\c\"");
	assert_string_equal(quoted(STR("\a\b\t\n\v\f\r")), "\"\\a\\b\\t\\n\\v\\f\\r\"");
	assert_string_equal(quoted(STR("\0\x1f\x7f")), "\"\\x00\\x1f\\x7f\"");
	assert_string_equal(quoted(STR("\xc2\xa0\xe2\x80\xa8\xf4\x8f\xbf\xbf")),
			    "\"\\u00a0\\u2028\\U0010ffff\"");
}

static void bytes_that_are_no_text_are_hexadecimal(void **state)
{
	(void)state;
	assert_string_equal(quoted(STR("a\xff\xc3")), "\"a\\xff\\xc3\"");
	assert_string_equal(quoted(STR("\xed\xa0\x80")), "\"\\xed\\xa0\\x80\"");
}

static void text_without_end_is_cut(void **state)
{
	char long_text[2 * QUOTE_SIZE];
	const char *text;

	(void)state;
	memset(long_text, 'x', sizeof(long_text));
	text = quoted(str_of(long_text, sizeof(long_text)));
	assert_int_equal(strlen(text), QUOTE_SIZE - 1);
	assert_int_equal(text[QUOTE_SIZE - 2], '"');
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(plain_text_is_put_in_quotes),
		cmocka_unit_test(characters_that_would_break_the_line_are_escaped),
		cmocka_unit_test(bytes_that_are_no_text_are_hexadecimal),
		cmocka_unit_test(text_without_end_is_cut),
	};

	return cmocka_run_group_tests_name("base/quote", tests, NULL, NULL);
}
