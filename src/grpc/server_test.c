/*
 * The server against requests that no proper client sends: written field by
 * field and byte by byte, over real HTTP/2 in a simulated world.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "grpc/fixture.h"
#include "net/http/client.h"
#include "net/loop/gzip.h"

struct test {
	struct fixture f;
	struct http_client *client;
	/* The response to the last request. */
	struct http_stream *stream;
	int status;
	char code[8];
	char text[256];
	char accept[64];
	bool head_only; /* the status came with the head */
	unsigned ends, closes;
	bool hold; /* do not give the window back */
	/* The server's hooks: their behaviour and arguments. */
	bool refuse;
	unsigned done;
	enum grpc_code done_code;
};

static int admit(void *arg, struct grpc_call *c UNUSED, struct error *err)
{
	struct test *t = arg;

	return t->refuse ? error_set(err, ERR_TOO_MANY_REQUESTS, "not so fast") : 0;
}

static void on_done(void *arg, struct grpc_call *c UNUSED, enum grpc_code code)
{
	struct test *t = arg;

	t->done++;
	t->done_code = code;
}

static int setup(void **state)
{
	struct test *t = XNEW(struct test);
	struct grpc_server_opts opts = { .admit = admit, .on_done = on_done, .arg = t };
	struct http_client_opts client = { .protocol = HTTP_PROTOCOL_2 };

	fixture_init(&t->f, 42, NULL, &opts);
	client.to = t->f.at;
	assert_int_equal(http_client_new(t->f.client_loop, &client, &t->client, NULL), 0);
	*state = t;
	return 0;
}

static int teardown(void **state)
{
	struct test *t = *state;

	http_client_free(t->client);
	fixture_release(&t->f);
	free(t);
	return 0;
}

static void copy(char *to, size_t size, struct str value)
{
	(void)snprintf(to, size, "%.*s", STR_ARG(value));
}

static void raw_end(struct http_stream *s)
{
	struct test *t = s->data;
	const struct http_fields *f = s->trailers.n ? &s->trailers : &s->in.fields;

	t->ends++;
	t->status = s->in.status;
	t->head_only = s->trailers.n == 0;
	copy(t->code, sizeof(t->code), http_fields_get(f, STR("grpc-status")));
	copy(t->text, sizeof(t->text), http_fields_get(f, STR("grpc-message")));
	copy(t->accept, sizeof(t->accept),
	     http_fields_get(&s->in.fields, STR("grpc-accept-encoding")));
}

static void raw_close(struct http_stream *s, const struct error *err UNUSED)
{
	((struct test *)s->data)->closes++;
}

static void raw_body(struct http_stream *s, struct str piece)
{
	if (!((struct test *)s->data)->hold)
		http_stream_consume(s, piece.n);
}

static const struct http_stream_ops raw_ops = {
	.on_body = raw_body,
	.on_end = raw_end,
	.on_close = raw_close,
};

static const struct http_field grpc_fields[] = {
	{ { "te", 2 }, { "trailers", 8 } }, { { "content-type", 12 }, { "application/grpc", 16 } }
};

static void request_with(struct test *t, const char *method, const char *path,
			 const struct http_field *fields, size_t n)
{
	struct http_request r = {
		.method = str_from(method),
		.scheme = STR("http"),
		.authority = STR("localhost"),
		.target = str_from(path),
		.fields = fields,
		.nfields = n,
		.length = -1,
		.ops = &raw_ops,
		.data = t,
	};

	t->ends = t->closes = 0;
	assert_int_equal(http_client_request(t->client, &r, &t->stream, NULL), 0);
	fixture_settle(&t->f);
}

/* A proper head with one field more, or none. */
static void request(struct test *t, const char *path, const char *name, const char *value)
{
	struct http_field fields[3] = { grpc_fields[0], grpc_fields[1] };

	if (name)
		fields[2] = (struct http_field){ str_from(name), str_from(value) };
	request_with(t, "POST", path, fields, name ? 3 : 2);
}

static void send_bytes(struct test *t, const void *p, size_t n)
{
	assert_int_equal(http_stream_send_copy(t->stream, str_of(p, n)), 0);
	fixture_settle(&t->f);
}

static void end_request(struct test *t)
{
	(void)http_stream_end(t->stream, NULL, 0);
	fixture_settle(&t->f);
}

static void assert_refused(const struct test *t, int status, const char *code, const char *text)
{
	assert_int_equal(t->ends, 1);
	assert_int_equal(t->status, status);
	assert_string_equal(t->code, code);
	assert_string_equal(t->text, text);
	assert_int_equal(t->f.server.messages, 0);
}

/* --- heads --------------------------------------------------------------------------------- */

static void unknown_methods_and_services_are_told_apart(void **state)
{
	struct test *t = *state;
	static const char *const rows[][2] = {
		{ "/no.Service/Do", "unknown service no.Service" },
		{ "/devplane.probe.v1.Probe/Do",
		  "unknown method Do for service devplane.probe.v1.Probe" },
		{ "/a/b/c", "unknown service a/b" },
		{ "/nothing", "malformed method name: \"/nothing\"" },
		{ "/", "malformed method name: \"/\"" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		request(t, rows[i][0], NULL, NULL);
		assert_refused(t, 200, "12", rows[i][1]);
		assert_true(t->head_only);
	}
}

static void other_methods_than_post_are_405(void **state)
{
	struct test *t = *state;

	request_with(t, "GET", fixture_echo.path, grpc_fields, 2);
	assert_refused(t, 405, "13",
		       "Received a HEADERS frame with :method \"GET\" which should be POST");
}

static void other_content_types_are_415(void **state)
{
	struct test *t = *state;
	static const char *const bad[] = { "text/plain", "application/grpc-web",
					   "application/grpcx" };
	static const char *const good[] = { "application/grpc", "application/grpc+proto",
					    "application/grpc;charset=utf-8" };
	struct http_field field = HTTP_FIELD("content-type", STR_NULL);

	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		field.value = str_from(bad[i]);
		request_with(t, "POST", fixture_echo.path, &field, 1);
		assert_int_equal(t->status, 415);
		assert_string_equal(t->code, "3");
	}
	for (size_t i = 0; i < ARRAY_SIZE(good); i++) {
		field.value = str_from(good[i]);
		request_with(t, "POST", fixture_echo.path, &field, 1);
		assert_int_equal(t->ends, 0);
		send_bytes(t, "\0\0\0\0\0", 5);
		end_request(t);
		assert_int_equal(t->status, 200);
		assert_string_equal(t->code, "0");
	}
}

static void a_malformed_timeout_is_400_and_internal(void **state)
{
	struct test *t = *state;

	request(t, fixture_echo.path, "grpc-timeout", "5parsecs");
	assert_refused(t, 400, "13",
		       "malformed grpc-timeout: timeout is not a number: \"5parsecs\"");
}

static void malformed_metadata_is_400_and_internal(void **state)
{
	struct test *t = *state;

	request(t, fixture_echo.path, "x-bin", "***");
	assert_int_equal(t->status, 400);
	assert_string_equal(t->code, "13");
	assert_non_null(strstr(t->text, "malformed binary metadata"));
}

static void an_unknown_encoding_is_unimplemented_and_we_say_what_we_know(void **state)
{
	struct test *t = *state;

	request(t, fixture_echo.path, "grpc-encoding", "zstd");
	assert_refused(t, 200, "12",
		       "grpc: Decompressor is not installed for grpc-encoding \"zstd\"");
	assert_string_equal(t->accept, "identity,gzip");
}

static void a_call_that_is_not_admitted_is_refused_and_counted(void **state)
{
	struct test *t = *state;

	t->refuse = true;
	request(t, fixture_echo.path, NULL, NULL);
	assert_refused(t, 200, "8", "not so fast");
	assert_int_equal(t->done, 1);
	assert_int_equal(t->done_code, GRPC_RESOURCE_EXHAUSTED);
	assert_int_equal(t->f.calls, 0);
}

/* --- bodies -------------------------------------------------------------------------------- */

static void a_compressed_request_is_understood(void **state)
{
	struct test *t = *state;
	CLEANUP(buf_release) struct buf zipped = BUF_INIT(KIB);
	char prefix[5] = { 1 };

	assert_int_equal(gzip_deflate(STR("\x0a\5hello"), 6, &zipped, NULL), 0);
	prefix[4] = (char)zipped.n;
	request(t, fixture_echo.path, "grpc-encoding", "gzip");
	send_bytes(t, prefix, sizeof(prefix));
	send_bytes(t, zipped.p, zipped.n);
	end_request(t);
	assert_string_equal(t->code, "0");
	assert_int_equal(t->f.calls, 1);
}

static void malformed_frames_end_the_call_at_once(void **state)
{
	struct test *t = *state;
	static const struct {
		const char *bytes;
		size_t n;
		const char *code;
		const char *text;
	} rows[] = {
		{ "\2\0\0\0\0", 5, "13", "grpc: received unexpected payload format 2" },
		{ "\1\0\0\0\1x", 6, "13",
		  "grpc: compressed flag set with identity or empty encoding" },
		{ "\0\xff\xff\xff\xff", 5, "8",
		  "grpc: received message larger than max (4294967295 vs. 4194304)" },
		{ "\0\0\0\0\2\x12\5", 7, "13",
		  "grpc: failed to unmarshal message devplane.probe.v1.Chunk" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		request(t, fixture_upload.path, NULL, NULL);
		assert_int_equal(t->ends, 0);
		send_bytes(t, rows[i].bytes, rows[i].n);
		assert_refused(t, 200, rows[i].code, rows[i].text);
		assert_true(t->head_only);
		assert_int_equal(t->closes, 1);
		assert_int_equal(t->f.server.ends, 1);
		assert_int_equal(t->f.server.half_closes, 0);
	}
}

static void a_truncated_message_is_internal(void **state)
{
	struct test *t = *state;

	request(t, fixture_upload.path, NULL, NULL);
	send_bytes(t, "\0\0\0\0\7abc", 8);
	end_request(t);
	assert_refused(t, 200, "13", "unexpected EOF: the message is incomplete");
	assert_int_equal(t->f.server.half_closes, 0);
}

static void a_unary_call_takes_exactly_one_message(void **state)
{
	struct test *t = *state;

	request(t, fixture_echo.path, NULL, NULL);
	end_request(t);
	assert_refused(
		t, 200, "12",
		"cardinality violation: no request message for /devplane.probe.v1.Probe/Echo");
	request(t, fixture_echo.path, NULL, NULL);
	send_bytes(t, "\0\0\0\0\0\0\0\0\0\0", 10);
	assert_string_equal(t->code, "12");
	assert_int_equal(t->f.calls, 0);
}

static void a_unary_handler_waits_for_the_end_of_the_request(void **state)
{
	struct test *t = *state;

	request(t, fixture_echo.path, NULL, NULL);
	send_bytes(t, "\0\0\0\0\0", 5);
	assert_int_equal(t->f.calls, 0);
	end_request(t);
	assert_int_equal(t->f.calls, 1);
	assert_string_equal(t->code, "0");
	assert_int_equal(t->done, 1);
	assert_int_equal(t->done_code, GRPC_OK);
}

/* --- time ---------------------------------------------------------------------------------- */

static void the_server_keeps_the_deadline_though_the_client_does_not(void **state)
{
	struct test *t = *state;

	t->f.hold = true;
	request(t, fixture_echo.path, "grpc-timeout", "250m");
	send_bytes(t, "\0\0\0\0\0", 5);
	end_request(t);
	assert_int_equal(t->f.calls, 1);
	fixture_run(&t->f, 240 - 3 * 50);
	assert_int_equal(t->ends, 0);
	fixture_run(&t->f, 20);
	assert_int_equal(t->ends, 1);
	assert_string_equal(t->code, "4");
	assert_string_equal(t->text, "context deadline exceeded");
	assert_int_equal(t->f.server.code, GRPC_DEADLINE_EXCEEDED);
	assert_int_equal(t->done_code, GRPC_DEADLINE_EXCEEDED);
}

static void a_timeout_of_nothing_has_passed(void **state)
{
	struct test *t = *state;

	request(t, fixture_upload.path, "grpc-timeout", "0S");
	assert_string_equal(t->code, "4");
	assert_int_equal(t->f.server.code, GRPC_DEADLINE_EXCEEDED);
}

static void a_deadline_behind_unread_data_resets_the_stream(void **state)
{
	struct test *t = *state;
	/* count: 1000, size: 5000 */
	static const char body[] = "\0\0\0\0\6\x08\xe8\x07\x10\x88\x27";

	t->hold = true;
	request(t, fixture_download.path, "grpc-timeout", "1S");
	send_bytes(t, body, sizeof(body) - 1);
	end_request(t);
	assert_true(t->f.server.to_send > 900);
	fixture_run(&t->f, 1000);
	assert_int_equal(t->f.server.ends, 1);
	assert_int_equal(t->f.server.code, GRPC_DEADLINE_EXCEEDED);
	assert_int_equal(t->ends, 0);
	assert_int_equal(t->closes, 1);
}

/* --- the peer goes ------------------------------------------------------------------------- */

static void a_reset_by_the_client_cancels_the_handler(void **state)
{
	struct test *t = *state;

	request(t, fixture_upload.path, NULL, NULL);
	assert_int_equal(t->f.server.ends, 0);
	http_stream_reset(t->stream, NULL);
	fixture_settle(&t->f);
	assert_int_equal(t->f.server.ends, 1);
	assert_int_equal(t->f.server.code, GRPC_CANCELLED);
	assert_int_equal(t->done_code, GRPC_CANCELLED);
}

static void a_dead_connection_cancels_the_handler(void **state)
{
	struct test *t = *state;

	request(t, fixture_upload.path, NULL, NULL);
	sim_loop_crash(t->f.client_loop, SIM_CRASH_PROCESS);
	sim_loop_bury(t->f.client_loop);
	fixture_settle(&t->f);
	assert_int_equal(t->f.server.ends, 1);
	assert_int_equal(t->f.server.code, GRPC_CANCELLED);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(unknown_methods_and_services_are_told_apart),
		TEST(other_methods_than_post_are_405),
		TEST(other_content_types_are_415),
		TEST(a_malformed_timeout_is_400_and_internal),
		TEST(malformed_metadata_is_400_and_internal),
		TEST(an_unknown_encoding_is_unimplemented_and_we_say_what_we_know),
		TEST(a_call_that_is_not_admitted_is_refused_and_counted),
		TEST(a_compressed_request_is_understood),
		TEST(malformed_frames_end_the_call_at_once),
		TEST(a_truncated_message_is_internal),
		TEST(a_unary_call_takes_exactly_one_message),
		TEST(a_unary_handler_waits_for_the_end_of_the_request),
		TEST(the_server_keeps_the_deadline_though_the_client_does_not),
		TEST(a_timeout_of_nothing_has_passed),
		TEST(a_deadline_behind_unread_data_resets_the_stream),
		TEST(a_reset_by_the_client_cancels_the_handler),
		TEST(a_dead_connection_cancels_the_handler),
	};

	return cmocka_run_group_tests_name("grpc/server", tests, NULL, NULL);
}
