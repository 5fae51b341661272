/*
 * protobuf-c structs to bytes and back: limits on memory and depth, malformed
 * bytes, strings that are no UTF-8.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "grpc/message.h"
#include "probe.pb-c.h"

/* --- a recursive type, as protoc-c would describe it ------------------------------------ */

struct nest {
	ProtobufCMessage base;
	struct nest *inner;
	size_t n_names;
	char **names;
	uint32_t choice_case;
	union {
		char *text;
		struct nest *message;
	} choice;
};

static const ProtobufCMessageDescriptor nest_type;

static const ProtobufCFieldDescriptor nest_fields[] = {
	{ "inner", 1, PROTOBUF_C_LABEL_NONE, PROTOBUF_C_TYPE_MESSAGE, 0,
	  offsetof(struct nest, inner), &nest_type, NULL, 0, 0, NULL, NULL },
	{ "names", 2, PROTOBUF_C_LABEL_REPEATED, PROTOBUF_C_TYPE_STRING,
	  offsetof(struct nest, n_names), offsetof(struct nest, names), NULL, NULL, 0, 0, NULL,
	  NULL },
	{ "text", 3, PROTOBUF_C_LABEL_NONE, PROTOBUF_C_TYPE_STRING,
	  offsetof(struct nest, choice_case), offsetof(struct nest, choice), NULL, NULL,
	  PROTOBUF_C_FIELD_FLAG_ONEOF, 0, NULL, NULL },
	{ "message", 4, PROTOBUF_C_LABEL_NONE, PROTOBUF_C_TYPE_MESSAGE,
	  offsetof(struct nest, choice_case), offsetof(struct nest, choice), &nest_type, NULL,
	  PROTOBUF_C_FIELD_FLAG_ONEOF, 0, NULL, NULL },
};
static const unsigned nest_by_name[] = { 0, 3, 1, 2 };
static const ProtobufCIntRange nest_ranges[] = { { 1, 0 }, { 0, 4 } };

static void nest_init(ProtobufCMessage *m)
{
	*(struct nest *)m = (struct nest){ .base = PROTOBUF_C_MESSAGE_INIT(&nest_type) };
}

static const ProtobufCMessageDescriptor nest_type = {
	PROTOBUF_C__MESSAGE_DESCRIPTOR_MAGIC,
	"test.Nest",
	"Nest",
	"Nest",
	"test",
	sizeof(struct nest),
	ARRAY_SIZE(nest_fields),
	nest_fields,
	nest_by_name,
	1,
	nest_ranges,
	nest_init,
	NULL,
	NULL,
	NULL,
};

/* A message of `depth` levels: each level is the field's tag, its length, its content. */
static void add_levels(struct buf *wire, unsigned depth)
{
	size_t n = 0;

	/* From the inside out, so written backwards and turned round at the end. */
	for (unsigned i = 0; i < depth; i++) {
		char varint[10];
		size_t k = 0;

		for (size_t v = n; k == 0 || v; v >>= 7)
			varint[k++] = (char)((v & 0x7f) | (v > 0x7f ? 0x80 : 0));
		while (k > 0)
			(void)buf_addc(wire, varint[--k]);
		(void)buf_addc(wire, 0x0a);
		n = wire->n;
	}
	for (size_t i = 0; i < wire->n / 2; i++) {
		char c = wire->p[i];

		wire->p[i] = wire->p[wire->n - 1 - i];
		wire->p[wire->n - 1 - i] = c;
	}
}

static int unpack(const ProtobufCMessageDescriptor *type, struct str wire, size_t max,
		  struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	void *message;

	arena_init(&a, max);
	return grpc_message_unpack(type, wire, &a, &message, err);
}

/* --- tests ------------------------------------------------------------------------------- */

static void a_message_comes_back_and_its_prefix_says_its_size(void **state UNUSED)
{
	Devplane__Probe__V1__Failure fail = DEVPLANE__PROBE__V1__FAILURE__INIT;
	Devplane__Probe__V1__EchoRequest in = DEVPLANE__PROBE__V1__ECHO_REQUEST__INIT;
	const Devplane__Probe__V1__EchoRequest *out;
	CLEANUP(bytes_unref) struct bytes *b = NULL;
	CLEANUP(arena_release) struct arena a;
	struct error err;
	char text[] = "nothing fits";
	void *p;

	fail.code = 9;
	fail.message = text;
	in.payload.data = (uint8_t *)text;
	in.payload.len = 7;
	in.fail_with = &fail;
	b = grpc_message_pack(&in.base);
	assert_int_equal(b->data[0], 0);
	assert_int_equal(b->data[4], b->n - GRPC_PREFIX);
	arena_init(&a, MIB);
	assert_int_equal(grpc_message_unpack(&devplane__probe__v1__echo_request__descriptor,
					     str_skip(bytes_str(b), GRPC_PREFIX), &a, &p, &err),
			 0);
	out = p;
	assert_int_equal(out->payload.len, 7);
	assert_memory_equal(out->payload.data, "nothing", 7);
	assert_int_equal(out->fail_with->code, 9);
	assert_string_equal(out->fail_with->message, text);
}

static void an_empty_message_is_five_bytes(void **state UNUSED)
{
	Devplane__Probe__V1__Chunk chunk = DEVPLANE__PROBE__V1__CHUNK__INIT;
	CLEANUP(bytes_unref) struct bytes *b = grpc_message_pack(&chunk.base);
	struct error err;

	assert_int_equal(b->n, GRPC_PREFIX);
	assert_memory_equal(b->data, "\0\0\0\0\0", GRPC_PREFIX);
	assert_int_equal(unpack(&devplane__probe__v1__chunk__descriptor, STR_NULL, MIB, &err), 0);
}

static void malformed_bytes_are_a_protocol_error(void **state UNUSED)
{
	static const struct str rows[] = {
		{ "\x0a", 1 }, /* a tag without a length */
		{ "\x12\x05xx", 4 }, /* shorter than it says */
		{ "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
		  12 }, /* eleven bytes of varint */
		{ "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 10 },
		{ "\x0b", 1 }, /* a group */
		{ "\x12\xff\xff\xff\xff\x0f", 6 }, /* 4 GiB announced */
	};
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		assert_int_equal(
			unpack(&devplane__probe__v1__chunk__descriptor, rows[i], MIB, &err),
			-ERR_PROTOCOL);
		assert_int_equal(error_grpc_status((int)err.code), 13);
	}
}

static void every_truncation_fails_or_is_a_shorter_message(void **state UNUSED)
{
	Devplane__Probe__V1__Chunk chunk = DEVPLANE__PROBE__V1__CHUNK__INIT;
	CLEANUP(bytes_unref) struct bytes *b = NULL;
	struct str wire;
	int r;

	chunk.sequence = 300;
	chunk.data.data = (uint8_t *)(uintptr_t) "abcdef";
	chunk.data.len = 6;
	b = grpc_message_pack(&chunk.base);
	wire = str_skip(bytes_str(b), GRPC_PREFIX);
	for (size_t n = 0; n < wire.n; n++) {
		/* Of its own, so that reading beyond the end shows. */
		CLEANUP(free) char *copy = str_dup(str_of(wire.p, n));

		r = unpack(&devplane__probe__v1__chunk__descriptor, str_of(copy, n), MIB, NULL);
		assert_int_equal(r, n == 0 || n == 3 ? 0 : -ERR_PROTOCOL);
	}
}

static void a_message_that_unpacks_to_too_much_is_too_large(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf wire = BUF_INIT(MIB);
	struct error err;

	/* Two bytes each on the wire, a pointer and a copy unpacked. */
	for (size_t i = 0; i < 20000; i++)
		(void)buf_add(&wire, "\x12\0", 2);
	assert_int_equal(unpack(&nest_type, buf_str(&wire), 64 * KIB, &err), -ERR_TOO_LARGE);
	assert_int_equal(error_grpc_status((int)err.code), 8);
	assert_int_equal(unpack(&nest_type, buf_str(&wire), 16 * MIB, &err), 0);
}

static void nesting_is_limited_by_permission_not_by_the_stack(void **state UNUSED)
{
	CLEANUP(buf_release) struct buf shallow = BUF_INIT(MIB), deep = BUF_INIT(4 * MIB);
	struct error err;

	add_levels(&shallow, 50);
	assert_int_equal(unpack(&nest_type, buf_str(&shallow), 64 * MIB, &err), 0);
	add_levels(&deep, 100000);
	assert_int_equal(unpack(&nest_type, buf_str(&deep), 64 * MIB, &err), -ERR_TOO_LARGE);
	assert_non_null(strstr(err.msg, "nested too deeply"));
}

static void strings_must_be_utf8_wherever_they_are(void **state UNUSED)
{
	static const struct {
		struct str wire;
		int result;
	} rows[] = {
		{ { "\x12\2\xc3\xa4", 4 }, 0 },
		{ { "\x12\1\xff", 3 }, -ERR_PROTOCOL },
		{ { "\x12\1a\x12\2\xc3\x28", 7 }, -ERR_PROTOCOL },
		{ { "\x0a\3\x12\1\xff", 5 }, -ERR_PROTOCOL },
		{ { "\x1a\1\xff", 3 }, -ERR_PROTOCOL },
		{ { "\x22\3\x1a\1\xff", 5 }, -ERR_PROTOCOL },
		{ { "\x22\0", 2 }, 0 },
	};
	struct error err;

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		assert_int_equal(unpack(&nest_type, rows[i].wire, MIB, &err), rows[i].result);
}

/* In two bytes, at the top and in a message below; other unknown fields are taken. */
static void no_field_has_number_0(void **state UNUSED)
{
	struct error err = { 0 };

	assert_int_equal(unpack(&nest_type,
				STR("\x81\x00"
				    "12345678"),
				SIZE_MAX, &err),
			 -ERR_PROTOCOL);
	assert_non_null(strstr(err.msg, "has a field with number 0"));
	assert_int_equal(unpack(&nest_type,
				STR("\x0a\x0a\x81\x00"
				    "12345678"),
				SIZE_MAX, NULL),
			 -ERR_PROTOCOL);
	assert_int_equal(unpack(&nest_type,
				STR("\x49"
				    "12345678"),
				SIZE_MAX, NULL),
			 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_message_comes_back_and_its_prefix_says_its_size),
		cmocka_unit_test(an_empty_message_is_five_bytes),
		cmocka_unit_test(malformed_bytes_are_a_protocol_error),
		cmocka_unit_test(every_truncation_fails_or_is_a_shorter_message),
		cmocka_unit_test(a_message_that_unpacks_to_too_much_is_too_large),
		cmocka_unit_test(nesting_is_limited_by_permission_not_by_the_stack),
		cmocka_unit_test(strings_must_be_utf8_wherever_they_are),
		cmocka_unit_test(no_field_has_number_0),
	};

	return cmocka_run_group_tests_name("grpc/message", tests, NULL, NULL);
}
