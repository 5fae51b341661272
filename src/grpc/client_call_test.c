/*
 * The client against servers that answer in every wrong way, written field by
 * field and byte by byte, over real HTTP/2 in a simulated world.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "grpc/fixture.h"

/* One answer, and what the client must make of it. */
struct script {
	int status; /* 0: 200 */
	const char *type; /* content-type; NULL: gRPC's, "": none */
	const char *head; /* "name: value": a field more in the head */
	struct str body;
	const char *trailers; /* the same; several are separated by ";" */
	bool head_ends; /* no body, no trailers */
	enum error_code reset; /* instead of an end */
	enum grpc_code code; /* expected */
	const char *says; /* part of the message; NULL: any */
};

/* The fields of a text as above; returns how many. */
static size_t parse_fields(const char *text, struct http_field *v)
{
	struct str rest = str_from(text), line, name;
	size_t n = 0;

	while (str_split(&rest, ';', &line)) {
		assert_true(str_split(&line, ':', &name));
		v[n++] = (struct http_field){ str_trim(name), str_trim(line) };
	}
	return n;
}

static void answer(struct http_stream *s, const struct script *x)
{
	struct str type = x->type ? str_from(x->type) : STR("application/grpc");
	struct http_field v[4];
	struct error why;
	size_t n = parse_fields(x->head, v);

	if (type.n)
		v[n++] = HTTP_FIELD("content-type", type);
	(void)http_stream_respond(s, x->status ? x->status : 200, v, n, x->head_ends ? 0 : -1);
	if (x->body.n)
		(void)http_stream_send_copy(s, x->body);
	if (x->reset) {
		(void)error_set(&why, x->reset, "as the test says");
		http_stream_reset(s, &why);
		return;
	}
	(void)http_stream_end(s, v, parse_fields(x->trailers, v));
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
	/* One connection served them all, with any reply. */
	http_server_stats(f->http, &stats);
	assert_int_equal(stats.accepted, 1);
}

/* A message without content. */
#define EMPTY STR("\0\0\0\0\0")

/* --- answers that are no gRPC ---------------------------------------------------------------- */

static void answers_that_are_no_grpc_become_codes(void **state)
{
	struct script rows[] = {
		{ .status = 503,
		  .type = "text/html",
		  .body = STR("busy"),
		  .code = GRPC_UNAVAILABLE,
		  .says = "HTTP status code received from server: 503 (Service Unavailable)" },
		{ .status = 404, .type = "", .head_ends = true, .code = GRPC_UNIMPLEMENTED },
		{ .status = 401, .type = "", .head_ends = true, .code = GRPC_UNAUTHENTICATED },
		{ .status = 403, .type = "", .head_ends = true, .code = GRPC_PERMISSION_DENIED },
		{ .status = 400, .type = "", .head_ends = true, .code = GRPC_INTERNAL },
		{ .status = 418, .type = "", .head_ends = true, .code = GRPC_UNKNOWN },
		{ .type = "text/html",
		  .body = STR("hello"),
		  .code = GRPC_UNKNOWN,
		  .says = "received unexpected content-type \"text/html\"" },
		{ .type = "", .head_ends = true, .code = GRPC_UNKNOWN },
		/* A proper refusal comes with both. */
		{ .status = 415,
		  .head = "grpc-status: 3",
		  .head_ends = true,
		  .code = GRPC_INVALID_ARGUMENT },
		{ .status = 500, .head_ends = true, .code = GRPC_UNKNOWN },
	};

	check(*state, rows, ARRAY_SIZE(rows));
}

/* --- statuses ---------------------------------------------------------------------------- */

static void the_status_is_read_wherever_it_is(void **state)
{
	struct script rows[] = {
		{ .body = EMPTY, .trailers = "grpc-status: 0", .code = GRPC_OK },
		{ .type = "application/grpc+proto",
		  .body = EMPTY,
		  .trailers = "grpc-status: 0",
		  .code = GRPC_OK },
		{ .head = "grpc-status: 5", .head_ends = true, .code = GRPC_NOT_FOUND },
		{ .trailers = "grpc-status: 9; grpc-message: a%20b%zz",
		  .code = GRPC_FAILED_PRECONDITION,
		  .says = "a b%zz" },
		{ .body = EMPTY, .trailers = "grpc-status: 99", .code = GRPC_UNKNOWN },
		{ .body = EMPTY, .trailers = "grpc-status: zero", .code = GRPC_UNKNOWN },
		{ .body = EMPTY,
		  .trailers = "x-note: bare",
		  .code = GRPC_UNKNOWN,
		  .says = "no status" },
		{ .body = EMPTY,
		  .code = GRPC_INTERNAL,
		  .says = "server closed the stream without sending trailers" },
	};

	check(*state, rows, ARRAY_SIZE(rows));
}

static void a_head_of_its_own_is_no_trailer(void **state)
{
	struct fixture *f = *state;
	struct script in_trailers = { .body = EMPTY, .trailers = "grpc-status: 0; x-note: there" };
	struct script in_head = { .head = "x-note: here", .trailers = "grpc-status: 5" };

	assert_string_equal(ask(f, &in_trailers).note, "there");
	assert_string_equal(ask(f, &in_head).note, "");
}

static void resets_become_codes(void **state)
{
	struct script rows[] = {
		{ .reset = ERR_CANCELED, .code = GRPC_CANCELLED },
		{ .reset = ERR_INTERNAL, .code = GRPC_INTERNAL },
		{ .body = EMPTY, .reset = ERR_INTERNAL, .code = GRPC_INTERNAL },
	};

	check(*state, rows, ARRAY_SIZE(rows));
}

/* --- messages ---------------------------------------------------------------------------- */

static void ok_needs_whole_messages_and_the_right_number(void **state)
{
	struct script rows[] = {
		{ .trailers = "grpc-status: 0",
		  .code = GRPC_UNIMPLEMENTED,
		  .says = "no response message" },
		{ .body = STR("\0\0\0\0\0\0\0\0\0\0"),
		  .trailers = "grpc-status: 0",
		  .code = GRPC_UNIMPLEMENTED,
		  .says = "more than one message" },
		{ .body = STR("\0\0\0\0\7ab"),
		  .trailers = "grpc-status: 0",
		  .code = GRPC_INTERNAL,
		  .says = "incomplete" },
		/* A failure is believed as it is. */
		{ .body = STR("\0\0\0\0\7ab"),
		  .trailers = "grpc-status: 10",
		  .code = GRPC_ABORTED },
		{ .body = STR("\0\0\0\0\2\x0a\7"),
		  .trailers = "grpc-status: 0",
		  .code = GRPC_INTERNAL,
		  .says = "failed to unmarshal" },
		{ .body = STR("\7\0\0\0\0"),
		  .trailers = "grpc-status: 0",
		  .code = GRPC_INTERNAL,
		  .says = "payload format 7" },
		{ .body = STR("\0\x7f\0\0\0"),
		  .trailers = "grpc-status: 0",
		  .code = GRPC_RESOURCE_EXHAUSTED,
		  .says = "larger than max" },
	};

	check(*state, rows, ARRAY_SIZE(rows));
}

static void heads_that_cannot_be_understood_are_internal(void **state)
{
	struct script rows[] = {
		{ .head = "grpc-encoding: br",
		  .body = EMPTY,
		  .trailers = "grpc-status: 0",
		  .code = GRPC_INTERNAL,
		  .says = "grpc-encoding \"br\"" },
		{ .head = "x-bin: ?",
		  .body = EMPTY,
		  .trailers = "grpc-status: 0",
		  .code = GRPC_INTERNAL,
		  .says = "malformed binary metadata" },
		{ .body = EMPTY,
		  .trailers = "grpc-status: 0; x-bin: ?",
		  .code = GRPC_INTERNAL,
		  .says = "malformed binary metadata" },
		{ .head = "grpc-encoding: identity",
		  .body = EMPTY,
		  .trailers = "grpc-status: 0",
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
		TEST(a_head_of_its_own_is_no_trailer),
		TEST(resets_become_codes),
		TEST(ok_needs_whole_messages_and_the_right_number),
		TEST(heads_that_cannot_be_understood_are_internal),
	};

	return cmocka_run_group_tests_name("grpc/client_call", tests, NULL, NULL);
}
