/*
 * Code that both protocols share: fields and their limits, tokens, dates, texts.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/clock.h"
#include "base/core/limits.h"
#include "net/http/http.h"
#include "net/net_limits.h"

static void fields_are_found_by_name(void **state UNUSED)
{
	struct http_fields f = { 0 };
	struct arena a;

	arena_init(&a, MIB);
	assert_int_equal(http_fields_add(&f, &a, STR("accept"), STR("one")), 0);
	assert_int_equal(http_fields_add(&f, &a, STR("x"), STR("")), 0);
	assert_int_equal(http_fields_add(&f, &a, STR("accept"), STR("two")), 0);
	assert_true(str_eq(http_fields_get(&f, STR("accept")), STR("one")));
	assert_non_null(http_fields_get(&f, STR("x")).p);
	assert_int_equal(http_fields_get(&f, STR("x")).n, 0);
	assert_null(http_fields_get(&f, STR("y")).p);
	arena_release(&a);
}

static void tokens_are_found_in_lists_whatever_their_case(void **state UNUSED)
{
	struct http_fields f = { 0 };
	struct arena a;

	arena_init(&a, MIB);
	(void)http_fields_add(&f, &a, STR("connection"), STR("foo, Keep-Alive"));
	(void)http_fields_add(&f, &a, STR("connection"), STR("close"));
	assert_true(http_fields_has_token(&f, STR("connection"), STR("keep-alive")));
	assert_true(http_fields_has_token(&f, STR("connection"), STR("CLOSE")));
	assert_false(http_fields_has_token(&f, STR("connection"), STR("keep")));
	assert_false(http_fields_has_token(&f, STR("te"), STR("close")));
	arena_release(&a);
}

static void too_many_fields_are_refused(void **state UNUSED)
{
	struct http_fields f = { 0 };
	struct arena a;

	arena_init(&a, MIB);
	for (int i = 0; i < HTTP_HEADER_COUNT_MAX; i++)
		assert_int_equal(http_fields_add(&f, &a, STR("a"), STR("b")), 0);
	assert_int_equal(http_fields_add(&f, &a, STR("a"), STR("b")), -ERR_HEADERS_TOO_LARGE);
	assert_int_equal(f.n, HTTP_HEADER_COUNT_MAX);
	arena_release(&a);
}

static void too_large_fields_are_refused(void **state UNUSED)
{
	static char value[HTTP_HEADERS_MAX];
	struct http_fields f = { 0 };
	struct arena a;

	arena_init(&a, MIB);
	memset(value, 'v', sizeof(value));
	assert_int_equal(http_fields_add(&f, &a, STR("a"), str_of(value, sizeof(value))),
			 -ERR_HEADERS_TOO_LARGE);
	assert_int_equal(http_fields_add(&f, &a, STR("a"), str_of(value, sizeof(value) - 1)), 0);
	assert_int_equal(http_fields_add(&f, &a, STR("b"), STR("")), -ERR_HEADERS_TOO_LARGE);
	arena_release(&a);
}

static void dates_are_as_rfc_9110_prints_them(void **state UNUSED)
{
	static const struct {
		int64_t seconds;
		const char *text;
	} rows[] = {
		{ 0, "Thu, 01 Jan 1970 00:00:00 GMT" },
		{ 784111777, "Sun, 06 Nov 1994 08:49:37 GMT" },
		{ 951782400, "Tue, 29 Feb 2000 00:00:00 GMT" },
		{ 1798761599, "Thu, 31 Dec 2026 23:59:59 GMT" },
	};
	char text[HTTP_DATE_LEN + 1];

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		http_date(text, rows[i].seconds * CLOCK_SEC + 999);
		assert_string_equal(text, rows[i].text);
	}
}

static void every_error_has_a_status_text(void **state UNUSED)
{
	for (int code = ERR_OK; code < ERR_COUNT; code++)
		assert_string_not_equal(http_status_text(error_http_status(code)), "");
	assert_string_equal(http_status_text(299), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_found_by_name),
		cmocka_unit_test(tokens_are_found_in_lists_whatever_their_case),
		cmocka_unit_test(too_many_fields_are_refused),
		cmocka_unit_test(too_large_fields_are_refused),
		cmocka_unit_test(dates_are_as_rfc_9110_prints_them),
		cmocka_unit_test(every_error_has_a_status_text),
	};

	return cmocka_run_group_tests_name("net/http", tests, NULL, NULL);
}
