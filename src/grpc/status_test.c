/*
 * Codes, their names, the way to and from our errors, and the encoding of the
 * text that goes with them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "grpc/grpc_limits.h"
#include "grpc/status.h"

static void a_code_has_its_name_and_is_found_by_it(void **state UNUSED)
{
	enum grpc_code code;

	for (int i = 0; i < GRPC_CODES; i++) {
		code = GRPC_CODES;
		assert_true(grpc_code_parse(str_from(grpc_code_name((enum grpc_code)i)), &code));
		assert_int_equal(code, i);
	}
	assert_string_equal(grpc_code_name(GRPC_CANCELLED), "CANCELLED");
	assert_string_equal(grpc_code_name(GRPC_UNAUTHENTICATED), "UNAUTHENTICATED");
	assert_string_equal(grpc_code_name((enum grpc_code)99), "UNKNOWN");
}

static void a_code_is_found_by_number_and_in_any_case(void **state UNUSED)
{
	enum grpc_code code = GRPC_CODES;

	assert_true(grpc_code_parse(STR("14"), &code));
	assert_int_equal(code, GRPC_UNAVAILABLE);
	assert_true(grpc_code_parse(STR("not_found"), &code));
	assert_int_equal(code, GRPC_NOT_FOUND);
	assert_false(grpc_code_parse(STR("17"), &code));
	assert_false(grpc_code_parse(STR("-1"), &code));
	assert_false(grpc_code_parse(STR(""), &code));
	assert_int_equal(code, GRPC_NOT_FOUND);
}

static void every_error_has_a_code_and_most_come_back_as_themselves(void **state UNUSED)
{
	static const enum error_code same[] = {
		ERR_BAD_REQUEST,    ERR_UNAUTHORIZED, ERR_FORBIDDEN,     ERR_NOT_FOUND,
		ERR_ALREADY_EXISTS, ERR_CONFLICT,     ERR_EXPIRED,       ERR_TOO_MANY_REQUESTS,
		ERR_CANCELED,       ERR_INTERNAL,     ERR_UNIMPLEMENTED, ERR_UNAVAILABLE,
		ERR_TIMEOUT,
	};

	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		struct error in, out = { 0 };
		struct grpc_status st;

		(void)error_set(&in, same[i], "text");
		st = grpc_status_of_error(&in);
		assert_int_not_equal(st.code, GRPC_OK);
		assert_int_equal(grpc_status_error(&st, &out), -(int)same[i]);
		assert_string_equal(out.msg, "text");
	}
}

static void codes_without_a_word_of_ours_say_their_name(void **state UNUSED)
{
	struct grpc_status st = { GRPC_FAILED_PRECONDITION, STR("not the leader") };
	struct error err;

	assert_int_equal(grpc_status_error(&st, &err), -ERR_CONFLICT);
	assert_string_equal(err.msg, "FAILED_PRECONDITION: not the leader");
	st = (struct grpc_status){ GRPC_UNAVAILABLE, STR_NULL };
	assert_int_equal(grpc_status_error(&st, &err), -ERR_UNAVAILABLE);
	assert_string_equal(err.msg, "UNAVAILABLE");
	st.code = GRPC_OK;
	assert_int_equal(grpc_status_error(&st, &err), 0);
}

static void http_statuses_become_codes_as_the_protocol_says(void **state UNUSED)
{
	static const struct {
		int http;
		enum grpc_code code;
	} rows[] = {
		{ 400, GRPC_INTERNAL },          { 401, GRPC_UNAUTHENTICATED },
		{ 403, GRPC_PERMISSION_DENIED }, { 404, GRPC_UNIMPLEMENTED },
		{ 429, GRPC_UNAVAILABLE },       { 502, GRPC_UNAVAILABLE },
		{ 503, GRPC_UNAVAILABLE },       { 504, GRPC_UNAVAILABLE },
		{ 500, GRPC_UNKNOWN },           { 200, GRPC_UNKNOWN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(grpc_code_of_http(rows[i].http), rows[i].code);
}

static void a_status_field_that_nobody_defined_is_unknown(void **state UNUSED)
{
	assert_int_equal(grpc_code_of_field(STR("0")), GRPC_OK);
	assert_int_equal(grpc_code_of_field(STR("16")), GRPC_UNAUTHENTICATED);
	assert_int_equal(grpc_code_of_field(STR("17")), GRPC_UNKNOWN);
	assert_int_equal(grpc_code_of_field(STR("")), GRPC_UNKNOWN);
	assert_int_equal(grpc_code_of_field(STR("ok")), GRPC_UNKNOWN);
	assert_int_equal(grpc_code_of_field(STR("99999999999999999999")), GRPC_UNKNOWN);
}

static void check_text(struct str plain, const char *encoded)
{
	CLEANUP(buf_release) struct buf there = BUF_INIT(KIB), back = BUF_INIT(KIB);

	grpc_status_text_encode(plain, &there);
	assert_string_equal(there.p ? there.p : "", encoded);
	grpc_status_text_decode(buf_str(&there), &back);
	assert_true(str_eq(buf_str(&back), plain));
}

static void text_is_percent_encoded_and_comes_back(void **state UNUSED)
{
	check_text(STR(""), "");
	check_text(STR("all is well: 100 <items>"), "all is well: 100 <items>");
	check_text(STR("100%"), "100%25");
	check_text(STR("a\nb\t\x7f"), "a%0Ab%09%7F");
	check_text(STR("Gerät fehlt"), "Ger%C3%A4t fehlt");
	check_text(STR("\x01\0z"), "%01%00z");
}

static void broken_escapes_are_kept_as_they_are(void **state UNUSED)
{
	static const char *const rows[][2] = {
		{ "%", "%" },       { "%4", "%4" },   { "%zz", "%zz" },
		{ "%4g1", "%4g1" }, { "%%41", "%A" }, { "%c3%a4", "\xc3\xa4" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		CLEANUP(buf_release) struct buf out = BUF_INIT(KIB);

		grpc_status_text_decode(str_from(rows[i][0]), &out);
		assert_string_equal(out.p, rows[i][1]);
	}
}

static void a_long_text_is_cut_between_characters(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(64 * KIB), out = BUF_INIT(64 * KIB);
	CLEANUP(buf_release) struct buf back = BUF_INIT(64 * KIB);

	/* One plain byte first, so that the limit falls inside a character. */
	(void)buf_addc(&text, 'x');
	while (text.n < 8 * KIB)
		(void)buf_addz(&text, "\xe2\x82\xac");
	grpc_status_text_encode(buf_str(&text), &out);
	assert_true(out.n <= GRPC_STATUS_TEXT_MAX);
	assert_true(out.n > GRPC_STATUS_TEXT_MAX - 9);
	grpc_status_text_decode(buf_str(&out), &back);
	assert_true(str_is_utf8(buf_str(&back)));
	assert_true(str_starts(buf_str(&text), buf_str(&back)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_code_has_its_name_and_is_found_by_it),
		cmocka_unit_test(a_code_is_found_by_number_and_in_any_case),
		cmocka_unit_test(every_error_has_a_code_and_most_come_back_as_themselves),
		cmocka_unit_test(codes_without_a_word_of_ours_say_their_name),
		cmocka_unit_test(http_statuses_become_codes_as_the_protocol_says),
		cmocka_unit_test(a_status_field_that_nobody_defined_is_unknown),
		cmocka_unit_test(text_is_percent_encoded_and_comes_back),
		cmocka_unit_test(broken_escapes_are_kept_as_they_are),
		cmocka_unit_test(a_long_text_is_cut_between_characters),
	};

	return cmocka_run_group_tests_name("grpc/status", tests, NULL, NULL);
}
