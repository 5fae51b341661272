/*
 * Both ends of calls through real HTTP/2 in a simulated world: all four
 * kinds, metadata, deadlines, cancelling, limits, pausing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "grpc/fixture.h"
#include "grpc/message.h"
#include "net/net_limits.h"

static int setup(void **state)
{
	struct fixture *f = XNEW(struct fixture);

	fixture_init(f, 42, NULL, NULL);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	fixture_release(*state);
	free(*state);
	return 0;
}

/* The arguments of grpc_channel_unary()'s callback. */
struct answer {
	unsigned calls;
	enum grpc_code code;
	char message[256];
	size_t payload;
	bool has_reply;
	char header[64], trailer[64];
};

static void copy_value(char (*to)[64], struct str value)
{
	(void)snprintf(*to, sizeof(*to), "%.*s", STR_ARG(value));
}

static void on_answer(void *arg, struct grpc_call *c, const struct grpc_status *st,
		      const void *reply)
{
	const Devplane__Probe__V1__EchoReply *r = reply;
	struct answer *a = arg;

	a->calls++;
	a->code = st->code;
	a->has_reply = reply != NULL;
	a->payload = r ? r->payload.len : 0;
	(void)snprintf(a->message, sizeof(a->message), "%.*s", STR_ARG(st->message));
	copy_value(&a->header, grpc_call_header(c, STR("x-note")));
	copy_value(&a->trailer, grpc_call_trailer(c, STR("x-note")));
}

/* Begins an Echo of n bytes. */
static struct grpc_call *echo(struct fixture *f, size_t n, const struct grpc_call_opts *opts,
			      struct answer *a)
{
	Devplane__Probe__V1__EchoRequest in = DEVPLANE__PROBE__V1__ECHO_REQUEST__INIT;
	struct grpc_call *c;

	in.payload.data = xcalloc(1, n + 1);
	in.payload.len = n;
	in.echo_metadata = true;
	c = grpc_channel_unary(f->channel, &fixture_echo, &in.base, opts, on_answer, a);
	free(in.payload.data);
	return c;
}

static struct grpc_call *download(struct fixture *f, uint64_t count, uint32_t size,
				  const struct grpc_call_opts *opts, struct seen *z)
{
	Devplane__Probe__V1__DownloadRequest in = DEVPLANE__PROBE__V1__DOWNLOAD_REQUEST__INIT;
	struct grpc_call *c = fixture_call(f, &fixture_download, opts, z);

	in.count = count;
	in.size = size;
	assert_int_equal(grpc_call_send(c, &in.base), 0);
	assert_int_equal(grpc_call_half_close(c), 0);
	return c;
}

/* --- the four kinds ------------------------------------------------------------------------ */

static void a_unary_call_is_answered(void **state)
{
	struct fixture *f = *state;
	struct answer a = { 0 };

	(void)echo(f, 1000, NULL, &a);
	assert_int_equal(a.calls, 0);
	fixture_settle(f);
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.code, GRPC_OK);
	assert_int_equal(a.payload, 1000);
	assert_int_equal(f->server.ends, 1);
	assert_int_equal(f->server.code, GRPC_OK);
}

static void many_unary_calls_run_side_by_side(void **state)
{
	struct fixture *f = *state;
	struct http_server_stats stats;
	struct answer a = { 0 };

	for (int i = 0; i < 600; i++) /* more than the server allows at once */
		(void)echo(f, 10, NULL, &a);
	fixture_settle(f);
	assert_int_equal(a.calls, 600);
	assert_int_equal(a.code, GRPC_OK);
	assert_int_equal(f->calls, 600);
	http_server_stats(f->http, &stats);
	assert_int_equal(stats.accepted, 1);
}

static void a_failure_travels_with_its_text(void **state)
{
	struct fixture *f = *state;
	Devplane__Probe__V1__EchoRequest in = DEVPLANE__PROBE__V1__ECHO_REQUEST__INIT;
	Devplane__Probe__V1__Failure fail = DEVPLANE__PROBE__V1__FAILURE__INIT;
	char text[] = "100% kaputt: Gerät\n\"x\" fehlt";
	struct answer a = { 0 };

	fail.message = text;
	in.fail_with = &fail;
	for (int code = GRPC_CANCELLED; code < GRPC_CODES; code++) {
		fail.code = code;
		(void)grpc_channel_unary(f->channel, &fixture_echo, &in.base, NULL, on_answer, &a);
		fixture_settle(f);
		assert_int_equal(a.code, code);
		assert_string_equal(a.message, text);
		assert_false(a.has_reply);
	}
}

static void a_server_stream_arrives_in_order(void **state)
{
	struct fixture *f = *state;
	struct seen z = { 0 };

	(void)download(f, 1000, 300, NULL, &z);
	fixture_settle(f);
	assert_int_equal(z.messages, 1000);
	assert_int_equal(z.bytes, 300000);
	assert_int_equal(z.sequence, 1000);
	assert_int_equal(z.metadata, 1);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_OK);
	assert_true(f->server.writables > 0);
	assert_true(f->server.held_peak <= HTTP_OUT_HIGH + 300);
}

static void an_empty_server_stream_ends_in_order(void **state)
{
	struct fixture *f = *state;
	struct seen z = { 0 };

	(void)download(f, 0, 1, NULL, &z);
	fixture_settle(f);
	assert_int_equal(z.messages, 0);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_OK);
}

static void a_client_stream_is_counted(void **state)
{
	struct fixture *f = *state;
	struct seen z = { .to_send = 1000, .size = 300 };

	fixture_pump(fixture_call(f, &fixture_upload, NULL, &z), &z);
	fixture_settle(f);
	assert_int_equal(f->server.messages, 1000);
	assert_int_equal(f->server.bytes, 300000);
	assert_int_equal(f->server.half_closes, 1);
	assert_int_equal(z.messages, 1);
	assert_int_equal(z.code, GRPC_OK);
	assert_true(z.writables > 0);
	assert_true(z.held_peak <= HTTP_OUT_HIGH + 300);
}

static void a_conversation_goes_both_ways(void **state)
{
	struct fixture *f = *state;
	struct seen z = { 0 };
	struct grpc_call *c = fixture_call(f, &fixture_chat, NULL, &z);

	for (uint64_t i = 1; i <= 5; i++) {
		assert_int_equal(fixture_send_chunk(c, i, 10), 0);
		fixture_settle(f);
		assert_int_equal(z.messages, i);
		assert_int_equal(z.sequence, i);
	}
	assert_int_equal(z.ends, 0);
	assert_int_equal(grpc_call_half_close(c), 0);
	fixture_settle(f);
	assert_int_equal(z.code, GRPC_OK);
	assert_int_equal(z.ends, 1);
}

static void one_packed_message_goes_to_many_calls(void **state)
{
	struct fixture *f = *state;
	Devplane__Probe__V1__Chunk chunk = DEVPLANE__PROBE__V1__CHUNK__INIT;
	struct bytes *packed = grpc_message_pack(&chunk.base);
	struct seen z[3] = { { 0 } };

	for (size_t i = 0; i < ARRAY_SIZE(z); i++)
		(void)fixture_call(f, &fixture_chat, NULL, &z[i]);
	for (size_t i = 0; i < ARRAY_SIZE(z); i++)
		assert_int_equal(grpc_call_send_packed(z[i].call, packed), 0);
	bytes_unref(packed);
	fixture_settle(f);
	for (size_t i = 0; i < ARRAY_SIZE(z); i++) {
		assert_int_equal(z[i].messages, 1);
		grpc_call_cancel(z[i].call);
	}
}

static void a_server_may_finish_before_the_client_has(void **state)
{
	struct fixture *f = *state;
	struct seen z = { 0 };
	struct grpc_call *c = grpc_call_ref(fixture_call(f, &fixture_chat, NULL, &z));

	fixture_settle(f);
	assert_int_equal(grpc_call_finish(f->server.call, GRPC_ABORTED, STR("enough")), 0);
	fixture_settle(f);
	assert_int_equal(z.code, GRPC_ABORTED);
	assert_string_equal(z.message, "enough");
	assert_int_equal(f->server.code, GRPC_OK);
	assert_int_equal(fixture_send_chunk(c, 1, 10), -ERR_CANCELED);
	assert_int_equal(grpc_call_half_close(c), -ERR_CANCELED);
	grpc_call_unref(c);
}

static void an_answer_may_come_later(void **state)
{
	struct fixture *f = *state;
	Devplane__Probe__V1__EchoReply out = DEVPLANE__PROBE__V1__ECHO_REPLY__INIT;
	struct answer a = { 0 };
	struct grpc_call *c;

	f->hold = true;
	(void)echo(f, 10, NULL, &a);
	fixture_settle(f);
	c = grpc_call_ref(f->server.call);
	fixture_run(f, 60000);
	assert_int_equal(a.calls, 0);
	assert_int_equal(grpc_call_reply(c, &out.base), 0);
	assert_int_equal(grpc_call_reply(c, &out.base), -ERR_CANCELED);
	grpc_call_unref(c);
	fixture_settle(f);
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.code, GRPC_OK);
}

/* --- metadata ------------------------------------------------------------------------------ */

static void metadata_goes_there_and_comes_back_in_both_places(void **state)
{
	struct fixture *f = *state;
	const struct grpc_metadata md[] = { { STR("x-note"), STR("hello") },
					    { STR("x-raw-bin"), { "\0\xff\x80", 3 } } };
	struct grpc_call_opts opts = { .metadata = md, .nmetadata = ARRAY_SIZE(md) };
	struct answer a = { 0 };
	struct grpc_call *c = grpc_call_ref(echo(f, 1, &opts, &a));
	size_t n;

	fixture_settle(f);
	assert_int_equal(a.code, GRPC_OK);
	assert_string_equal(a.header, "hello");
	assert_string_equal(a.trailer, "hello");
	assert_true(str_eq(grpc_call_trailer(c, STR("x-raw-bin")), str_of("\0\xff\x80", 3)));
	(void)grpc_call_headers(c, &n);
	assert_int_equal(n, 2);
	grpc_call_unref(c);
}

static void metadata_that_cannot_be_sent_fails_the_call(void **state)
{
	struct fixture *f = *state;
	const struct grpc_metadata md = { STR("Bad Key"), STR("x") };
	struct grpc_call_opts opts = { .metadata = &md, .nmetadata = 1 };
	struct answer a = { 0 };

	(void)echo(f, 1, &opts, &a);
	assert_int_equal(a.calls, 0);
	fixture_settle(f);
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.code, GRPC_INVALID_ARGUMENT);
	assert_int_equal(f->calls, 0);
}

static void headers_may_go_ahead_of_the_first_message(void **state)
{
	struct fixture *f = *state;
	struct seen z = { 0 };
	struct grpc_call *c = fixture_call(f, &fixture_chat, NULL, &z);

	fixture_settle(f);
	assert_int_equal(z.metadata, 0);
	assert_int_equal(
		grpc_call_add_header(f->server.call, (struct grpc_metadata){ STR("a"), STR("b") }),
		0);
	assert_int_equal(grpc_call_send_headers(f->server.call), 0);
	assert_int_equal(
		grpc_call_add_header(f->server.call, (struct grpc_metadata){ STR("a"), STR("b") }),
		-ERR_CANCELED);
	fixture_settle(f);
	assert_int_equal(z.metadata, 1);
	assert_true(str_eq(grpc_call_header(c, STR("a")), STR("b")));
	grpc_call_cancel(c);
}

/* --- time and cancelling --------------------------------------------------------------------- */

static void a_deadline_ends_both_ends_at_its_time(void **state)
{
	struct fixture *f = *state;
	struct grpc_call_opts opts = { .deadline_ms = 500 };
	struct answer a = { 0 };

	f->hold = true;
	(void)echo(f, 1, &opts, &a);
	fixture_run(f, 498);
	assert_int_equal(a.calls, 0);
	assert_int_equal(f->server.ends, 0);
	assert_true(grpc_call_deadline(f->server.call) < INT64_MAX);
	fixture_run(f, 5);
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.code, GRPC_DEADLINE_EXCEEDED);
	assert_int_equal(f->server.ends, 1);
	assert_true(f->server.code == GRPC_DEADLINE_EXCEEDED || f->server.code == GRPC_CANCELLED);
}

static void an_answer_in_time_stops_the_clock(void **state)
{
	struct fixture *f = *state;
	struct grpc_call_opts opts = { .deadline_ms = 500 };
	struct answer a = { 0 };

	(void)echo(f, 1, &opts, &a);
	fixture_run(f, 2000);
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.code, GRPC_OK);
	assert_int_equal(f->server.ends, 1);
	assert_int_equal(f->server.code, GRPC_OK);
}

static void a_client_that_cancels_is_noticed_by_the_server(void **state)
{
	struct fixture *f = *state;
	struct answer a = { 0 };
	struct grpc_call *c;

	f->hold = true;
	c = echo(f, 1, NULL, &a);
	fixture_settle(f);
	assert_int_equal(f->calls, 1);
	grpc_call_cancel(c);
	assert_int_equal(a.calls, 1);
	assert_int_equal(a.code, GRPC_CANCELLED);
	assert_int_equal(f->server.ends, 0);
	fixture_settle(f);
	assert_int_equal(f->server.ends, 1);
	assert_int_equal(f->server.code, GRPC_CANCELLED);
}

static void a_call_cancelled_before_it_is_sent_never_arrives(void **state)
{
	struct fixture *f = *state;
	struct answer a = { 0 };

	grpc_call_cancel(echo(f, 1, NULL, &a));
	assert_int_equal(a.calls, 1);
	(void)echo(f, 1, NULL, &a); /* connects */
	fixture_settle(f);
	assert_int_equal(f->calls, 1);
	grpc_call_cancel(echo(f, 1, NULL, &a));
	fixture_settle(f);
	assert_int_equal(f->calls, 1);
	assert_int_equal(a.calls, 3);
}

static void a_reader_may_cancel_in_the_middle_of_a_stream(void **state)
{
	struct fixture *f = *state;
	struct seen z = { .cancel = true };

	(void)download(f, 100, 50, NULL, &z);
	fixture_settle(f);
	assert_int_equal(z.messages, 1);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_CANCELLED);
	assert_int_equal(f->server.ends, 1);
}

static void a_server_may_cancel_in_the_middle_of_a_stream(void **state)
{
	struct fixture *f = *state;
	struct seen z = { .to_send = 100, .size = 50 };

	f->server.cancel = true;
	fixture_pump(fixture_call(f, &fixture_upload, NULL, &z), &z);
	fixture_settle(f);
	assert_int_equal(f->server.messages, 1);
	assert_int_equal(f->server.ends, 1);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_CANCELLED);
}

/* --- limits -------------------------------------------------------------------------------- */

static void messages_up_to_the_method_s_limit_pass_both_ways(void **state)
{
	struct fixture *f = *state;
	struct answer a = { 0 };

	(void)echo(f, 32 * MIB, NULL, &a);
	fixture_run(f, 60000);
	assert_int_equal(a.code, GRPC_OK);
	assert_int_equal(a.payload, 32 * MIB);
}

static void a_request_above_the_limit_is_refused_by_the_server(void **state)
{
	struct fixture *f = *state;
	struct seen z = { 0 };
	struct grpc_call *c = fixture_call(f, &fixture_chat, NULL, &z);

	assert_int_equal(fixture_send_chunk(c, 1, 200 * KIB), 0);
	fixture_settle(f);
	assert_int_equal(z.code, GRPC_RESOURCE_EXHAUSTED);
	assert_string_equal(z.message, "grpc: received message larger than max (204806 vs. 65536)");
	assert_int_equal(f->server.messages, 0);
	assert_int_equal(f->server.ends, 1);
	assert_int_equal(f->server.code, GRPC_RESOURCE_EXHAUSTED);
}

static void a_response_above_the_limit_is_refused_by_the_client(void **state)
{
	struct fixture *f = *state;
	struct grpc_call_opts opts = { .max_response = 1000 };
	struct answer a = { 0 };

	(void)echo(f, 5000, &opts, &a);
	fixture_settle(f);
	assert_int_equal(a.code, GRPC_RESOURCE_EXHAUSTED);
	assert_non_null(strstr(a.message, "vs. 1000"));
}

/* --- pausing ------------------------------------------------------------------------------- */

static void a_slow_reader_holds_the_server_back(void **state)
{
	struct fixture *f = *state;
	struct seen z = { .pause = true };
	uint64_t left;

	(void)download(f, 10000, 1000, NULL, &z);
	fixture_settle(f);
	assert_int_equal(z.messages, 1);
	left = f->server.to_send;
	/* One window here, one queue there, and what is on its way. */
	assert_true((10000 - left) * 1000 <= 4 * HTTP_WINDOW);
	for (int i = 0; i < 200; i++) {
		grpc_call_resume(z.call);
		fixture_settle(f);
	}
	assert_int_equal(z.messages, 201);
	assert_true(f->server.to_send < left);
	assert_true((10000 - f->server.to_send - 201) * 1000 <= 4 * HTTP_WINDOW);
	z.pause = false;
	grpc_call_resume(z.call);
	fixture_run(f, 10000);
	assert_int_equal(z.messages, 10000);
	assert_int_equal(z.code, GRPC_OK);
}

static void a_slow_server_holds_the_client_back(void **state)
{
	struct fixture *f = *state;
	struct seen z = { .to_send = 10000, .size = 1000 };

	f->server.pause = true;
	fixture_pump(fixture_call(f, &fixture_upload, NULL, &z), &z);
	fixture_settle(f);
	assert_int_equal(f->server.messages, 1);
	assert_true((10000 - z.to_send) * 1000 <= 4 * HTTP_WINDOW);
	f->server.pause = false;
	grpc_call_resume(f->server.call);
	fixture_run(f, 10000);
	assert_int_equal(f->server.messages, 10000);
	assert_int_equal(z.code, GRPC_OK);
}

static void the_end_waits_for_messages_that_a_pause_holds(void **state)
{
	struct fixture *f = *state;
	struct seen z = { .pause = true };

	(void)download(f, 3, 10, NULL, &z);
	fixture_settle(f);
	assert_int_equal(z.messages, 1);
	assert_int_equal(z.ends, 0);
	grpc_call_resume(z.call);
	assert_int_equal(z.messages, 2);
	assert_int_equal(z.ends, 0);
	grpc_call_resume(z.call);
	assert_int_equal(z.messages, 3);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_OK);
}

static void a_dead_connection_still_delivers_what_had_arrived(void **state)
{
	struct fixture *f = *state;
	struct seen z = { .pause = true };

	(void)download(f, 10000, 1000, NULL, &z);
	fixture_settle(f);
	fixture_crash(f);
	assert_int_equal(z.ends, 0);
	z.pause = false;
	grpc_call_resume(z.call);
	assert_true(z.messages > 1);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_UNAVAILABLE);
}

static void the_deadline_does_not_wait_for_a_paused_reader(void **state)
{
	struct fixture *f = *state;
	struct grpc_call_opts opts = { .deadline_ms = 1000 };
	struct seen z = { .pause = true };

	(void)download(f, 10000, 1000, &opts, &z);
	fixture_run(f, 1005);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_DEADLINE_EXCEEDED);
	assert_int_equal(f->server.ends, 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_unary_call_is_answered),
		TEST(many_unary_calls_run_side_by_side),
		TEST(a_failure_travels_with_its_text),
		TEST(a_server_stream_arrives_in_order),
		TEST(an_empty_server_stream_ends_in_order),
		TEST(a_client_stream_is_counted),
		TEST(a_conversation_goes_both_ways),
		TEST(one_packed_message_goes_to_many_calls),
		TEST(a_server_may_finish_before_the_client_has),
		TEST(an_answer_may_come_later),
		TEST(metadata_goes_there_and_comes_back_in_both_places),
		TEST(metadata_that_cannot_be_sent_fails_the_call),
		TEST(headers_may_go_ahead_of_the_first_message),
		TEST(a_deadline_ends_both_ends_at_its_time),
		TEST(an_answer_in_time_stops_the_clock),
		TEST(a_client_that_cancels_is_noticed_by_the_server),
		TEST(a_call_cancelled_before_it_is_sent_never_arrives),
		TEST(a_reader_may_cancel_in_the_middle_of_a_stream),
		TEST(a_server_may_cancel_in_the_middle_of_a_stream),
		TEST(messages_up_to_the_method_s_limit_pass_both_ways),
		TEST(a_request_above_the_limit_is_refused_by_the_server),
		TEST(a_response_above_the_limit_is_refused_by_the_client),
		TEST(a_slow_reader_holds_the_server_back),
		TEST(a_slow_server_holds_the_client_back),
		TEST(the_end_waits_for_messages_that_a_pause_holds),
		TEST(a_dead_connection_still_delivers_what_had_arrived),
		TEST(the_deadline_does_not_wait_for_a_paused_reader),
	};

	return cmocka_run_group_tests_name("grpc/call", tests, NULL, NULL);
}
