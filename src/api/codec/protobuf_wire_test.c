#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "api/codec/protobuf_wire.h"
#include "base/core/limits.h"

static void assert_bytes(const struct buf *b, struct str expected)
{
	assert_int_equal(b->n, expected.n);
	assert_memory_equal(b->p, expected.p, expected.n);
}

static void a_varint_reads_back_at_every_length(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(64);

	for (unsigned bit = 0; bit < 64; bit++) {
		uint64_t v = UINT64_C(1) << bit, back;
		struct str rest;

		buf_clear(&b);
		wire_put_varint(&b, v);
		wire_put_varint(&b, v - 1);
		rest = buf_str(&b);
		assert_int_equal(wire_take_varint(&rest, &back, NULL), 0);
		assert_true(back == v);
		assert_int_equal(wire_take_varint(&rest, &back, NULL), 0);
		assert_true(back == v - 1);
		assert_int_equal(rest.n, 0);
	}
}

static void numbers_have_the_bytes_of_the_specification(void **state)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(64);

	wire_put_uint(&b, 1, 150);
	wire_put_uint(&b, 16, (uint64_t)-1);
	wire_put_fixed64(&b, 2, 0x0102030405060708);
	wire_put_bytes(&b, 2, STR("testing"));
	assert_bytes(&b, STR("\x08\x96\x01"
			     "\x80\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
			     "\x11\x08\x07\x06\x05\x04\x03\x02\x01"
			     "\x12\x07testing"));
}

static void fields_come_one_after_the_other(void **state)
{
	struct str rest = STR("\x08\x96\x01\x12\x02hi\x1d\x01\x02\x03\x04");
	struct wire_field f;

	assert_int_equal(wire_next(&rest, &f, NULL), 1);
	assert_int_equal(f.number, 1);
	assert_int_equal(f.type, WIRE_VARINT);
	assert_int_equal(f.value, 150);
	assert_int_equal(wire_next(&rest, &f, NULL), 1);
	assert_int_equal(f.number, 2);
	assert_true(str_eqz(f.bytes, "hi"));
	assert_int_equal(wire_next(&rest, &f, NULL), 1);
	assert_int_equal(f.type, WIRE_FIXED32);
	assert_int_equal(f.value, 0x04030201);
	assert_int_equal(wire_next(&rest, &f, NULL), 0);
}

static void a_group_is_one_field_with_all_that_is_in_it(void **state)
{
	/* Group 1 { 2: 5, group 3 { }, } then 4: 6. */
	struct str rest = STR("\x0b\x10\x05\x1b\x1c\x0c\x20\x06");
	struct wire_field f;

	assert_int_equal(wire_next(&rest, &f, NULL), 1);
	assert_int_equal(f.type, WIRE_GROUP);
	assert_int_equal(f.bytes.n, 5);
	assert_int_equal(wire_next(&rest, &f, NULL), 1);
	assert_int_equal(f.number, 4);
	assert_int_equal(f.value, 6);
}

static void a_malformed_message_is_rejected_with_a_reason(void **state)
{
	static const struct {
		struct str bytes;
		const char *why;
	} rows[] = {
		{ { "\x08", 1 }, "unexpected EOF" },
		{ { "\x08\x80", 2 }, "unexpected EOF" },
		{ { "\x12\x03hi", 4 }, "unexpected EOF" },
		{ { "\x09\x01\x02\x03", 4 }, "unexpected EOF" },
		{ { "\x0d\x01", 2 }, "unexpected EOF" },
		{ { "\x0b\x10\x05", 3 }, "unexpected EOF" },
		{ { "\x0c", 1 }, "proto: wiretype end group for non-group" },
		{ { "\x0e\x01", 2 }, "proto: illegal wireType 6" },
		{ { "\x00\x01", 2 }, "proto: illegal tag 0 (wire type 0)" },
		{ { "\x80\x80\x80\x80\x10\x00", 6 }, "proto: illegal tag 536870912 (wire type 0)" },
		{ { "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 12 },
		  "proto: integer overflow" },
		{ { "\x12\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11 },
		  "proto: negative length found during unmarshaling" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct str rest = rows[i].bytes;
		struct wire_field f;
		struct error err;

		assert_int_equal(wire_next(&rest, &f, &err), -ERR_BAD_REQUEST);
		assert_string_equal(err.msg, rows[i].why);
	}
}

static void a_message_has_the_shortest_length_that_fits(void **state)
{
	static const size_t sizes[] = { 0, 1, 127, 128, 16383, 16384, 2097151, 2097152 };
	CLEANUP(buf_release) struct buf b = BUF_INIT(8 * MIB);

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct wire_field f;
		struct str rest;
		size_t mark;

		buf_clear(&b);
		mark = wire_open(&b, 3);
		for (size_t n = 0; n < sizes[i]; n++)
			(void)buf_addc(&b, (char)('a' + n % 26));
		wire_close(&b, mark);
		wire_put_uint(&b, 4, 7);
		rest = buf_str(&b);
		assert_int_equal(wire_next(&rest, &f, NULL), 1);
		assert_int_equal(f.bytes.n, sizes[i]);
		for (size_t n = 0; n < sizes[i]; n++)
			assert_int_equal(f.bytes.p[n], 'a' + n % 26);
		assert_int_equal(wire_next(&rest, &f, NULL), 1);
		assert_int_equal(f.value, 7);
		assert_int_equal(rest.n, 0);
	}
}

static void a_full_buffer_is_told_and_never_passed(void **state)
{
	for (size_t max = 0; max < 140; max++) {
		CLEANUP(buf_release) struct buf b = BUF_INIT(max);
		size_t outer = wire_open(&b, 1), inner = wire_open(&b, 2);

		for (size_t i = 0; i < 100; i++)
			(void)buf_addc(&b, 'x');
		wire_put_bytes(&b, 3, STR("0123456789012345678901234"));
		wire_close(&b, inner);
		wire_close(&b, outer);
		/* 127 bytes in the inner one, and 129 in the outer. */
		assert_int_equal(b.overflow, max < 132);
		assert_true(b.n <= max);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_varint_reads_back_at_every_length),
		cmocka_unit_test(numbers_have_the_bytes_of_the_specification),
		cmocka_unit_test(fields_come_one_after_the_other),
		cmocka_unit_test(a_group_is_one_field_with_all_that_is_in_it),
		cmocka_unit_test(a_malformed_message_is_rejected_with_a_reason),
		cmocka_unit_test(a_message_has_the_shortest_length_that_fits),
		cmocka_unit_test(a_full_buffer_is_told_and_never_passed),
	};

	return cmocka_run_group_tests_name("api/protobuf_wire", tests, NULL, NULL);
}
