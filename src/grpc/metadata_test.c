/*
 * Metadata to fields and back, what is refused, and the text of time-outs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "grpc/grpc_limits.h"
#include "grpc/metadata.h"

static void entries_come_back_as_they_were_given(void **state UNUSED)
{
	static const char binary[] = { 0, 1, (char)0xfe, (char)0xff, ',', '=' };
	const struct grpc_metadata in[] = {
		{ STR("plain"), STR("some text, with a comma") },
		{ STR("x-trace-bin"), { binary, sizeof(binary) } },
		{ STR("x-empty-bin"), STR_NULL },
		{ STR("plain"), STR("again") },
		{ STR("grpc-status-details-bin"), STR("details") },
	};
	CLEANUP(arena_release) struct arena a;
	struct http_fields f = { 0 };
	struct grpc_metadata_list l;
	struct error err;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(in); i++)
		assert_int_equal(grpc_metadata_add(&f, &a, in[i], &err), 0);
	assert_true(str_eq(http_fields_get(&f, STR("x-trace-bin")), STR("AAH+/yw9")));
	assert_int_equal(grpc_metadata_read(&f, &a, &l, &err), 0);
	assert_int_equal(l.n, ARRAY_SIZE(in));
	for (size_t i = 0; i < ARRAY_SIZE(in); i++) {
		assert_true(str_eq(l.v[i].key, in[i].key));
		assert_true(str_eq(l.v[i].value, in[i].value));
	}
	assert_true(str_eq(grpc_metadata_get(&l, STR("plain")), in[0].value));
	assert_null(grpc_metadata_get(&l, STR("absent")).p);
}

static void keys_and_values_that_are_not_allowed_are_refused(void **state UNUSED)
{
	static const struct grpc_metadata rows[] = {
		{ { "", 0 }, { "v", 1 } },
		{ { "Upper", 5 }, { "v", 1 } },
		{ { "spa ce", 6 }, { "v", 1 } },
		{ { ":path", 5 }, { "/x", 2 } },
		{ { "grpc-timeout", 12 }, { "1S", 2 } },
		{ { "grpc-anything", 13 }, { "x", 1 } },
		{ { "te", 2 }, { "trailers", 8 } },
		{ { "content-type", 12 }, { "text/plain", 10 } },
		{ { "connection", 10 }, { "close", 5 } },
		{ { "key", 3 }, { "line\nbreak", 10 } },
		{ { "key", 3 }, { "\xc3\xa4", 2 } },
		{ { "key", 3 }, { "\x7f", 1 } },
		{ { "key", 3 }, { "a\0b", 3 } },
	};
	CLEANUP(arena_release) struct arena a;
	struct http_fields f = { 0 };
	struct error err;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(grpc_metadata_add(&f, &a, rows[i], &err), -ERR_INVALID);
	assert_int_equal(f.n, 0);
}

static void too_much_metadata_is_refused(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf big = BUF_INIT(MIB);
	CLEANUP(arena_release) struct arena a;
	struct http_fields f = { 0 };
	struct grpc_metadata md = { STR("k-bin"), STR_NULL };
	struct error err;

	arena_init(&a, MIB);
	while (big.n < 30 * KIB)
		(void)buf_addc(&big, 'x');
	md.value = buf_str(&big); /* 40 KiB once encoded */
	assert_int_equal(grpc_metadata_add(&f, &a, md, &err), -ERR_TOO_LARGE);
	md.key = STR("k");
	assert_int_equal(grpc_metadata_add(&f, &a, md, &err), 0);
	assert_int_equal(grpc_metadata_add(&f, &a, md, &err), -ERR_TOO_LARGE);
	md.value = STR("v");
	for (size_t i = 1; i < GRPC_METADATA_COUNT_MAX; i++)
		assert_int_equal(grpc_metadata_add(&f, &a, md, &err), 0);
	assert_int_equal(grpc_metadata_add(&f, &a, md, &err), -ERR_TOO_LARGE);
}

static void binary_values_may_be_padded_or_joined(void **state UNUSED)
{
	CLEANUP(arena_release) struct arena a;
	struct http_fields f = { 0 };
	struct grpc_metadata_list l;
	struct error err;

	arena_init(&a, MIB);
	assert_int_equal(http_fields_add(&f, &a, STR("b-bin"), STR("YQ==")), 0);
	assert_int_equal(http_fields_add(&f, &a, STR("b-bin"), STR("YQ, YWI=,YWJj")), 0);
	assert_int_equal(http_fields_add(&f, &a, STR("user-agent"), STR("x")), 0);
	assert_int_equal(grpc_metadata_read(&f, &a, &l, &err), 0);
	assert_int_equal(l.n, 4);
	assert_true(str_eq(l.v[0].value, STR("a")));
	assert_true(str_eq(l.v[1].value, STR("a")));
	assert_true(str_eq(l.v[2].value, STR("ab")));
	assert_true(str_eq(l.v[3].value, STR("abc")));
}

static void a_binary_key_without_base64_is_a_protocol_error(void **state UNUSED)
{
	CLEANUP(arena_release) struct arena a;
	struct http_fields f = { 0 };
	struct grpc_metadata_list l;
	struct error err;

	arena_init(&a, MIB);
	assert_int_equal(http_fields_add(&f, &a, STR("b-bin"), STR("!!!!")), 0);
	assert_int_equal(grpc_metadata_read(&f, &a, &l, &err), -ERR_PROTOCOL);
	assert_non_null(strstr(err.msg, "b-bin"));
}

static void timeouts_are_read_in_all_units(void **state UNUSED)
{
	static const struct {
		const char *text;
		int64_t ms;
	} rows[] = {
		{ "0n", 0 },
		{ "1n", 1 },
		{ "1000000n", 1 },
		{ "1000001n", 2 },
		{ "500u", 1 },
		{ "2000u", 2 },
		{ "250m", 250 },
		{ "3S", 3000 },
		{ "2M", 120000 },
		{ "1H", 3600000 },
		{ "99999999m", 99999999 },
		{ "99999999H", INT64_C(99999999) * 3600000 },
	};
	int64_t ms;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		ms = -1;
		assert_int_equal(grpc_timeout_parse(str_from(rows[i].text), &ms, NULL), 0);
		assert_int_equal(ms, rows[i].ms);
	}
}

static void malformed_timeouts_are_refused(void **state UNUSED)
{
	static const char *const rows[] = { "",    "5",    "S",   "5s",         "5x",  "-1S",
					    "+1S", "1.5S", " 1S", "123456789m", "1 S", "0x1S" };
	struct error err;
	int64_t ms;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(grpc_timeout_parse(str_from(rows[i]), &ms, &err), -ERR_PROTOCOL);
}

static void a_timeout_is_written_so_that_it_is_never_shorter(void **state UNUSED)
{
	static const int64_t rows[] = {
		0,         1,           1500,        99999999,      100000000,
		100000001, 99999999000, 99999999001, 6000000000000, 359999996400000
	};
	char text[GRPC_TIMEOUT_TEXT];
	int64_t back;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		grpc_timeout_format(rows[i], text);
		assert_int_equal(grpc_timeout_parse(str_from(text), &back, NULL), 0);
		assert_true(back >= rows[i]);
		assert_true(back - rows[i] < 3600000);
	}
	grpc_timeout_format(-5, text);
	assert_string_equal(text, "0m");
	grpc_timeout_format(INT64_MAX, text);
	assert_string_equal(text, "99999999H");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(entries_come_back_as_they_were_given),
		cmocka_unit_test(keys_and_values_that_are_not_allowed_are_refused),
		cmocka_unit_test(too_much_metadata_is_refused),
		cmocka_unit_test(binary_values_may_be_padded_or_joined),
		cmocka_unit_test(a_binary_key_without_base64_is_a_protocol_error),
		cmocka_unit_test(timeouts_are_read_in_all_units),
		cmocka_unit_test(malformed_timeouts_are_refused),
		cmocka_unit_test(a_timeout_is_written_so_that_it_is_never_shorter),
	};

	return cmocka_run_group_tests_name("grpc/metadata", tests, NULL, NULL);
}
