/*
 * Channels: states, back-off, waiting, GOAWAY, death, and being freed at bad
 * moments, in a simulated world.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/mem.h"
#include "grpc/fixture.h"
#include "net/loop/listener.h"
#include "net/net_limits.h"

struct test {
	struct fixture f;
	char states[4096]; /* every state, a space behind each */
	struct error why; /* of the last TRANSIENT_FAILURE */
	enum grpc_channel_state free_at; /* frees the channel in this state; IDLE: never */
};

static const char *state_name(enum grpc_channel_state state)
{
	static const char *const names[] = {
		[GRPC_CHANNEL_IDLE] = "IDLE",
		[GRPC_CHANNEL_CONNECTING] = "CONNECTING",
		[GRPC_CHANNEL_READY] = "READY",
		[GRPC_CHANNEL_TRANSIENT_FAILURE] = "TRANSIENT_FAILURE",
		[GRPC_CHANNEL_SHUTDOWN] = "SHUTDOWN",
	};

	return names[state];
}

static void on_state(void *arg, enum grpc_channel_state state, const struct error *err)
{
	struct test *t = arg;
	size_t n = strlen(t->states);

	(void)snprintf(t->states + n, sizeof(t->states) - n, "%s ", state_name(state));
	if (err)
		t->why = *err;
	if (t->free_at != GRPC_CHANNEL_IDLE && state == t->free_at)
		grpc_channel_free(TAKE(t->f.channel));
}

static int setup_with(void **state, bool eager)
{
	struct test *t = XNEW(struct test);
	struct grpc_channel_opts opts = { .eager = eager, .on_state = on_state, .arg = t };

	fixture_init(&t->f, 42, &opts, NULL);
	*state = t;
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, false);
}

static int setup_eager(void **state)
{
	return setup_with(state, true);
}

static int teardown(void **state)
{
	struct test *t = *state;

	fixture_release(&t->f);
	free(t);
	return 0;
}

/* How often it tried to connect. */
static unsigned attempts(const struct test *t)
{
	unsigned n = 0;

	for (const char *p = t->states; (p = strstr(p, "CONNECTING")); p++)
		n++;
	return n;
}

static struct grpc_call *chat(struct test *t, struct seen *z)
{
	*z = (struct seen){ 0 };
	return fixture_call(&t->f, &fixture_chat, NULL, z);
}

/* --- connecting ---------------------------------------------------------------------------- */

static void a_lazy_channel_connects_when_a_call_needs_it(void **state)
{
	struct test *t = *state;
	struct seen z;

	fixture_run(&t->f, 10000);
	assert_int_equal(attempts(t), 0);
	assert_int_equal(grpc_channel_state(t->f.channel), GRPC_CHANNEL_IDLE);
	(void)chat(t, &z);
	assert_int_equal(fixture_send_chunk(z.call, 1, 10), 0);
	assert_string_equal(t->states, "");
	fixture_settle(&t->f);
	assert_string_equal(t->states, "CONNECTING READY ");
	assert_int_equal(z.messages, 1);
	grpc_call_cancel(z.call);
}

static void an_eager_channel_connects_at_once_and_again(void **state)
{
	struct test *t = *state;

	fixture_settle(&t->f);
	assert_string_equal(t->states, "CONNECTING READY ");
	fixture_run(&t->f, 5000);
	fixture_crash(&t->f);
	assert_string_equal(t->states, "CONNECTING READY IDLE CONNECTING TRANSIENT_FAILURE ");
	fixture_start(&t->f);
	fixture_run(&t->f, 1000);
	assert_int_equal(grpc_channel_state(t->f.channel), GRPC_CHANNEL_READY);
}

static void a_channel_can_be_told_to_connect(void **state)
{
	struct test *t = *state;

	grpc_channel_connect(t->f.channel);
	fixture_settle(&t->f);
	assert_int_equal(grpc_channel_state(t->f.channel), GRPC_CHANNEL_READY);
}

enum { ASKED_MAX = 512 };

static void note_request(struct fixture *f, struct http_stream *s)
{
	static const char *const names[] = { "te", "content-type", "user-agent", "grpc-timeout",
					     "grpc-accept-encoding" };
	char *asked = f->data;
	size_t n;

	(void)snprintf(asked, ASKED_MAX, "%.*s %.*s://%.*s%.*s", STR_ARG(s->in.method),
		       STR_ARG(s->in.scheme), STR_ARG(s->in.authority), STR_ARG(s->in.path));
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		n = strlen(asked);
		(void)snprintf(asked + n, ASKED_MAX - n, " [%.*s]",
			       STR_ARG(http_fields_get(&s->in.fields, str_from(names[i]))));
	}
	grpc_server_handle(f->grpc, s);
}

static void the_request_says_who_asks_for_what(void **state)
{
	struct test *t = *state;
	struct grpc_call_opts opts = { .deadline_ms = 1500 };
	struct seen z = { 0 };
	char asked[ASKED_MAX];

	t->f.data = asked;
	t->f.raw = note_request;
	(void)fixture_call(&t->f, &fixture_chat, &opts, &z);
	fixture_settle(&t->f);
	assert_string_equal(asked, "POST http://localhost/devplane.probe.v1.Probe/Chat [trailers] "
				   "[application/grpc] [devplane/0.1.0] [1500m] [identity,gzip]");
	grpc_call_cancel(z.call);
}

/* --- failing and waiting ------------------------------------------------------------------- */

static void a_call_fails_when_the_attempt_it_waits_for_fails(void **state)
{
	struct test *t = *state;
	struct seen z;

	fixture_stop(&t->f, 0);
	(void)chat(t, &z);
	fixture_settle(&t->f);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_UNAVAILABLE);
	assert_true(str_starts(str_from(z.message), STR("connection error: ")));
	assert_string_equal(t->states, "CONNECTING TRANSIENT_FAILURE ");
	assert_string_equal(t->why.msg, z.message);
}

static void calls_fail_fast_while_backing_off_but_never_before_they_return(void **state)
{
	struct test *t = *state;
	struct seen z;

	fixture_stop(&t->f, 0);
	(void)chat(t, &z);
	fixture_settle(&t->f);
	(void)chat(t, &z);
	assert_int_equal(z.ends, 0);
	fixture_settle(&t->f);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_UNAVAILABLE);
	assert_int_equal(attempts(t), 1);
}

static void a_patient_call_waits_until_the_server_is_there(void **state)
{
	struct test *t = *state;
	struct grpc_call_opts opts = { .wait_for_ready = true };
	struct seen z = { 0 };

	fixture_stop(&t->f, 0);
	(void)fixture_call(&t->f, &fixture_chat, &opts, &z);
	assert_int_equal(fixture_send_chunk(z.call, 1, 10), 0);
	assert_int_equal(grpc_call_half_close(z.call), 0);
	fixture_run(&t->f, 60000);
	assert_int_equal(z.ends, 0);
	assert_true(attempts(t) > 3);
	fixture_start(&t->f);
	fixture_run(&t->f, 120000);
	assert_int_equal(z.messages, 1);
	assert_int_equal(z.code, GRPC_OK);
}

static void a_patient_call_has_its_deadline_all_the_same(void **state)
{
	struct test *t = *state;
	struct grpc_call_opts opts = { .wait_for_ready = true, .deadline_ms = 5000 };
	struct seen z = { 0 };

	fixture_stop(&t->f, 0);
	(void)fixture_call(&t->f, &fixture_chat, &opts, &z);
	fixture_run(&t->f, 4990);
	assert_int_equal(z.ends, 0);
	fixture_run(&t->f, 20);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_DEADLINE_EXCEEDED);
	assert_string_equal(z.message, "context deadline exceeded while waiting for a connection");
}

static void a_polite_producer_queues_a_bounded_amount(void **state)
{
	struct test *t = *state;
	struct grpc_call_opts opts = { .wait_for_ready = true };
	struct seen z = { .to_send = 1000, .size = 1000 };

	fixture_stop(&t->f, 0);
	fixture_pump(fixture_call(&t->f, &fixture_upload, &opts, &z), &z);
	assert_true((1000 - z.to_send) * 1000 <= HTTP_OUT_HIGH + 2000);
	fixture_start(&t->f);
	fixture_run(&t->f, 10000);
	assert_int_equal(t->f.server.messages, 1000);
	assert_int_equal(z.code, GRPC_OK);
}

static void attempts_back_off_and_success_begins_anew(void **state)
{
	struct test *t = *state;
	int64_t last = sim_elapsed_ms(t->f.sim), gap;
	double wait = 1000;

	fixture_crash(&t->f); /* before the channel has done anything */
	for (unsigned n = 1; n < 15; n++) {
		while (attempts(t) == n)
			fixture_run(&t->f, 1);
		gap = sim_elapsed_ms(t->f.sim) - last;
		last += gap;
		assert_in_range(gap, (uintmax_t)(wait * 0.8) - 1, (uintmax_t)wait + 2);
		wait = MIN(wait * 1.6, 120000);
	}
	fixture_start(&t->f);
	fixture_run(&t->f, 121000);
	assert_int_equal(grpc_channel_state(t->f.channel), GRPC_CHANNEL_READY);
	fixture_run(&t->f, 2000);
	fixture_crash(&t->f);
	assert_int_equal(grpc_channel_state(t->f.channel), GRPC_CHANNEL_TRANSIENT_FAILURE);
	fixture_start(&t->f);
	fixture_run(&t->f, 1001);
	assert_int_equal(grpc_channel_state(t->f.channel), GRPC_CHANNEL_READY);
}

static void hang_up(void *arg, struct conn *c, size_t lane UNUSED)
{
	(*(unsigned *)arg)++;
	conn_free(c);
}

static void a_server_that_hangs_up_at_once_does_not_make_us_spin(void **state)
{
	struct test *t = *state;
	unsigned accepted = 0;
	struct listener_opts opts = { .on_accept = hang_up, .arg = &accepted };
	struct listener *ln;

	fixture_crash(&t->f);
	t->f.server_loop = sim_loop_new(t->f.sim, "server");
	assert_int_equal(listener_open(t->f.server_loop, &t->f.at, &opts, &ln, NULL), 0);
	fixture_run(&t->f, 60000);
	/* 1 + 1.6 + 2.6 + 4.1 + 6.6 + 10.5 + 16.8 s, each up to a fifth shorter. */
	assert_in_range(accepted, 6, 9);
	listener_free(ln);
}

static void a_silent_server_is_given_up_after_twenty_seconds(void **state)
{
	struct test *t = *state;
	struct seen z;

	sim_cut(t->f.sim, "client", "server");
	(void)chat(t, &z);
	fixture_run(&t->f, 19990);
	assert_int_equal(z.ends, 0);
	fixture_run(&t->f, 20);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_UNAVAILABLE);
	assert_non_null(strstr(z.message, "did not answer in time"));
}

static void a_lazy_channel_that_nobody_wants_goes_idle(void **state)
{
	struct test *t = *state;
	struct seen z;

	fixture_stop(&t->f, 0);
	(void)chat(t, &z);
	fixture_run(&t->f, 600000);
	assert_string_equal(t->states, "CONNECTING TRANSIENT_FAILURE IDLE ");
	assert_int_equal(attempts(t), 1);
}

static void connecting_on_demand_cuts_a_back_off_short(void **state)
{
	struct test *t = *state;
	struct seen z;

	fixture_stop(&t->f, 0);
	(void)chat(t, &z);
	fixture_settle(&t->f);
	fixture_start(&t->f);
	grpc_channel_connect(t->f.channel);
	fixture_settle(&t->f);
	assert_int_equal(grpc_channel_state(t->f.channel), GRPC_CHANNEL_READY);
}

/* --- the server goes ----------------------------------------------------------------------- */

static void calls_of_a_dead_connection_are_unavailable(void **state)
{
	struct test *t = *state;
	struct seen z[3];

	for (size_t i = 0; i < ARRAY_SIZE(z); i++)
		(void)chat(t, &z[i]);
	fixture_settle(&t->f);
	fixture_crash(&t->f);
	for (size_t i = 0; i < ARRAY_SIZE(z); i++) {
		assert_int_equal(z[i].ends, 1);
		assert_int_equal(z[i].code, GRPC_UNAVAILABLE);
	}
}

static void after_goaway_running_calls_end_and_new_ones_go_elsewhere(void **state)
{
	struct test *t = *state;
	struct seen old, new;
	struct http_server *first = t->f.http;

	(void)chat(t, &old);
	assert_int_equal(fixture_send_chunk(old.call, 1, 10), 0);
	fixture_settle(&t->f);
	assert_int_equal(old.messages, 1);
	http_server_drain(first, 60000, NULL, NULL);
	fixture_settle(&t->f);
	fixture_start(&t->f);
	assert_int_equal(grpc_channel_state(t->f.channel), GRPC_CHANNEL_IDLE);
	(void)chat(t, &new);
	assert_int_equal(fixture_send_chunk(new.call, 1, 10), 0);
	fixture_settle(&t->f);
	assert_int_equal(attempts(t), 2);
	assert_int_equal(new.messages, 1);
	assert_int_equal(fixture_send_chunk(old.call, 2, 10), 0);
	fixture_settle(&t->f);
	assert_int_equal(old.messages, 2);
	assert_int_equal(grpc_call_half_close(old.call), 0);
	assert_int_equal(grpc_call_half_close(new.call), 0);
	fixture_run(&t->f, 2000);
	assert_int_equal(old.code, GRPC_OK);
	assert_int_equal(new.code, GRPC_OK);
	http_server_free(first);
}

static void a_server_that_shuts_down_makes_calls_unavailable(void **state)
{
	struct test *t = *state;
	struct seen z;

	(void)chat(t, &z);
	fixture_settle(&t->f);
	fixture_stop(&t->f, 100);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_UNAVAILABLE);
	(void)chat(t, &z);
	fixture_settle(&t->f);
	assert_int_equal(z.code, GRPC_UNAVAILABLE);
	fixture_start(&t->f);
}

/* --- being freed --------------------------------------------------------------------------- */

static void freeing_a_channel_cancels_the_calls_that_run(void **state)
{
	struct test *t = *state;
	struct seen z;

	(void)chat(t, &z);
	fixture_settle(&t->f);
	grpc_channel_free(TAKE(t->f.channel));
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_CANCELLED);
	fixture_settle(&t->f);
	assert_int_equal(t->f.server.ends, 1);
}

static void freeing_a_channel_cancels_the_calls_that_wait(void **state)
{
	struct test *t = *state;
	struct seen z;

	sim_cut(t->f.sim, "client", "server");
	(void)chat(t, &z);
	fixture_settle(&t->f);
	assert_int_equal(z.ends, 0);
	grpc_channel_free(TAKE(t->f.channel));
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_CANCELLED);
}

static void free_in_each_state(struct test *t, enum grpc_channel_state at)
{
	struct seen z;

	t->free_at = at;
	(void)chat(t, &z);
	fixture_run(&t->f, 5000);
	assert_null(t->f.channel);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_CANCELLED);
}

static void a_channel_may_be_freed_when_it_connects(void **state)
{
	free_in_each_state(*state, GRPC_CHANNEL_CONNECTING);
}

static void a_channel_may_be_freed_when_it_is_ready(void **state)
{
	free_in_each_state(*state, GRPC_CHANNEL_READY);
}

static void a_channel_may_be_freed_when_it_fails(void **state)
{
	struct test *t = *state;

	fixture_stop(&t->f, 0);
	free_in_each_state(t, GRPC_CHANNEL_TRANSIENT_FAILURE);
}

static void free_channel(struct test *t)
{
	grpc_channel_free(TAKE(t->f.channel));
}

static void message_frees(struct grpc_call *c, const void *message UNUSED)
{
	free_channel(grpc_call_data(c));
}

static void end_frees(struct grpc_call *c, const struct grpc_status *st UNUSED)
{
	free_channel(grpc_call_data(c));
}

static void ask_download(struct grpc_call *c)
{
	Devplane__Probe__V1__DownloadRequest in = DEVPLANE__PROBE__V1__DOWNLOAD_REQUEST__INIT;

	in.count = 100;
	in.size = 100;
	assert_int_equal(grpc_call_send(c, &in.base), 0);
	assert_int_equal(grpc_call_half_close(c), 0);
}

static void a_channel_may_be_freed_by_a_message_with_others_behind_it(void **state)
{
	static const struct grpc_call_ops ops = { .on_message = message_frees };
	struct test *t = *state;
	struct seen z;

	/* Two streams whose frames share the pieces that arrive. */
	ask_download(grpc_channel_call(t->f.channel, &fixture_download, NULL, &ops, t));
	z = (struct seen){ 0 };
	ask_download(fixture_call(&t->f, &fixture_download, NULL, &z));
	fixture_settle(&t->f);
	assert_null(t->f.channel);
	assert_int_equal(z.ends, 1);
}

static void a_channel_may_be_freed_by_the_end_of_a_call(void **state)
{
	static const struct grpc_call_ops ops = { .on_end = end_frees };
	struct test *t = *state;
	struct seen z;

	fixture_stop(&t->f, 0);
	(void)grpc_channel_call(t->f.channel, &fixture_chat, NULL, &ops, t);
	(void)chat(t, &z);
	fixture_settle(&t->f);
	assert_null(t->f.channel);
	assert_int_equal(z.ends, 1);
}

static void a_channel_may_be_freed_by_a_call_that_ended_well(void **state)
{
	static const struct grpc_call_ops ops = { .on_end = end_frees };
	struct test *t = *state;
	struct seen z = { 0 };

	ask_download(grpc_channel_call(t->f.channel, &fixture_download, NULL, &ops, t));
	ask_download(fixture_call(&t->f, &fixture_download, NULL, &z));
	fixture_settle(&t->f);
	assert_null(t->f.channel);
	assert_int_equal(z.ends, 1);
}

/* The answers come in the very millisecond of the pings. */
static void a_channel_whose_pings_are_answered_stays_up(void **state UNUSED)
{
	struct test t = { 0 };
	struct grpc_channel_opts opts = {
		.eager = true, .ping_interval_ms = 5000, .on_state = on_state, .arg = &t
	};
	struct seen z = { 0 };

	fixture_init(&t.f, 42, &opts, NULL);
	(void)fixture_call(&t.f, &fixture_chat, NULL, &z);
	fixture_run(&t.f, 600 * 1000);
	assert_string_equal(t.states, "CONNECTING READY ");
	fixture_release(&t.f);
}

/* grpc-go's servers close connections that ping without a call. */
static void a_channel_without_calls_does_not_ping(void **state UNUSED)
{
	struct test t = { 0 };
	struct grpc_channel_opts opts = {
		.eager = true, .ping_interval_ms = 5000, .on_state = on_state, .arg = &t
	};
	struct seen z = { 0 };

	fixture_init(&t.f, 42, &opts, NULL);
	fixture_settle(&t.f);
	sim_cut(t.f.sim, "client", "server");
	fixture_run(&t.f, 120 * 1000);
	assert_string_equal(t.states, "CONNECTING READY ");
	(void)fixture_call(&t.f, &fixture_chat, NULL, &z);
	fixture_run(&t.f, 60 * 1000);
	assert_int_equal(z.ends, 1);
	sim_heal(t.f.sim, NULL, NULL);
	fixture_release(&t.f);
}

int main(void)
{
#define TEST(name)  cmocka_unit_test_setup_teardown(name, setup, teardown)
#define EAGER(name) cmocka_unit_test_setup_teardown(name, setup_eager, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_lazy_channel_connects_when_a_call_needs_it),
		EAGER(an_eager_channel_connects_at_once_and_again),
		TEST(a_channel_can_be_told_to_connect),
		TEST(the_request_says_who_asks_for_what),
		TEST(a_call_fails_when_the_attempt_it_waits_for_fails),
		TEST(calls_fail_fast_while_backing_off_but_never_before_they_return),
		TEST(a_patient_call_waits_until_the_server_is_there),
		TEST(a_patient_call_has_its_deadline_all_the_same),
		TEST(a_polite_producer_queues_a_bounded_amount),
		EAGER(attempts_back_off_and_success_begins_anew),
		EAGER(a_server_that_hangs_up_at_once_does_not_make_us_spin),
		TEST(a_silent_server_is_given_up_after_twenty_seconds),
		cmocka_unit_test(a_channel_whose_pings_are_answered_stays_up),
		cmocka_unit_test(a_channel_without_calls_does_not_ping),
		TEST(a_lazy_channel_that_nobody_wants_goes_idle),
		TEST(connecting_on_demand_cuts_a_back_off_short),
		TEST(calls_of_a_dead_connection_are_unavailable),
		TEST(after_goaway_running_calls_end_and_new_ones_go_elsewhere),
		TEST(a_server_that_shuts_down_makes_calls_unavailable),
		TEST(freeing_a_channel_cancels_the_calls_that_run),
		TEST(freeing_a_channel_cancels_the_calls_that_wait),
		TEST(a_channel_may_be_freed_when_it_connects),
		TEST(a_channel_may_be_freed_when_it_is_ready),
		TEST(a_channel_may_be_freed_when_it_fails),
		TEST(a_channel_may_be_freed_by_a_message_with_others_behind_it),
		TEST(a_channel_may_be_freed_by_the_end_of_a_call),
		TEST(a_channel_may_be_freed_by_a_call_that_ended_well),
	};

	return cmocka_run_group_tests_name("grpc/channel", tests, NULL, NULL);
}
