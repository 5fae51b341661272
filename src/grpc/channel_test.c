/*
 * Channels: states, back-off, waiting, GOAWAY, death, and being freed at bad
 * moments. Time and network are simulated.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "base/mem.h"
#include "grpc/fixture.h"

struct test {
	struct fixture f;
	char states[512]; /* every state, a space behind each */
	struct error why; /* of the last TRANSIENT_FAILURE */
	enum grpc_channel_state free_at; /* frees the channel in this state; IDLE: never */
};

static void on_state(void *arg, enum grpc_channel_state state, const struct error *err)
{
	struct test *t = arg;
	size_t n = strlen(t->states);

	(void)snprintf(t->states + n, sizeof(t->states) - n, "%s ", grpc_channel_state_name(state));
	if (err)
		t->why = *err;
	if (t->free_at != GRPC_CHANNEL_IDLE && state == t->free_at)
		grpc_channel_free(TAKE(t->f.channel));
}

static int setup_with(void **state, bool eager)
{
	struct test *t = XNEW(struct test);
	struct grpc_channel_opts opts = { .eager = eager, .on_state = on_state, .arg = t };

	fixture_init(&t->f, &opts, NULL);
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

	world_advance(&t->f.world, 10000);
	assert_int_equal(t->f.world.connects, 0);
	assert_int_equal(grpc_channel_state(t->f.channel), GRPC_CHANNEL_IDLE);
	(void)chat(t, &z);
	assert_int_equal(fixture_send_chunk(z.call, 1, 10), 0);
	assert_string_equal(t->states, "");
	world_run(&t->f.world);
	assert_string_equal(t->states, "CONNECTING READY ");
	assert_int_equal(z.messages, 1);
	grpc_call_cancel(z.call);
}

static void an_eager_channel_connects_at_once_and_again(void **state)
{
	struct test *t = *state;

	world_run(&t->f.world);
	assert_string_equal(t->states, "CONNECTING READY ");
	world_advance(&t->f.world, 5000);
	world_cut(&t->f.world);
	assert_string_equal(t->states, "CONNECTING READY IDLE CONNECTING READY ");
}

static void a_channel_can_be_told_to_connect(void **state)
{
	struct test *t = *state;

	grpc_channel_connect(t->f.channel);
	world_run(&t->f.world);
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
	world_run(&t->f.world);
	assert_string_equal(asked, "POST http://localhost/devplane.probe.v1.Probe/Chat [trailers] "
				   "[application/grpc] [devplane/0.1.0] [1500m] [identity,gzip]");
	grpc_call_cancel(z.call);
}

/* --- failing and waiting ------------------------------------------------------------------- */

static void a_call_fails_when_the_attempt_it_waits_for_fails(void **state)
{
	struct test *t = *state;
	struct seen z;

	t->f.world.refuse = true;
	(void)chat(t, &z);
	world_run(&t->f.world);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_UNAVAILABLE);
	assert_string_equal(z.message, "connection error: connection refused");
	assert_string_equal(t->states, "CONNECTING TRANSIENT_FAILURE ");
	assert_string_equal(t->why.msg, z.message);
}

static void calls_fail_fast_while_backing_off_but_never_before_they_return(void **state)
{
	struct test *t = *state;
	struct seen z;

	t->f.world.refuse = true;
	(void)chat(t, &z);
	world_run(&t->f.world);
	(void)chat(t, &z);
	assert_int_equal(z.ends, 0);
	world_run(&t->f.world);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_UNAVAILABLE);
	assert_int_equal(t->f.world.connects, 1);
}

static void a_patient_call_waits_until_the_server_is_there(void **state)
{
	struct test *t = *state;
	struct grpc_call_opts opts = { .wait_for_ready = true };
	struct seen z = { 0 };

	t->f.world.refuse = true;
	(void)fixture_call(&t->f, &fixture_chat, &opts, &z);
	assert_int_equal(fixture_send_chunk(z.call, 1, 10), 0);
	assert_int_equal(grpc_call_half_close(z.call), 0);
	world_advance(&t->f.world, 60000);
	assert_int_equal(z.ends, 0);
	assert_true(t->f.world.connects > 3);
	t->f.world.refuse = false;
	world_advance(&t->f.world, 120000);
	assert_int_equal(z.messages, 1);
	assert_int_equal(z.code, GRPC_OK);
	assert_int_equal(grpc_channel_state(t->f.channel), GRPC_CHANNEL_READY);
}

static void a_patient_call_has_its_deadline_all_the_same(void **state)
{
	struct test *t = *state;
	struct grpc_call_opts opts = { .wait_for_ready = true, .deadline_ms = 5000 };
	struct seen z = { 0 };

	t->f.world.refuse = true;
	(void)fixture_call(&t->f, &fixture_chat, &opts, &z);
	world_advance(&t->f.world, 4999);
	assert_int_equal(z.ends, 0);
	world_advance(&t->f.world, 1);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_DEADLINE_EXCEEDED);
	assert_string_equal(z.message, "context deadline exceeded while waiting for a connection");
}

static void what_waits_is_bounded_for_a_polite_producer(void **state)
{
	struct test *t = *state;
	struct grpc_call_opts opts = { .wait_for_ready = true };
	struct seen z = { .to_send = 1000, .size = 1000 };

	t->f.world.refuse = true;
	fixture_pump(fixture_call(&t->f, &fixture_upload, &opts, &z), &z);
	assert_true((1000 - z.to_send) * 1000 <= HTTP_OUT_HIGH + 2000);
	t->f.world.refuse = false;
	world_advance(&t->f.world, 10000);
	assert_int_equal(t->f.server.messages, 1000);
	assert_int_equal(z.code, GRPC_OK);
}

static void attempts_back_off_and_success_begins_anew(void **state)
{
	struct test *t = *state;
	int64_t last = t->f.world.loop.now, gap;
	double wait = 1000;

	t->f.world.refuse = true;
	world_run(&t->f.world);
	for (unsigned n = 1; n < 15; n++) {
		while (t->f.world.connects == n)
			world_advance(&t->f.world, 1);
		gap = t->f.world.loop.now - last;
		last = t->f.world.loop.now;
		assert_in_range(gap, (uintmax_t)(wait * 0.8) - 1, (uintmax_t)wait + 1);
		wait = MIN(wait * 1.6, 120000);
	}
	t->f.world.refuse = false;
	world_advance(&t->f.world, 121000);
	assert_int_equal(grpc_channel_state(t->f.channel), GRPC_CHANNEL_READY);
	world_advance(&t->f.world, 2000);
	t->f.world.refuse = true;
	world_cut(&t->f.world);
	assert_int_equal(grpc_channel_state(t->f.channel), GRPC_CHANNEL_TRANSIENT_FAILURE);
	t->f.world.refuse = false;
	world_advance(&t->f.world, 1001);
	assert_int_equal(grpc_channel_state(t->f.channel), GRPC_CHANNEL_READY);
}

static void a_server_that_hangs_up_at_once_does_not_make_us_spin(void **state)
{
	struct test *t = *state;

	for (int i = 0; i < 5; i++) {
		while (grpc_channel_state(t->f.channel) != GRPC_CHANNEL_READY)
			world_advance(&t->f.world, 100);
		world_cut(&t->f.world);
		assert_int_equal(grpc_channel_state(t->f.channel), GRPC_CHANNEL_TRANSIENT_FAILURE);
	}
	assert_int_equal(t->f.world.connects, 5);
	assert_true(t->f.world.loop.now > 1000 + 800 + 1280 + 2048 + 3276);
}

static void a_silent_server_is_given_up_after_twenty_seconds(void **state)
{
	struct test *t = *state;
	struct seen z;

	t->f.world.silent = true;
	(void)chat(t, &z);
	world_advance(&t->f.world, 19999);
	assert_int_equal(z.ends, 0);
	world_advance(&t->f.world, 1);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_UNAVAILABLE);
	assert_non_null(strstr(z.message, "did not answer in time"));
}

static void a_lazy_channel_that_nobody_wants_goes_idle(void **state)
{
	struct test *t = *state;
	struct seen z;

	t->f.world.refuse = true;
	(void)chat(t, &z);
	world_advance(&t->f.world, 600000);
	assert_string_equal(t->states, "CONNECTING TRANSIENT_FAILURE IDLE ");
	assert_int_equal(t->f.world.connects, 1);
}

static void connecting_on_demand_cuts_a_back_off_short(void **state)
{
	struct test *t = *state;
	struct seen z;

	t->f.world.refuse = true;
	(void)chat(t, &z);
	world_run(&t->f.world);
	t->f.world.refuse = false;
	grpc_channel_connect(t->f.channel);
	world_run(&t->f.world);
	assert_int_equal(grpc_channel_state(t->f.channel), GRPC_CHANNEL_READY);
}

/* --- the server goes ----------------------------------------------------------------------- */

static void calls_of_a_dead_connection_are_unavailable(void **state)
{
	struct test *t = *state;
	struct seen z[3];

	for (size_t i = 0; i < ARRAY_SIZE(z); i++)
		(void)chat(t, &z[i]);
	world_run(&t->f.world);
	world_cut(&t->f.world);
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
	world_run(&t->f.world);
	assert_int_equal(old.messages, 1);
	http_server_drain(first, 60000, NULL, NULL);
	world_run(&t->f.world);
	fixture_start(&t->f);
	assert_int_equal(grpc_channel_state(t->f.channel), GRPC_CHANNEL_IDLE);
	(void)chat(t, &new);
	assert_int_equal(fixture_send_chunk(new.call, 1, 10), 0);
	world_run(&t->f.world);
	assert_int_equal(t->f.world.connects, 2);
	assert_int_equal(new.messages, 1);
	assert_int_equal(fixture_send_chunk(old.call, 2, 10), 0);
	world_run(&t->f.world);
	assert_int_equal(old.messages, 2);
	assert_int_equal(grpc_call_half_close(old.call), 0);
	assert_int_equal(grpc_call_half_close(new.call), 0);
	world_advance(&t->f.world, 2000);
	assert_int_equal(old.code, GRPC_OK);
	assert_int_equal(new.code, GRPC_OK);
	http_server_free(first);
}

static void a_server_that_shuts_down_makes_calls_unavailable(void **state)
{
	struct test *t = *state;
	struct seen z;

	(void)chat(t, &z);
	world_run(&t->f.world);
	fixture_stop(&t->f, 100);
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_UNAVAILABLE);
	(void)chat(t, &z);
	world_run(&t->f.world);
	assert_int_equal(z.code, GRPC_UNAVAILABLE);
	fixture_start(&t->f);
}

/* --- being freed --------------------------------------------------------------------------- */

static void freeing_a_channel_cancels_the_calls_that_run(void **state)
{
	struct test *t = *state;
	struct seen z;

	(void)chat(t, &z);
	world_run(&t->f.world);
	grpc_channel_free(TAKE(t->f.channel));
	assert_int_equal(z.ends, 1);
	assert_int_equal(z.code, GRPC_CANCELLED);
	world_run(&t->f.world);
	assert_int_equal(t->f.server.ends, 1);
}

static void freeing_a_channel_cancels_the_calls_that_wait(void **state)
{
	struct test *t = *state;
	struct seen z;

	t->f.world.silent = true;
	(void)chat(t, &z);
	world_run(&t->f.world);
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
	world_advance(&t->f.world, 5000);
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

	t->f.world.refuse = true;
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
	world_run(&t->f.world);
	assert_null(t->f.channel);
	assert_int_equal(z.ends, 1);
}

static void a_channel_may_be_freed_by_the_end_of_a_call(void **state)
{
	static const struct grpc_call_ops ops = { .on_end = end_frees };
	struct test *t = *state;
	struct seen z;

	t->f.world.refuse = true;
	(void)grpc_channel_call(t->f.channel, &fixture_chat, NULL, &ops, t);
	(void)chat(t, &z);
	world_run(&t->f.world);
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
	world_run(&t->f.world);
	assert_null(t->f.channel);
	assert_int_equal(z.ends, 1);
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
		TEST(what_waits_is_bounded_for_a_polite_producer),
		EAGER(attempts_back_off_and_success_begins_anew),
		EAGER(a_server_that_hangs_up_at_once_does_not_make_us_spin),
		TEST(a_silent_server_is_given_up_after_twenty_seconds),
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
