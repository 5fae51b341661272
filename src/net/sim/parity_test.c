/*
 * One list of scenarios, run on the real loop over TCP and over a unix socket,
 * and in the simulated world with many seeds: what code may rely on in one, it
 * may rely on in the other.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "net/loop/addr.h"
#include "net/loop/conn.h"
#include "net/loop/listener.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"

enum { SEEDS = 60, GUARD_MS = 5 * 1000, BULK = 300 * 1000 };

struct world {
	struct loop *loop;
	struct sim *sim; /* NULL: the real one */
	struct listener *listener;
	struct addr at;
	struct loop_timer guard;
	bool expected; /* loop_stop was ours */
};

/* One end: its events, and how it reacts. */
struct side {
	struct world *world;
	struct conn *conn;
	struct buf got;
	struct str send; /* what is left to write, borrowed */
	bool shut_when_sent;
	bool opened, eof, returned;
	int writables, errors;
	struct error err;
	void (*react)(struct side *s); /* after each event */
};

static void stop(struct world *w)
{
	w->expected = true;
	loop_stop(w->loop);
}

static void on_guard(struct loop_timer *t)
{
	loop_stop(t->loop);
}

/* Until stop(). */
static void run(struct world *w)
{
	w->expected = false;
	loop_timer_start(&w->guard, GUARD_MS);
	loop_run(w->loop);
	loop_timer_stop(&w->guard);
	if (!w->expected)
		fail_msg("the scenario hangs");
}

/* --- ends ------------------------------------------------------------------------------ */

static void react(struct side *s)
{
	if (s->react)
		s->react(s);
}

static void side_write(struct side *s)
{
	struct iovec iov = { (void *)(uintptr_t)s->send.p, s->send.n };
	ssize_t n = s->send.n ? conn_writev(s->conn, &iov, 1, &s->err) : 0;

	if (n < 0) {
		s->errors++;
		return;
	}
	s->send = str_skip(s->send, (size_t)n);
	if (s->send.n == 0 && s->shut_when_sent)
		conn_shutdown(s->conn);
}

static void side_open(void *arg)
{
	struct side *s = arg;

	assert_true(s->returned); /* never before conn_connect() has returned */
	assert_false(s->opened);
	s->opened = true;
	side_write(s);
	react(s);
}

static void side_data(void *arg, char *data, size_t n)
{
	struct side *s = arg;

	assert_true(s->opened && !s->eof && !s->errors && n > 0);
	assert_int_equal(buf_add(&s->got, data, n), 0);
	memset(data, 'x', n); /* allowed */
	react(s);
}

static void side_eof(void *arg)
{
	struct side *s = arg;

	assert_true(s->opened && !s->eof && !s->errors);
	s->eof = true;
	react(s);
}

static void side_writable(void *arg)
{
	struct side *s = arg;

	assert_true(s->opened && !s->errors);
	s->writables++;
	side_write(s);
	react(s);
}

static void side_error(void *arg, const struct error *err)
{
	struct side *s = arg;

	assert_true(s->returned);
	assert_int_equal(s->errors, 0);
	s->errors++;
	s->err = *err;
	react(s);
}

static const struct conn_events side_events = {
	.on_open = side_open,
	.on_data = side_data,
	.on_eof = side_eof,
	.on_writable = side_writable,
	.on_error = side_error,
};

static void side_init(struct side *s, struct world *w, void (*react_fn)(struct side *s))
{
	*s = (struct side){ .world = w, .react = react_fn };
	buf_init(&s->got, 16 * MIB);
}

static void side_release(struct side *s)
{
	conn_free(s->conn);
	s->conn = NULL;
	buf_release(&s->got);
}

static void side_accept(void *arg, struct conn *c, size_t lane)
{
	struct side *s = arg;

	assert_int_equal(lane, 0);
	assert_null(s->conn);
	s->conn = c;
	s->opened = s->returned = true;
	conn_set_events(c, &side_events, s);
	side_write(s);
	react(s);
}

static void start(struct world *w, struct side *client, struct side *server)
{
	struct listener_opts opts = { .on_accept = side_accept, .arg = server };

	assert_int_equal(listener_open(w->loop, &w->at, &opts, &w->listener, NULL), 0);
	assert_int_equal(conn_connect(w->loop, listener_addr(w->listener), &side_events, client,
				      &client->conn, NULL),
			 0);
	client->returned = true;
}

static void finish(struct world *w, struct side *client, struct side *server)
{
	side_release(client);
	side_release(server);
	listener_free(w->listener);
	w->listener = NULL;
}

/* Some turns pass, whoever has something to do. */
struct pause_timer {
	struct loop_timer timer;
	struct world *world;
};

static void on_pause_over(struct loop_timer *t)
{
	stop(CONTAINER_OF(t, struct pause_timer, timer)->world);
}

static void run_a_while(struct world *w)
{
	struct pause_timer p = { .world = w };

	loop_timer_init(&p.timer, w->loop, on_pause_over);
	loop_timer_start(&p.timer, 30);
	run(w);
}

static char *bulk(size_t n)
{
	char *p = xmalloc(n);

	for (size_t i = 0; i < n; i++)
		p[i] = (char)(i * 31 + i / 251);
	return p;
}

static void assert_got(const struct side *s, struct str want)
{
	assert_int_equal(s->got.n, want.n);
	assert_memory_equal(s->got.p, want.p, want.n);
}

/* --- scenarios ------------------------------------------------------------------------- */

static void stop_when_answered(struct side *s)
{
	assert_int_equal(s->errors, 0);
	if (s->eof)
		stop(s->world);
}

static void answer_at_eof(struct side *s)
{
	assert_int_equal(s->errors, 0);
	if (s->eof && !s->shut_when_sent) {
		s->send = buf_str(&s->got);
		s->shut_when_sent = true;
		side_write(s);
	}
}

static void a_half_closed_connection_still_answers(struct world *w)
{
	char *data = bulk(BULK);
	struct side client, server;

	side_init(&client, w, stop_when_answered);
	side_init(&server, w, answer_at_eof);
	client.send = str_of(data, BULK);
	client.shut_when_sent = true;
	start(w, &client, &server);
	run(w);
	assert_got(&server, str_of(data, BULK));
	assert_got(&client, str_of(data, BULK));
	assert_true(client.eof && server.eof);
	finish(w, &client, &server);
	free(data);
}

/* Reads only what was sent, a bounded piece per turn, both ways at once. */
static void stop_when_bulk_is_here(struct side *s)
{
	assert_true(!s->errors && !s->eof);
	if (s->got.n == BULK && s->send.n == 0) {
		s->react = NULL;
		if (s->world->expected)
			stop(s->world);
		s->world->expected = true;
	}
}

static void both_may_write_at_once(struct world *w)
{
	char *data = bulk(BULK);
	struct side client, server;

	side_init(&client, w, stop_when_bulk_is_here);
	side_init(&server, w, stop_when_bulk_is_here);
	client.send = server.send = str_of(data, BULK);
	start(w, &client, &server);
	run(w);
	assert_got(&client, str_of(data, BULK));
	assert_got(&server, str_of(data, BULK));
	finish(w, &client, &server);
	free(data);
}

static void stop_at_error(struct side *s)
{
	if (s->errors)
		stop(s->world);
}

static void connecting_to_nobody_is_an_error(struct world *w)
{
	struct side client, server;

	side_init(&client, w, stop_at_error);
	side_init(&server, w, NULL);
	start(w, &client, &server);
	side_release(&client);
	run_a_while(w);
	side_release(&server);
	w->at = *listener_addr(w->listener);
	listener_free(w->listener);
	run_a_while(w);
	/* Nobody is there any more. */
	side_init(&client, w, stop_at_error);
	assert_int_equal(conn_connect(w->loop, &w->at, &side_events, &client, &client.conn, NULL),
			 0);
	client.returned = true;
	run(w);
	assert_int_equal(client.errors, 1);
	assert_int_equal(client.err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(client.err.msg, w->at.text));
	assert_false(client.opened);
	side_release(&client);
}

static void pause_first(struct side *s)
{
	if (s->got.n == 0 && !s->eof)
		conn_pause(s->conn);
}

static void a_paused_conn_hears_nothing_and_then_everything(struct world *w)
{
	struct side client, server;

	side_init(&client, w, NULL);
	side_init(&server, w, pause_first);
	client.send = STR("held back");
	client.shut_when_sent = true;
	start(w, &client, &server);
	run_a_while(w);
	assert_non_null(server.conn);
	assert_int_equal(server.got.n, 0);
	server.react = stop_when_answered;
	conn_resume(server.conn);
	run(w);
	assert_got(&server, STR("held back"));
	finish(w, &client, &server);
}

static void a_paused_conn_can_ask_whether_its_peer_has_left(struct world *w)
{
	struct side client, server;

	for (int abruptly = 0; abruptly < 2; abruptly++) {
		side_init(&client, w, NULL);
		side_init(&server, w, pause_first);
		client.send = STR("held back");
		start(w, &client, &server);
		while (!server.conn || client.send.n)
			run_a_while(w);
		run_a_while(w);
		assert_false(conn_hung_up(server.conn));
		assert_false(conn_hung_up(client.conn));
		if (abruptly)
			conn_free(TAKE(client.conn));
		else
			conn_shutdown(client.conn);
		while (!conn_hung_up(server.conn))
			run_a_while(w);
		server.react = stop_when_answered;
		conn_resume(server.conn);
		assert_false(conn_hung_up(server.conn));
		run(w);
		assert_got(&server, STR("held back"));
		finish(w, &client, &server);
	}
}

/* Frees itself at the first event of the kind that was asked for. */
static void free_now(struct side *s)
{
	conn_free(s->conn);
	s->conn = NULL;
	s->react = NULL;
}

static void free_at_data(struct side *s)
{
	if (s->got.n)
		free_now(s);
}

static void free_at_eof(struct side *s)
{
	if (s->eof)
		free_now(s);
}

static void free_at_writable(struct side *s)
{
	if (s->writables)
		free_now(s);
}

static void free_at_error(struct side *s)
{
	if (s->errors)
		free_now(s);
}

static void stop_at_end(struct side *s)
{
	if (s->eof || s->errors)
		stop(s->world);
}

static void a_conn_may_be_freed_in_any_callback(struct world *w)
{
	static void (*const when[])(struct side *) = { free_now, free_at_data, free_at_eof };
	struct side client, server;

	for (size_t i = 0; i < ARRAY_SIZE(when); i++) {
		side_init(&client, w, stop_at_end);
		side_init(&server, w, when[i]);
		client.send = STR("hello");
		client.shut_when_sent = true;
		start(w, &client, &server);
		run(w);
		assert_null(server.conn);
		finish(w, &client, &server);
	}
	for (size_t i = 0; i < 2; i++) {
		side_init(&client, w, i ? free_at_data : free_now);
		side_init(&server, w, stop_at_end);
		server.send = STR("hello");
		start(w, &client, &server);
		run(w);
		assert_null(client.conn);
		finish(w, &client, &server);
	}
}

static void a_conn_may_be_freed_when_writable_or_failed(struct world *w)
{
	/* More than the kernel buffers; the simulated one buffers less. */
	size_t n = w->sim ? 256 * KIB : 16 * MIB;
	char *data = bulk(n);
	struct side client, server;

	/* Nobody reads for a while, so the writer has to wait; then it frees its end. */
	side_init(&client, w, free_at_writable);
	side_init(&server, w, pause_first);
	client.send = str_of(data, n);
	start(w, &client, &server);
	run_a_while(w);
	server.react = stop_at_end;
	conn_resume(server.conn);
	run(w);
	assert_null(client.conn);
	assert_true(server.eof || server.errors);
	finish(w, &client, &server);

	/* The writer gets an error when the other end is gone. */
	side_init(&client, w, free_at_error);
	side_init(&server, w, pause_first);
	client.send = str_of(data, n);
	start(w, &client, &server);
	run_a_while(w);
	conn_free(server.conn);
	server.conn = NULL;
	run_a_while(w);
	assert_null(client.conn);
	assert_int_equal(client.errors, 1);
	finish(w, &client, &server);
	free(data);
}

static void a_shutdown_before_it_is_open_is_not_lost(struct world *w)
{
	struct side client, server;

	side_init(&client, w, NULL);
	side_init(&server, w, stop_when_answered);
	start(w, &client, &server);
	conn_shutdown(client.conn);
	run(w);
	assert_int_equal(server.got.n, 0);
	assert_true(server.eof);
	finish(w, &client, &server);
}

static void a_write_before_it_is_open_waits(struct world *w)
{
	struct side client, server;

	side_init(&client, w, NULL);
	side_init(&server, w, stop_at_end);
	start(w, &client, &server);
	client.send = STR("early");
	side_write(&client);
	assert_int_equal(client.send.n, 5); /* nothing was taken, nothing is queued */
	client.shut_when_sent = true;
	run(w);
	assert_got(&server, STR("early"));
	assert_true(server.eof);
	finish(w, &client, &server);
}

static void a_write_that_fails_is_the_last_word(struct world *w)
{
	struct side client, server;

	side_init(&client, w, stop_at_end);
	side_init(&server, w, NULL);
	server.send = STR("nobody reads this");
	start(w, &client, &server);
	while (!client.opened || !server.conn)
		run_a_while(w);
	client.react = NULL;
	conn_shutdown(client.conn);
	client.send = STR("too late");
	side_write(&client);
	assert_int_equal(client.errors, 1);
	assert_int_equal(client.err.code, ERR_UNAVAILABLE);
	conn_free(server.conn);
	server.conn = NULL;
	run_a_while(w); /* neither data, nor an end, nor an error: see side_data() and the others */
	assert_int_equal(client.errors, 1);
	finish(w, &client, &server);
}

static void closing_with_unread_bytes_is_a_reset(struct world *w)
{
	struct side client, server;

	side_init(&client, w, NULL);
	side_init(&server, w, pause_first);
	client.send = STR("unread");
	start(w, &client, &server);
	run_a_while(w);
	server.send = STR("last words");
	side_write(&server);
	assert_int_equal(server.send.n, 0);
	conn_free(server.conn);
	server.conn = NULL;
	client.react = stop_at_error;
	if (!client.errors)
		run(w);
	assert_int_equal(client.errors, 1);
	assert_int_equal(client.err.code, ERR_UNAVAILABLE);
	assert_int_equal(client.err.sys_errno, ECONNRESET);
	assert_false(client.eof);
	/* A reset may overtake bytes; Linux does not let it on one machine. */
	if (!w->sim)
		assert_got(&client, STR("last words"));
	finish(w, &client, &server);
}

static void what_was_written_before_an_orderly_close_arrives(struct world *w)
{
	struct side client, server;

	side_init(&client, w, stop_at_end);
	side_init(&server, w, free_now);
	server.send = STR("all of this");
	start(w, &client, &server);
	run(w);
	assert_false(client.errors);
	assert_true(client.eof);
	assert_got(&client, str_of("all of this", 11 - server.send.n));
	finish(w, &client, &server);
}

static void a_freed_listener_refuses_those_who_wait(struct world *w)
{
	struct side client, server;

	side_init(&client, w, stop_at_end);
	side_init(&server, w, stop_at_end);
	start(w, &client, &server);
	listener_free(w->listener);
	w->listener = NULL;
	run(w);
	assert_null(server.conn);
	assert_int_equal(client.errors, 1);
	finish(w, &client, &server);
}

/* --- the worlds ------------------------------------------------------------------------- */

#define SCENARIOS(X)                                        \
	X(a_half_closed_connection_still_answers)           \
	X(both_may_write_at_once)                           \
	X(connecting_to_nobody_is_an_error)                 \
	X(a_paused_conn_hears_nothing_and_then_everything)  \
	X(a_paused_conn_can_ask_whether_its_peer_has_left)  \
	X(a_conn_may_be_freed_in_any_callback)              \
	X(a_conn_may_be_freed_when_writable_or_failed)      \
	X(a_shutdown_before_it_is_open_is_not_lost)         \
	X(a_write_before_it_is_open_waits)                  \
	X(a_write_that_fails_is_the_last_word)              \
	X(closing_with_unread_bytes_is_a_reset)             \
	X(what_was_written_before_an_orderly_close_arrives) \
	X(a_freed_listener_refuses_those_who_wait)

struct scenario {
	void (*play)(struct world *w);
};

#define SCENARIO_ROW(fn) static struct scenario fn##_row = { fn };
SCENARIOS(SCENARIO_ROW)
#undef SCENARIO_ROW

static void play(struct world *w, const char *where, void **state)
{
	const struct scenario *scenario = *state;

	assert_int_equal(addr_parse(&w->at, str_from(where), 0, NULL), 0);
	loop_timer_init(&w->guard, w->loop, on_guard);
	scenario->play(w);
	loop_free(w->loop);
}

static void over_tcp(void **state)
{
	struct world w = { 0 };

	assert_int_equal(loop_new(&w.loop, NULL), 0);
	play(&w, "127.0.0.1:0", state);
}

static void over_unix(void **state)
{
	char path[] = "/tmp/devplane-sim-XXXXXX", where[64];
	struct world w = { 0 };

	assert_int_equal(loop_new(&w.loop, NULL), 0);
	assert_non_null(mkdtemp(path));
	(void)snprintf(where, sizeof(where), "unix:%s/s", path);
	play(&w, where, state);
	assert_int_equal(rmdir(path), 0);
}

static void simulated(void **state)
{
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct sim_opts opts = { .seed = seed, .stall = 0.01, .stall_max_ms = 5 };
		struct world w = { .sim = sim_new(&opts) };

		w.loop = sim_loop_new(w.sim, "host");
		play(&w, seed % 2 ? "127.0.0.1:0" : "unix:/sim", state);
		assert_int_equal(sim_conns(w.sim), 0);
		sim_free(w.sim);
	}
}

int main(void)
{
#define SCENARIO_TESTS(fn)                                                                        \
	{ .name = #fn "_over_tcp", .test_func = over_tcp, .initial_state = &fn##_row },           \
		{ .name = #fn "_over_unix", .test_func = over_unix, .initial_state = &fn##_row }, \
		{ .name = #fn "_simulated", .test_func = simulated, .initial_state = &fn##_row },
	const struct CMUnitTest tests[] = { SCENARIOS(SCENARIO_TESTS) };
#undef SCENARIO_TESTS

	return cmocka_run_group_tests_name("net/sim_parity", tests, NULL, NULL);
}
