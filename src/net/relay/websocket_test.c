/*
 * WebSockets by RFC 6455: its own examples, heads of all sizes, and what no client may send. Frames
 * are read whole and byte by byte, with the same result.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "net/http/http.h"
#include "net/net_limits.h"
#include "net/relay/websocket.h"

static const struct websocket_protocol protocols[] = {
	{ "", false },
	{ "binary.k8s.io", false },
	{ "base64.binary.k8s.io", true },
};

/* --- handshake -------------------------------------------------------------------- */

static int shake(const char *key, const char *version, const char *asked, char *accept,
		 const struct websocket_protocol **ret_protocol, struct error *err)
{
	struct http_fields f = { 0 };
	struct arena a;
	int r;

	arena_init(&a, SIZE_MAX);
	if (key)
		(void)http_fields_add(&f, &a, STR("sec-websocket-key"), str_from(key));
	if (version)
		(void)http_fields_add(&f, &a, STR("sec-websocket-version"), str_from(version));
	if (asked)
		(void)http_fields_add(&f, &a, STR("sec-websocket-protocol"), str_from(asked));
	r = websocket_handshake(&f, protocols, ARRAY_SIZE(protocols), accept, ret_protocol, err);
	arena_release(&a);
	return r;
}

static void a_key_is_answered_as_in_the_rfc(void **state UNUSED)
{
	const struct websocket_protocol *p = NULL;
	char accept[WEBSOCKET_ACCEPT_LEN + 1];

	assert_int_equal(shake("dGhlIHNhbXBsZSBub25jZQ==", "13", NULL, accept, &p, NULL), 0);
	assert_string_equal(accept, "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
}

static void the_first_protocol_that_is_known_is_taken(void **state UNUSED)
{
	static const struct {
		const char *asked, *got; /* NULL: refused */
	} v[] = {
		{ NULL, "" },
		{ "", "" },
		{ " ", "" },
		{ "binary.k8s.io", "binary.k8s.io" },
		{ "chat, base64.binary.k8s.io ,binary.k8s.io", "base64.binary.k8s.io" },
		{ "binary.k8s.io,base64.binary.k8s.io", "binary.k8s.io" },
		{ "chat,", "" },
		{ "chat", NULL },
		{ "Binary.k8s.io", NULL },
		{ "v4.channel.k8s.io, channel.k8s.io", NULL },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		const struct websocket_protocol *p = NULL;
		char accept[WEBSOCKET_ACCEPT_LEN + 1];
		int r = shake("key", "13", v[i].asked, accept, &p, NULL);

		assert_int_equal(r, v[i].got ? 0 : -ERR_FORBIDDEN);
		if (v[i].got)
			assert_string_equal(p->name, v[i].got);
	}
}

static void an_invalid_handshake_is_rejected_with_upstreams_message(void **state UNUSED)
{
	static const struct {
		const char *key, *version, *asked, *words;
	} v[] = {
		{ NULL, "13", NULL, "mismatch challenge/response" },
		{ "", NULL, "chat", "mismatch challenge/response" },
		{ "key", NULL, "chat", "missing or bad WebSocket Version" },
		{ "key", "8", NULL, "missing or bad WebSocket Version" },
		{ "key", "13", "chat", "" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		const struct websocket_protocol *p = NULL;
		char accept[WEBSOCKET_ACCEPT_LEN + 1];
		struct error err;

		assert_true(shake(v[i].key, v[i].version, v[i].asked, accept, &p, &err) < 0);
		assert_string_equal(err.msg, v[i].words);
		assert_null(p);
	}
}

/* --- frames out ------------------------------------------------------------------- */

static void heads_say_how_long_a_frame_is(void **state UNUSED)
{
	static const struct {
		size_t n;
		const char *head;
		size_t size;
	} v[] = {
		{ 0, "\x82\x00", 2 },
		{ 5, "\x82\x05", 2 },
		{ 125, "\x82\x7d", 2 },
		{ 126, "\x82\x7e\x00\x7e", 4 },
		{ 65535, "\x82\x7e\xff\xff", 4 },
		{ 65536, "\x82\x7f\x00\x00\x00\x00\x00\x01\x00\x00", 10 },
	};
	static const char payload[65536];

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		struct buf b = BUF_INIT(KIB * KIB);

		websocket_frame(&b, WEBSOCKET_BINARY, str_of(payload, v[i].n));
		assert_int_equal(b.n, v[i].size + v[i].n);
		assert_memory_equal(b.p, v[i].head, v[i].size);
		buf_release(&b);
	}
}

static void a_close_has_its_code(void **state UNUSED)
{
	struct buf b = BUF_INIT(KIB);

	websocket_close(&b, WEBSOCKET_NORMAL);
	assert_int_equal(b.n, 4);
	assert_memory_equal(b.p, "\x88\x02\x03\xe8", 4);
	buf_release(&b);
}

static void a_stream_is_cut_into_messages(void **state UNUSED)
{
	static const char text[3 * WEBSOCKET_MESSAGE];
	struct buf b = BUF_INIT(websocket_messages_max(sizeof(text)));

	websocket_messages(&b, &protocols[1], STR_NULL);
	assert_int_equal(b.n, 2);
	assert_memory_equal(b.p, "\x82\x00", 2);
	buf_clear(&b);
	websocket_messages(&b, &protocols[1], str_of(text, 2 * WEBSOCKET_MESSAGE + 1));
	assert_int_equal(b.n, 2 * (4 + WEBSOCKET_MESSAGE) + 2 + 1);
	assert_memory_equal(b.p + 4 + WEBSOCKET_MESSAGE, "\x82\x7e\x08\x00", 4);
	assert_memory_equal(b.p + 8 + 2 * WEBSOCKET_MESSAGE, "\x82\x01", 2);
	buf_release(&b);
}

static void a_text_is_base64(void **state UNUSED)
{
	struct buf b = BUF_INIT(KIB);

	websocket_messages(&b, &protocols[2], STR_NULL);
	websocket_messages(&b, &protocols[2], STR("foo\n"));
	assert_int_equal(b.n, 2 + 2 + 8);
	assert_memory_equal(b.p, "\x81\x00\x81\x08Zm9vCg==", b.n);
	buf_release(&b);
}

static void messages_fit_what_is_said_of_them(void **state UNUSED)
{
	static const char text[70000];

	for (size_t n = 0; n < sizeof(text); n = n * 2 + n % 7 + 1) {
		struct buf b = BUF_INIT(websocket_messages_max(n));

		websocket_messages(&b, &protocols[2], str_of(text, n));
		assert_false(b.overflow);
		buf_release(&b);
	}
}

/* --- frames in -------------------------------------------------------------------- */

/* The reader's results for the bytes, as text: "ping x, close, -fault". */
static void heard(struct str in, size_t step, char *ret_text, size_t size)
{
	struct websocket_reader r = { 0 };
	struct buf out = BUF_INIT(size - 1);
	struct str piece, payload;
	int ret = 0;

	while (in.n && ret >= 0) {
		piece = str_of(in.p, MIN(step, in.n));
		in = str_skip(in, piece.n);
		while ((ret = websocket_read(&r, &piece, &payload, NULL)) > 0)
			(void)buf_printf(&out, "%s %.*s,", ret == WEBSOCKET_PING ? "ping" : "close",
					 STR_ARG(payload));
	}
	if (ret < 0)
		(void)buf_printf(&out, "%s", ret == -ERR_TOO_LARGE ? "too large" : "fault");
	(void)snprintf(ret_text, size, "%.*s", STR_ARG(buf_str(&out)));
	buf_release(&out);
}

struct frames {
	const char *bytes;
	size_t n;
	const char *heard;
};

#define FRAMES(literal, what)                      \
	{                                          \
		literal, sizeof(literal) - 1, what \
	}
#define NO_MASK "\0\0\0\0"
#define NINE    "abcdefghi"

static void hears(const struct frames *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (size_t step = 1; step <= v[i].n; step++) {
			char text[512];

			heard(str_of(v[i].bytes, v[i].n), step, text, sizeof(text));
			assert_string_equal(text, v[i].heard);
		}
	}
}

static void pings_and_closes_are_told_and_data_is_not(void **state UNUSED)
{
	static const struct frames v[] = {
		/* RFC 6455, 5.7: "Hello" as a text, then as a ping. */
		FRAMES("\x81\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", ""),
		FRAMES("\x89\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", "ping Hello,"),
		FRAMES("\x8a\x85\x37\xfa\x21\x3d\x7f\x9f\x4d\x51\x58", ""),
		FRAMES("\x89\x80" NO_MASK "\x89\x81" NO_MASK "b\x88\x80" NO_MASK,
		       "ping ,ping b,close ,"),
		/* A message of three frames, and a ping between them. */
		FRAMES("\x02\x81" NO_MASK "x\x89\x81" NO_MASK "p\x00\x80" NO_MASK "\x80\x82" NO_MASK
		       "yz\x89\x80" NO_MASK,
		       "ping p,ping ,"),
		/* A length in two bytes. One in eight bytes: the_largest_frame_is_passed_over. */
		FRAMES("\x82\xfe\x00\x7e" NO_MASK NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE
			       NINE NINE NINE NINE "\x89\x80" NO_MASK,
		       "ping ,"),
		FRAMES("\x88\x84" NO_MASK "\x03\xe9up", "close \x03\xe9up,"),
	};

	hears(v, ARRAY_SIZE(v));
}

static void a_forbidden_frame_is_a_fault(void **state UNUSED)
{
	static const struct frames v[] = {
		FRAMES("\x81\x05Hello", "fault"), /* not masked */
		FRAMES("\xc1\x80" NO_MASK, "fault"), /* reserved bits */
		FRAMES("\x83\x80" NO_MASK, "fault"), /* opcodes */
		FRAMES("\x8b\x80" NO_MASK, "fault"),
		FRAMES("\x09\x80" NO_MASK, "fault"), /* a ping in parts */
		FRAMES("\x89\xfe\x00\x7e" NO_MASK, "fault"), /* a long one */
		FRAMES("\x80\x80" NO_MASK, "fault"), /* a part of nothing */
		FRAMES("\x01\x80" NO_MASK "\x81\x80" NO_MASK, "fault"), /* a message in another */
		FRAMES("\x88\x81" NO_MASK "\x03", "fault"),
		/* Lengths in more bytes than needed. */
		FRAMES("\x82\xfe\x00\x02" NO_MASK "ab", "fault"),
		FRAMES("\x82\xfe\x00\x7d" NO_MASK, "fault"),
		FRAMES("\x82\xff\0\0\0\0\0\0\0\x03" NO_MASK "abc", "fault"),
		FRAMES("\x82\xff\0\0\0\0\0\0\xff\xff" NO_MASK, "fault"),
		FRAMES("\x82\xff\0\0\0\0\x02\0\0\x01" NO_MASK, "too large"),
		FRAMES("\x82\xff\x80\0\0\0\0\0\0\x01" NO_MASK, "too large"),
	};

	hears(v, ARRAY_SIZE(v));
}

static void the_largest_frame_is_passed_over(void **state UNUSED)
{
	static const char head[] = "\x82\xff\0\0\0\0\x02\0\0\0" NO_MASK, piece[64 * KIB];
	struct websocket_reader r = { 0 };
	struct str in = str_of(head, sizeof(head) - 1), payload;

	assert_int_equal(websocket_read(&r, &in, &payload, NULL), 0);
	for (size_t n = 0; n < WEBSOCKET_FRAME_MAX; n += sizeof(piece)) {
		in = str_of(piece, sizeof(piece));
		assert_int_equal(websocket_read(&r, &in, &payload, NULL), 0);
		assert_int_equal(in.n, 0);
	}
	in = STR("\x89\x81" NO_MASK "!");
	assert_int_equal(websocket_read(&r, &in, &payload, NULL), WEBSOCKET_PING);
	assert_true(str_eqz(payload, "!"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_key_is_answered_as_in_the_rfc),
		cmocka_unit_test(the_first_protocol_that_is_known_is_taken),
		cmocka_unit_test(an_invalid_handshake_is_rejected_with_upstreams_message),
		cmocka_unit_test(heads_say_how_long_a_frame_is),
		cmocka_unit_test(a_close_has_its_code),
		cmocka_unit_test(a_stream_is_cut_into_messages),
		cmocka_unit_test(a_text_is_base64),
		cmocka_unit_test(messages_fit_what_is_said_of_them),
		cmocka_unit_test(pings_and_closes_are_told_and_data_is_not),
		cmocka_unit_test(a_forbidden_frame_is_a_fault),
		cmocka_unit_test(the_largest_frame_is_passed_over),
	};

	return cmocka_run_group_tests_name("net/websocket", tests, NULL, NULL);
}
