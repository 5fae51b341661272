/*
 * The table against the numbers that Kubernetes and gRPC define, and messages
 * at the edge of their room.
 */
#include "base/core/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/str.h"

static void setting_fills_the_error_and_returns_the_negative_code(void **state)
{
	struct error err = { .sys_errno = 5 };

	assert_int_equal(error_set(&err, ERR_CONFLICT, "claim %s at %d", "a", 7), -ERR_CONFLICT);
	assert_int_equal(err.code, ERR_CONFLICT);
	assert_int_equal(err.sys_errno, 0);
	assert_string_equal(err.msg, "claim a at 7");
}

static void nobody_need_take_the_error(void **state)
{
	assert_int_equal(error_set(NULL, ERR_IO, "x"), -ERR_IO);
	assert_int_equal(error_set_errno(NULL, ERR_IO, ENOENT, "x"), -ERR_IO);
	assert_int_equal(error_wrap(NULL, -ERR_IO, "x"), -ERR_IO);
}

static void errno_is_kept_and_named(void **state)
{
	struct error err;

	assert_int_equal(error_set_errno(&err, ERR_IO, ENOENT, "open %s", "/x"), -ERR_IO);
	assert_int_equal(err.sys_errno, ENOENT);
	assert_string_equal(err.msg, "open /x: No such file or directory");
}

static void wrapping_puts_context_before_the_cause(void **state)
{
	struct error err;

	error_set_errno(&err, ERR_IO, EACCES, "open");
	assert_int_equal(error_wrap(&err, -ERR_IO, "read %s", "config"), -ERR_IO);
	assert_int_equal(error_wrap(&err, -ERR_IO, "start"), -ERR_IO);
	assert_string_equal(err.msg, "start: read config: open: Permission denied");
	assert_int_equal(err.code, ERR_IO);
	assert_int_equal(err.sys_errno, EACCES);
}

static void long_messages_are_cut(void **state)
{
	char text[2000];
	struct error err;

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	error_set(&err, ERR_IO, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	error_set_errno(&err, ERR_IO, ENOENT, "%s", text);
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	error_wrap(&err, -ERR_IO, "context");
	assert_int_equal(strlen(err.msg), sizeof(err.msg) - 1);
	assert_memory_equal(err.msg, "context: xxx", 12);
}

/* A message goes into a Status, which is JSON, which is UTF-8. */
static void a_cut_never_splits_a_character(void **state)
{
	char text[2000];
	struct error err;

	for (size_t shift = 0; shift < 4; shift++) {
		memset(text, 'x', shift);
		for (size_t i = shift; i + 4 < sizeof(text); i += 4)
			memcpy(text + i, "\xf0\x9f\x98\x80", 5);
		error_set(&err, ERR_INVALID, "%s", text);
		assert_true(str_is_utf8(str_from(err.msg)));
		assert_true(strlen(err.msg) >= sizeof(err.msg) - 4);
		error_set_errno(&err, ERR_INVALID, ENOENT, "%s", text);
		assert_true(str_is_utf8(str_from(err.msg)));
		error_wrap(&err, -ERR_INVALID, "context");
		assert_true(str_is_utf8(str_from(err.msg)));
		assert_true(strlen(err.msg) >= sizeof(err.msg) - 4);
	}
}

static void a_known_error_is_copied(void **state)
{
	struct error err, from;

	(void)error_set_errno(&from, ERR_IO, ENOSPC, "disk");
	assert_int_equal(error_copy(&err, &from), -ERR_IO);
	assert_int_equal(err.code, ERR_IO);
	assert_int_equal(err.sys_errno, ENOSPC);
	assert_string_equal(err.msg, from.msg);
	assert_int_equal(error_copy(NULL, &from), -ERR_IO);
}

static void a_new_code_keeps_the_message(void **state)
{
	struct error err;

	(void)error_set(&err, ERR_BAD_REQUEST, "line 7");
	assert_int_equal(error_recode(&err, ERR_INVALID), -ERR_INVALID);
	assert_int_equal(err.code, ERR_INVALID);
	assert_string_equal(err.msg, "line 7");
	assert_int_equal(error_recode(NULL, ERR_INVALID), -ERR_INVALID);
}

static void codes_have_the_reasons_and_numbers_of_the_api(void **state)
{
	static const struct {
		int code, http, grpc;
		const char *reason;
	} rows[] = {
		{ ERR_OK, 200, 0, "" },
		{ ERR_BAD_REQUEST, 400, 3, "BadRequest" },
		{ ERR_UNAUTHORIZED, 401, 16, "Unauthorized" },
		{ ERR_FORBIDDEN, 403, 7, "Forbidden" },
		{ ERR_NOT_FOUND, 404, 5, "NotFound" },
		{ ERR_ALREADY_EXISTS, 409, 6, "AlreadyExists" },
		{ ERR_CONFLICT, 409, 10, "Conflict" },
		{ ERR_EXPIRED, 410, 11, "Expired" },
		{ ERR_TOO_LARGE, 413, 8, "RequestEntityTooLarge" },
		{ ERR_INVALID, 422, 3, "Invalid" },
		{ ERR_TOO_MANY_REQUESTS, 429, 8, "TooManyRequests" },
		{ ERR_INTERNAL, 500, 13, "InternalError" },
		{ ERR_UNAVAILABLE, 503, 14, "ServiceUnavailable" },
		{ ERR_TIMEOUT, 504, 4, "Timeout" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(error_http_status(rows[i].code), rows[i].http);
		assert_int_equal(error_grpc_status(-rows[i].code), rows[i].grpc);
		assert_string_equal(error_reason(rows[i].code), rows[i].reason);
	}
}

static void every_code_has_a_row_and_others_count_as_internal(void **state)
{
	for (int code = 1; code < ERR_COUNT; code++) {
		assert_in_range(error_http_status(code), 400, 599);
		assert_in_range(error_grpc_status(code), 1, 16);
		/* Only failures without an equivalent in upstream have no reason. */
		assert_true(*error_reason(code) || code == ERR_UNTYPED);
	}
	assert_int_equal(error_http_status(ERR_COUNT), 500);
	assert_int_equal(error_http_status(-100000), 500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(setting_fills_the_error_and_returns_the_negative_code),
		cmocka_unit_test(nobody_need_take_the_error),
		cmocka_unit_test(errno_is_kept_and_named),
		cmocka_unit_test(wrapping_puts_context_before_the_cause),
		cmocka_unit_test(long_messages_are_cut),
		cmocka_unit_test(a_cut_never_splits_a_character),
		cmocka_unit_test(a_known_error_is_copied),
		cmocka_unit_test(a_new_code_keeps_the_message),
		cmocka_unit_test(codes_have_the_reasons_and_numbers_of_the_api),
		cmocka_unit_test(every_code_has_a_row_and_others_count_as_internal),
	};

	return cmocka_run_group_tests_name("base/error", tests, NULL, NULL);
}
