/*
 * The client against servers that answer in every wrong way, written field by
 * field and byte by byte, over real HTTP/2 in a simulated world.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "grpc/fixture.h"

/* One answer, and what the client must make of it. */
struct script {
	int status;
	const char *type; /* content-type, or NULL */
	const char *extra[2]; /* a field more in the head */
	const char *body;
	size_t nbody;
	const char *trailers[2][2]; /* name and value */
	bool head_ends; /* no body, no trailers */
	enum error_code reset; /* instead of an end */
	enum grpc_code code; /* expected */
	const char *says; /* part of the message; NULL: any */
};

static struct http_field field(const char *const *pair)
{
	return (struct http_field){ str_from(pair[0]), str_from(pair[1]) };
}

static void answer(struct http_stream *s, const struct script *x)
{
	struct http_field v[2];
	struct error why;
	size_t n = 0;

	if (x->type)
		v[n++] = HTTP_FIELD("content-type", str_from(x->type));
	if (x->extra[0])
		v[n++] = field(x->extra);
	(void)http_stream_respond(s, x->status, v, n, x->head_ends ? 0 : -1);
	if (x->nbody)
		(void)http_stream_send_copy(s, str_of(x->body, x->nbody));
	if (x->reset) {
		(void)error_set(&why, x->reset, "as the test says");
		http_stream_reset(s, &why);
		return;
	}
	for (n = 0; n < 2 && x->trailers[n][0]; n++)
		v[n] = field(x->trailers[n]);
	(void)http_stream_end(s, v, n);
}

static void on_request_end(struct http_stream *s)
{
	const struct fixture *f = s->data;

	answer(s, f->data);
}

static const struct http_stream_ops script_ops = { .on_end = on_request_end };

static void play(struct fixture *f, struct http_stream *s)
{
	s->ops = &script_ops;
	s->data = f;
}

static int setup(void **state)
{
	struct fixture *f = XNEW(struct fixture);

	fixture_init(f, 42, NULL, NULL);
	f->raw = play;
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	fixture_release(*state);
	free(*state);
	return 0;
}

struct result {
	unsigned calls;
	enum grpc_code code;
	char message[256];
	char note[64]; /* trailer x-note */
	bool reply;
};

static void on_result(void *arg, struct grpc_call *c, const struct grpc_status *st,
		      const void *reply)
{
	struct result *r = arg;

	r->calls++;
	r->code = st->code;
	r->reply = reply != NULL;
	(void)snprintf(r->message, sizeof(r->message), "%.*s", STR_ARG(st->message));
	(void)snprintf(r->note, sizeof(r->note), "%.*s",
		       STR_ARG(grpc_call_trailer(c, STR("x-note"))));
}

static struct result ask(struct fixture *f, struct script *x)
{
	Devplane__Probe__V1__EchoRequest in = DEVPLANE__PROBE__V1__ECHO_REQUEST__INIT;
	struct result r = { 0 };

	f->data = x;
	(void)grpc_channel_unary(f->channel, &fixture_echo, &in.base, NULL, on_result, &r);
	fixture_settle(f);
	assert_int_equal(r.calls, 1);
	return r;
}

static void check(struct fixture *f, struct script *x, size_t n)
{
	struct http_server_stats stats;

	for (size_t i = 0; i < n; i++) {
		struct result r = ask(f, &x[i]);

		if (r.code != x[i].code || (x[i].says && !strstr(r.message, x[i].says)))
			fail_msg("row %zu: %s \"%s\", expected %s \"%s\"", i,
				 grpc_code_name(r.code), r.message, grpc_code_name(x[i].code),
				 x[i].says ? x[i].says : "");
		assert_int_equal(r.reply, x[i].code == GRPC_OK);
	}
	/* Whatever was answered, one connection served them all. */
	http_server_stats(f->http, &stats);
	assert_int_equal(stats.accepted, 1);
}

#define GRPC_TYPE "application/grpc"
#define EMPTY     "\0\0\0\0\0", 5

/* --- answers that are no gRPC ------------------------------------------------------------------ */

static void answers_that_are_no_grpc_become_codes(void **state)
{
	struct script rows[] = {
		{ 503,
		  "text/html",
		  { 0 },
		  "busy",
		  4,
		  { { 0 } },
		  .code = GRPC_UNAVAILABLE,
		  .says = "unexpected HTTP status code received from server: 503 (Service "
			  "Unavailable)" },
		{ 404,
		  NULL,
		  { 0 },
		  NULL,
		  0,
		  { { 0 } },
		  .head_ends = true,
		  .code = GRPC_UNIMPLEMENTED },
		{ 401,
		  NULL,
		  { 0 },
		  NULL,
		  0,
		  { { 0 } },
		  .head_ends = true,
		  .code = GRPC_UNAUTHENTICATED },
		{ 403,
		  NULL,
		  { 0 },
		  NULL,
		  0,
		  { { 0 } },
		  .head_ends = true,
		  .code = GRPC_PERMISSION_DENIED },
		{ 400, NULL, { 0 }, NULL, 0, { { 0 } }, .head_ends = true, .code = GRPC_INTERNAL },
		{ 418, NULL, { 0 }, NULL, 0, { { 0 } }, .head_ends = true, .code = GRPC_UNKNOWN },
		{ 200,
		  "text/html",
		  { 0 },
		  "hello",
		  5,
		  { { 0 } },
		  .code = GRPC_UNKNOWN,
		  .says = "received unexpected content-type \"text/html\"" },
		{ 200, NULL, { 0 }, NULL, 0, { { 0 } }, .head_ends = true, .code = GRPC_UNKNOWN },
		/* A proper refusal comes with both. */
		{ 415,
		  GRPC_TYPE,
		  { "grpc-status", "3" },
		  NULL,
		  0,
		  { { 0 } },
		  .head_ends = true,
		  .code = GRPC_INVALID_ARGUMENT },
		{ 500,
		  GRPC_TYPE,
		  { 0 },
		  NULL,
		  0,
		  { { 0 } },
		  .head_ends = true,
		  .code = GRPC_UNKNOWN },
	};

	check(*state, rows, ARRAY_SIZE(rows));
}

/* --- statuses ---------------------------------------------------------------------------------- */

static void the_status_is_read_wherever_it_is(void **state)
{
	struct script rows[] = {
		{ 200, GRPC_TYPE, { 0 }, EMPTY, { { "grpc-status", "0" } }, .code = GRPC_OK },
		{ 200,
		  "application/grpc+proto",
		  { 0 },
		  EMPTY,
		  { { "grpc-status", "0" } },
		  .code = GRPC_OK },
		{ 200,
		  GRPC_TYPE,
		  { "grpc-status", "5" },
		  NULL,
		  0,
		  { { 0 } },
		  .head_ends = true,
		  .code = GRPC_NOT_FOUND },
		{ 200,
		  GRPC_TYPE,
		  { 0 },
		  NULL,
		  0,
		  { { "grpc-status", "9" }, { "grpc-message", "a%20b%zz" } },
		  .code = GRPC_FAILED_PRECONDITION,
		  .says = "a b%zz" },
		{ 200, GRPC_TYPE, { 0 }, EMPTY, { { "grpc-status", "99" } }, .code = GRPC_UNKNOWN },
		{ 200,
		  GRPC_TYPE,
		  { 0 },
		  EMPTY,
		  { { "grpc-status", "zero" } },
		  .code = GRPC_UNKNOWN },
		{ 200,
		  GRPC_TYPE,
		  { 0 },
		  EMPTY,
		  { { "x-note", "no status" } },
		  .code = GRPC_UNKNOWN,
		  .says = "no status" },
		{ 200,
		  GRPC_TYPE,
		  { 0 },
		  EMPTY,
		  { { 0 } },
		  .code = GRPC_INTERNAL,
		  .says = "server closed the stream without sending trailers" },
	};

	check(*state, rows, ARRAY_SIZE(rows));
}

static void trailers_come_with_a_status_alone_too(void **state)
{
	struct fixture *f = *state;
	struct script in_trailers = {
		200, GRPC_TYPE, { 0 }, EMPTY, { { "grpc-status", "0" }, { "x-note", "there" } }
	};
	struct script in_head = { 200,  GRPC_TYPE, { "x-note", "here" },
				  NULL, 0,         { { "grpc-status", "5" } } };

	assert_string_equal(ask(f, &in_trailers).note, "there");
	/* A head of its own: its metadata is no trailer. */
	assert_string_equal(ask(f, &in_head).note, "");
}

static void resets_become_codes(void **state)
{
	struct script rows[] = {
		{ 200,
		  GRPC_TYPE,
		  { 0 },
		  NULL,
		  0,
		  { { 0 } },
		  .reset = ERR_CANCELED,
		  .code = GRPC_CANCELLED },
		{ 200,
		  GRPC_TYPE,
		  { 0 },
		  NULL,
		  0,
		  { { 0 } },
		  .reset = ERR_INTERNAL,
		  .code = GRPC_INTERNAL },
	};

	check(*state, rows, ARRAY_SIZE(rows));
}

/* --- messages ---------------------------------------------------------------------------------- */

static void ok_needs_whole_messages_and_the_right_number(void **state)
{
	struct script rows[] = {
		{ 200,
		  GRPC_TYPE,
		  { 0 },
		  NULL,
		  0,
		  { { "grpc-status", "0" } },
		  .code = GRPC_UNIMPLEMENTED,
		  .says = "no response message" },
		{ 200,
		  GRPC_TYPE,
		  { 0 },
		  "\0\0\0\0\0\0\0\0\0\0",
		  10,
		  { { "grpc-status", "0" } },
		  .code = GRPC_UNIMPLEMENTED,
		  .says = "more than one message" },
		{ 200,
		  GRPC_TYPE,
		  { 0 },
		  "\0\0\0\0\7ab",
		  7,
		  { { "grpc-status", "0" } },
		  .code = GRPC_INTERNAL,
		  .says = "incomplete" },
		/* A failure is believed as it is. */
		{ 200,
		  GRPC_TYPE,
		  { 0 },
		  "\0\0\0\0\7ab",
		  7,
		  { { "grpc-status", "10" } },
		  .code = GRPC_ABORTED },
		{ 200,
		  GRPC_TYPE,
		  { 0 },
		  "\0\0\0\0\2\x0a\7",
		  7,
		  { { "grpc-status", "0" } },
		  .code = GRPC_INTERNAL,
		  .says = "failed to unmarshal" },
		{ 200,
		  GRPC_TYPE,
		  { 0 },
		  "\7\0\0\0\0",
		  5,
		  { { "grpc-status", "0" } },
		  .code = GRPC_INTERNAL,
		  .says = "payload format 7" },
		{ 200,
		  GRPC_TYPE,
		  { 0 },
		  "\0\x7f\0\0\0",
		  5,
		  { { "grpc-status", "0" } },
		  .code = GRPC_RESOURCE_EXHAUSTED,
		  .says = "larger than max" },
	};

	check(*state, rows, ARRAY_SIZE(rows));
}

static void heads_that_cannot_be_understood_are_internal(void **state)
{
	struct script rows[] = {
		{ 200,
		  GRPC_TYPE,
		  { "grpc-encoding", "br" },
		  EMPTY,
		  { { "grpc-status", "0" } },
		  .code = GRPC_INTERNAL,
		  .says = "grpc-encoding \"br\"" },
		{ 200,
		  GRPC_TYPE,
		  { "x-bin", "?" },
		  EMPTY,
		  { { "grpc-status", "0" } },
		  .code = GRPC_INTERNAL,
		  .says = "malformed binary metadata" },
		{ 200,
		  GRPC_TYPE,
		  { 0 },
		  EMPTY,
		  { { "grpc-status", "0" }, { "x-bin", "?" } },
		  .code = GRPC_INTERNAL,
		  .says = "malformed binary metadata" },
		{ 200,
		  GRPC_TYPE,
		  { "grpc-encoding", "identity" },
		  EMPTY,
		  { { "grpc-status", "0" } },
		  .code = GRPC_OK },
	};

	check(*state, rows, ARRAY_SIZE(rows));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(answers_that_are_no_grpc_become_codes),
		TEST(the_status_is_read_wherever_it_is),
		TEST(trailers_come_with_a_status_alone_too),
		TEST(resets_become_codes),
		TEST(ok_needs_whole_messages_and_the_right_number),
		TEST(heads_that_cannot_be_understood_are_internal),
	};

	return cmocka_run_group_tests_name("grpc/client_call", tests, NULL, NULL);
}
