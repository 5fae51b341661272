/*
 * The simulated world itself: that it repeats, that its time is its own, that
 * its network keeps what a network keeps and breaks what it may break, and that
 * the dead stay dead.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "base/buf.h"
#include "base/limits.h"
#include "base/mem.h"
#include "net/addr.h"
#include "net/conn.h"
#include "net/listener.h"
#include "net/loop.h"
#include "net/sim.h"

static bool is_true(void *arg)
{
	return *(bool *)arg;
}

/* --- time and order ---------------------------------------------------------------------- */

struct ticker {
	struct loop_timer timer;
	struct buf *log;
	char letter;
	int64_t period_ms; /* 0: once */
	int fired;
};

static void on_tick(struct loop_timer *t)
{
	struct ticker *k = CONTAINER_OF(t, struct ticker, timer);

	k->fired++;
	if (k->log)
		(void)buf_addc(k->log, k->letter);
	if (k->period_ms)
		loop_timer_start(t, k->period_ms);
}

static void ticker_start(struct ticker *k, struct loop *l, int64_t delay_ms)
{
	loop_timer_init(&k->timer, l, on_tick);
	loop_timer_start(&k->timer, delay_ms);
}

static void timers_fire_in_order_and_no_real_time_passes(void **state UNUSED)
{
	struct sim *s = sim_new(NULL);
	struct loop *l = sim_loop_new(s, "host");
	struct buf log = BUF_INIT(KIB);
	struct ticker a = { .log = &log, .letter = 'a' }, b = { .log = &log, .letter = 'b' };
	struct ticker c = { .log = &log, .letter = 'c' }, d = { .log = &log, .letter = 'd' };
	int64_t before = loop_now(l);

	ticker_start(&c, l, 86400 * 1000LL); /* a day */
	ticker_start(&a, l, 5);
	ticker_start(&b, l, 70);
	ticker_start(&d, l, 50);
	loop_timer_stop(&d.timer);
	while (sim_step(s))
		;
	assert_true(str_eqz(buf_str(&log), "abc"));
	assert_in_range(loop_now(l) - before, 86400 * 1000LL, 86400 * 1000LL + 1);
	assert_int_equal(sim_elapsed_ms(s), loop_now(l) - before);
	assert_false(sim_step(s)); /* nothing can ever happen again */
	buf_release(&log);
	loop_free(l);
	sim_free(s);
}

static void time_passes_when_nothing_happens(void **state UNUSED)
{
	struct sim *s = sim_new(NULL);
	struct loop *a = sim_loop_new(s, "a"), *b = sim_loop_new(s, "b");
	int64_t mono = clock_monotonic(loop_clock(a)), wall = clock_wall(loop_clock(a));
	struct ticker t = { 0 };
	bool never = false;

	assert_int_equal(wall, clock_wall(loop_clock(b)));
	assert_int_equal(wall / CLOCK_SEC, 1704067200);
	sim_skew(b, -3 * CLOCK_SEC);
	sim_run_for(s, 1500);
	assert_int_equal(clock_monotonic(loop_clock(a)) - mono, 1500 * CLOCK_MS);
	assert_int_equal(clock_wall(loop_clock(a)) - wall, 1500 * CLOCK_MS);
	assert_int_equal(clock_wall(loop_clock(b)) - wall, (1500 - 3000) * CLOCK_MS);
	/* What the test starts between turns begins at the present time. */
	ticker_start(&t, a, 100);
	sim_run_for(s, 99);
	assert_int_equal(t.fired, 0);
	sim_run_for(s, 1);
	assert_int_equal(t.fired, 1);
	assert_false(sim_run_until(s, is_true, &never, 250));
	assert_int_equal(sim_elapsed_ms(s), 1850);
	loop_free(a);
	loop_free(b);
	sim_free(s);
}

static void a_stopped_loop_gets_no_turns(void **state UNUSED)
{
	struct sim *s = sim_new(NULL);
	struct loop *a = sim_loop_new(s, "a"), *b = sim_loop_new(s, "b");
	struct ticker ta = { .period_ms = 10 }, tb = { .period_ms = 10 };

	ticker_start(&ta, a, 10);
	ticker_start(&tb, b, 10);
	loop_stop(a);
	sim_run_for(s, 1000);
	assert_int_equal(ta.fired, 0);
	assert_true(tb.fired > 90);
	loop_run(a); /* the stop was for this run */
	assert_int_equal(ta.fired, 0);
	sim_run_for(s, 100);
	assert_true(ta.fired > 0);
	loop_timer_stop(&ta.timer);
	loop_timer_stop(&tb.timer);
	loop_free(a);
	loop_free(b);
	sim_free(s);
}

struct spinner {
	struct loop_task task;
	struct loop *loop;
	bool stop;
};

static void on_spin(struct loop_task *t)
{
	struct spinner *z = CONTAINER_OF(t, struct spinner, task);

	if (!z->stop)
		loop_defer(z->loop, t);
}

static void a_loop_that_never_rests_does_not_stop_time(void **state UNUSED)
{
	struct sim *s = sim_new(NULL);
	struct spinner z = { .loop = sim_loop_new(s, "busy") };
	struct loop *l = sim_loop_new(s, "other");
	struct ticker t = { 0 };

	loop_task_init(&z.task, on_spin);
	loop_defer(z.loop, &z.task);
	ticker_start(&t, l, 200);
	sim_run_for(s, 201);
	assert_int_equal(t.fired, 1);
	z.stop = true;
	loop_free(z.loop);
	loop_free(l);
	sim_free(s);
}

/* --- messages ---------------------------------------------------------------------------- */

enum { SENDERS = 3, LETTERS = 40 };

struct letter {
	struct loop_msg msg;
	struct buf *log;
	int sender, number;
	int *next;
};

/* Posts one letter per turn, so that the senders get in each other's way. */
struct sender {
	struct loop_task task;
	struct loop *self, *to;
	struct letter letters[LETTERS];
	int sent;
};

static void on_letter(struct loop_msg *m)
{
	struct letter *z = CONTAINER_OF(m, struct letter, msg);

	assert_int_equal(z->number, z->next[z->sender]++);
	(void)buf_addc(z->log, (char)('a' + z->sender));
}

static void on_send(struct loop_task *t)
{
	struct sender *z = CONTAINER_OF(t, struct sender, task);

	loop_post(z->to, &z->letters[z->sent++].msg);
	if (z->sent < LETTERS)
		loop_defer(z->self, t);
}

/* The order in which the letters arrived. */
static char *post_with_seed(uint64_t seed)
{
	struct sim_opts opts = { .seed = seed, .stall = 0.05 };
	struct sim *s = sim_new(&opts);
	struct loop *to = sim_loop_new(s, "to");
	struct sender *senders = xcalloc(SENDERS, sizeof(*senders));
	struct buf log = BUF_INIT(KIB);
	int next[SENDERS] = { 0 };

	for (int i = 0; i < SENDERS; i++) {
		struct sender *z = &senders[i];

		z->self = sim_loop_new(s, "from");
		z->to = to;
		for (int k = 0; k < LETTERS; k++)
			z->letters[k] = (struct letter){ { .fn = on_letter }, &log, i, k, next };
		loop_task_init(&z->task, on_send);
		loop_defer(z->self, &z->task);
	}
	while (sim_step(s))
		;
	for (int i = 0; i < SENDERS; i++) {
		assert_int_equal(next[i], LETTERS);
		loop_free(senders[i].self);
	}
	loop_free(to);
	sim_free(s);
	free(senders);
	return buf_take(&log);
}

static void posts_of_one_sender_keep_their_order_and_no_more(void **state UNUSED)
{
	char *first = post_with_seed(0), *other;
	int different = 0;

	for (uint64_t seed = 0; seed < 20; seed++) {
		other = post_with_seed(seed);
		different += strcmp(first, other) != 0;
		free(other);
	}
	free(first);
	assert_int_equal(different, 19);
}

/* --- connections ------------------------------------------------------------------------- */

/* Bytes of a pattern go from a client to a server, which answers each with another. */
struct traffic {
	struct sim *sim;
	struct loop *client_loop, *server_loop;
	struct listener *listener;
	struct conn *client, *server;
	size_t total, sent, received, echoed, back;
	int short_writes;
	bool client_over, server_over; /* eof or error */
	int client_errno, server_errno;
	bool done; /* all is back */
};

static char pattern(size_t i)
{
	return (char)(i * 31 + i / 251);
}

/* Writes the pattern from *at to `end`; false when the conn failed. */
static bool write_pattern(struct traffic *t, struct conn *c, size_t *at, size_t end)
{
	char block[8000];
	struct iovec iov[2];
	ssize_t n;

	while (*at < end) {
		size_t want = MIN(sizeof(block), end - *at);

		for (size_t i = 0; i < want; i++)
			block[i] = pattern(*at + i);
		iov[0] = (struct iovec){ block, want / 3 };
		iov[1] = (struct iovec){ block + want / 3, want - want / 3 };
		n = conn_writev(c, iov, 2, NULL);
		if (n < 0)
			return false;
		*at += (size_t)n;
		if ((size_t)n < want) {
			t->short_writes++;
			break;
		}
	}
	return true;
}

static void check_pattern(const char *data, size_t n, size_t at)
{
	for (size_t i = 0; i < n; i++)
		if (data[i] != pattern(at + i))
			fail_msg("byte %zu differs", at + i);
}

static void end_client(struct traffic *t, int code)
{
	t->client_over = true;
	t->client_errno = code;
	conn_free(t->client);
	t->client = NULL;
}

static void end_server(struct traffic *t, int code)
{
	t->server_over = true;
	t->server_errno = code;
	conn_free(t->server);
	t->server = NULL;
}

static void client_write(void *arg)
{
	struct traffic *t = arg;

	if (!write_pattern(t, t->client, &t->sent, t->total))
		end_client(t, EPIPE);
}

static void client_data(void *arg, char *data, size_t n)
{
	struct traffic *t = arg;

	check_pattern(data, n, t->back);
	t->back += n;
	t->done = t->back == t->total;
}

static void client_eof(void *arg)
{
	end_client(arg, 0);
}

static void client_error(void *arg, const struct error *err)
{
	end_client(arg, err->sys_errno);
}

static void server_write(void *arg)
{
	struct traffic *t = arg;

	if (!write_pattern(t, t->server, &t->echoed, t->received))
		end_server(t, EPIPE);
	else if (t->echoed < t->received)
		conn_pause(t->server);
	else
		conn_resume(t->server);
}

static void server_data(void *arg, char *data, size_t n)
{
	struct traffic *t = arg;

	check_pattern(data, n, t->received);
	t->received += n;
	server_write(t);
}

static void server_eof(void *arg)
{
	end_server(arg, 0);
}

static void server_error(void *arg, const struct error *err)
{
	end_server(arg, err->sys_errno);
}

static const struct conn_events client_side = {
	.on_open = client_write,
	.on_data = client_data,
	.on_eof = client_eof,
	.on_writable = client_write,
	.on_error = client_error,
};

static const struct conn_events server_side = {
	.on_data = server_data,
	.on_eof = server_eof,
	.on_writable = server_write,
	.on_error = server_error,
};

static void on_accept(void *arg, struct conn *c, size_t lane UNUSED)
{
	struct traffic *t = arg;

	assert_ptr_equal(conn_loop(c), t->server_loop);
	t->server = c;
	conn_set_events(c, &server_side, t);
}

static void traffic_connect(struct traffic *t, const char *to)
{
	struct addr at;

	assert_int_equal(addr_parse(&at, str_from(to), 0, NULL), 0);
	t->client_over = t->done = false;
	t->sent = t->received = t->echoed = t->back = 0;
	assert_int_equal(conn_connect(t->client_loop, &at, &client_side, t, &t->client, NULL), 0);
}

static void traffic_listen(struct traffic *t, const char *where)
{
	struct listener_opts opts = { .on_accept = on_accept, .arg = t };
	struct addr at;

	assert_int_equal(addr_parse(&at, str_from(where), 0, NULL), 0);
	assert_int_equal(listener_open(t->server_loop, &at, &opts, &t->listener, NULL), 0);
}

static void traffic_start(struct traffic *t, const struct sim_opts *opts, size_t total)
{
	*t = (struct traffic){ .sim = sim_new(opts), .total = total };
	t->server_loop = sim_loop_new(t->sim, "server");
	t->client_loop = sim_loop_new(t->sim, "client");
	traffic_listen(t, "127.0.0.1:80");
	traffic_connect(t, "127.0.0.1:80");
}

static void traffic_end(struct traffic *t)
{
	conn_free(t->client);
	conn_free(t->server);
	listener_free(t->listener);
	sim_run_for(t->sim, 10);
	assert_int_equal(sim_conns(t->sim), 0);
	loop_free(t->client_loop);
	loop_free(t->server_loop);
	sim_free(t->sim);
}

static void megabytes_cross_and_come_back_through_narrow_pipes(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 10; seed++) {
		struct sim_opts opts = { .seed = seed, .pipe_max = seed % 2 ? 0 : 4096 };
		struct traffic t;

		traffic_start(&t, &opts, MIB);
		assert_true(sim_run_until(t.sim, is_true, &t.done, 60 * 1000));
		assert_false(t.client_over || t.server_over);
		assert_true(t.short_writes > 10);
		traffic_end(&t);
	}
}

static bool traffic_over(void *arg)
{
	struct traffic *t = arg;

	return t->done || t->client_over;
}

/* Every byte that arrives is the right one; an end that is not told hangs on silence only. */
static void a_lost_connection_loses_bytes_but_never_mixes_them(void **state UNUSED)
{
	int done = 0, told = 0, silent = 0;

	for (uint64_t seed = 0; seed < 200; seed++) {
		struct sim_opts opts = { .seed = seed, .lose = 0.005, .stall = 0.01 };
		struct traffic t;

		traffic_start(&t, &opts, 200 * 1000);
		if (!sim_run_until(t.sim, traffic_over, &t, 600 * 1000))
			silent++;
		else if (t.done)
			done++;
		else
			told++;
		assert_true(t.back <= t.received && t.received <= t.sent);
		traffic_end(&t);
	}
	assert_true(done > 10 && told > 50 && silent > 0 && silent < told);
}

static void breaking_reaches_each_connection(void **state UNUSED)
{
	struct sim_opts opts = { .pipe_max = 1000 };
	struct traffic t;

	traffic_start(&t, &opts, MIB);
	sim_run_for(t.sim, 20);
	assert_int_equal(sim_conns(t.sim), 2);
	assert_int_equal(sim_break_conns(t.sim, 0), 0);
	assert_int_equal(sim_break_conns(t.sim, 1), 1);
	assert_int_equal(sim_break_conns(t.sim, 1), 0);
	/* The client always has something to write, so it hears. */
	assert_true(sim_run_until(t.sim, is_true, &t.client_over, 100));
	assert_int_equal(t.client_errno, ECONNRESET);
	traffic_end(&t);
}

static void a_cut_holds_everything_up_and_healing_lets_it_go_on(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct sim_opts opts = { .seed = seed };
		struct traffic t;
		size_t back;

		traffic_start(&t, &opts, 300 * 1000);
		sim_run_for(t.sim, (int64_t)seed % 10);
		sim_cut(t.sim, "server", seed % 3 ? "client" : NULL);
		sim_run_for(t.sim, 10); /* what has arrived already may be read */
		back = t.back;
		sim_run_for(t.sim, 100 * 1000);
		assert_int_equal(t.back, back);
		assert_false(t.client_over || t.server_over || t.done);
		sim_heal(t.sim, seed % 2 ? "server" : NULL,
			 seed % 2 ? (seed % 3 ? "client" : NULL) : NULL);
		assert_true(sim_run_until(t.sim, is_true, &t.done, 10 * 1000));
		traffic_end(&t);
	}
}

static void whoever_writes_into_a_cut_gives_up_at_last(void **state UNUSED)
{
	struct sim_opts opts = { .give_up_ms = 30 * 1000 };
	struct traffic t;

	traffic_start(&t, &opts, MIB);
	sim_run_for(t.sim, 20);
	sim_cut(t.sim, "client", "server");
	sim_run_for(t.sim, 29 * 1000);
	assert_false(t.client_over);
	sim_run_for(t.sim, 2 * 1000);
	assert_true(t.client_over);
	assert_int_equal(t.client_errno, ETIMEDOUT);
	traffic_end(&t);
}

/* --- addresses --------------------------------------------------------------------------- */

static bool can_connect(struct traffic *t, const char *to)
{
	bool reached;

	conn_free(t->client);
	t->client = NULL;
	traffic_connect(t, to);
	(void)sim_run_until(t->sim, traffic_over, t, 1000);
	reached = t->done;
	conn_free(t->client);
	t->client = NULL;
	sim_run_for(t->sim, 10);
	return reached;
}

static void addresses_are_names(void **state UNUSED)
{
	struct listener_opts lopts = { .on_accept = on_accept };
	struct listener *other = NULL;
	struct error err;
	struct traffic t;
	struct addr at;

	traffic_start(&t, NULL, 10);
	assert_true(can_connect(&t, "127.0.0.1:80"));
	assert_true(can_connect(&t, "server:80"));
	assert_false(can_connect(&t, "127.0.0.1:81"));
	assert_int_equal(t.client_errno, ECONNREFUSED);
	assert_false(can_connect(&t, "10.9.8.7:80"));
	assert_false(can_connect(&t, "client:80"));
	listener_free(t.listener);
	assert_false(can_connect(&t, "127.0.0.1:80"));
	traffic_listen(&t, ":80");
	assert_true(can_connect(&t, "10.9.8.7:80"));
	assert_true(can_connect(&t, "server:80"));
	listener_free(t.listener);
	traffic_listen(&t, "unix:/run/some.sock");
	assert_true(can_connect(&t, "unix:///run/some.sock"));
	at = *listener_addr(t.listener);
	assert_int_equal(listener_open(t.server_loop, &at, &lopts, &other, &err),
			 -ERR_ALREADY_EXISTS);
	listener_free(t.listener);
	traffic_listen(&t, "127.0.0.1:0");
	assert_int_not_equal(listener_addr(t.listener)->port, 0);
	assert_true(can_connect(&t, listener_addr(t.listener)->text));
	at = *listener_addr(t.listener);
	assert_int_equal(listener_open(t.server_loop, &at, &lopts, &other, &err), -ERR_UNAVAILABLE);
	assert_int_equal(err.sys_errno, EADDRINUSE);
	traffic_end(&t);
}

static void connects_fail_as_often_as_asked_for(void **state UNUSED)
{
	struct sim_opts opts = { .refuse = 0.5 };
	struct traffic t;
	int reached = 0;

	traffic_start(&t, &opts, 10);
	for (int i = 0; i < 200; i++)
		reached += can_connect(&t, "127.0.0.1:80");
	assert_in_range(reached, 70, 130);
	traffic_end(&t);
}

/* --- crashes ----------------------------------------------------------------------------- */

static void never_called(struct loop_msg *m UNUSED)
{
	fail_msg("a message reached a dead host");
}

static void nothing_runs_on_a_crashed_host(void **state UNUSED)
{
	struct sim *s = sim_new(NULL);
	struct loop *a = sim_loop_new(s, "a"), *a2 = sim_loop_new(s, "a"),
		    *b = sim_loop_new(s, "b");
	struct ticker ta = { .period_ms = 1 }, tb = { .period_ms = 1 };
	struct loop_msg msg = { .fn = never_called };

	ticker_start(&ta, a2, 1);
	ticker_start(&tb, b, 1);
	sim_run_for(s, 10);
	assert_true(ta.fired > 0);
	loop_post(a2, &msg);
	sim_loop_crash(a, SIM_CRASH_PROCESS); /* its threads die together */
	ta.fired = 0;
	sim_run_for(s, 10);
	assert_int_equal(ta.fired, 0);
	assert_true(tb.fired > 10);
	loop_timer_stop(&tb.timer);
	loop_free(a);
	loop_free(a2);
	loop_free(b);
	sim_free(s);
}

static void the_peers_of_a_crashed_process_see_the_end(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 30; seed++) {
		struct sim_opts opts = { .seed = seed };
		struct traffic t;

		traffic_start(&t, &opts, MIB);
		sim_run_for(t.sim, (int64_t)seed % 20);
		sim_loop_crash(t.server_loop, SIM_CRASH_PROCESS);
		assert_true(sim_run_until(t.sim, is_true, &t.client_over, 1000));
		assert_false(can_connect(&t, "127.0.0.1:80"));
		assert_int_equal(t.client_errno, ECONNREFUSED);
		traffic_end(&t);
	}
}

static void a_crashed_machine_is_silent_until_it_is_back(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 30; seed++) {
		struct sim_opts opts = { .seed = seed, .pipe_max = 1000 };
		struct loop *again;
		struct traffic t;

		traffic_start(&t, &opts, MIB);
		sim_run_for(t.sim, 10 + (int64_t)seed);
		sim_loop_crash(t.server_loop, SIM_CRASH_MACHINE);
		sim_run_for(t.sim, 60 * 1000);
		assert_false(t.client_over);
		again = sim_loop_new(t.sim, "server");
		assert_true(sim_run_until(t.sim, is_true, &t.client_over, 1000));
		assert_int_equal(t.client_errno, ECONNRESET);
		assert_false(can_connect(&t, "127.0.0.1:80"));
		loop_free(again);
		traffic_end(&t);
	}
}

static void connecting_to_a_dead_machine_is_answered_when_it_is_back(void **state UNUSED)
{
	struct traffic t;
	struct loop *old;

	traffic_start(&t, NULL, 1000);
	assert_true(sim_run_until(t.sim, is_true, &t.done, 1000));
	sim_loop_crash(t.server_loop, SIM_CRASH_MACHINE);
	conn_free(t.client);
	traffic_connect(&t, "127.0.0.1:80");
	sim_run_for(t.sim, 60 * 1000);
	assert_false(t.client_over || t.done);
	conn_free(t.server);
	t.server = NULL;
	listener_free(t.listener);
	old = t.server_loop;
	t.server_loop = sim_loop_new(t.sim, "server");
	traffic_listen(&t, "127.0.0.1:80");
	assert_true(sim_run_until(t.sim, is_true, &t.done, 1000));
	loop_free(old);
	traffic_end(&t);
}

static void what_a_crashed_host_left_open_goes_with_its_loop(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 30; seed++) {
		struct sim_opts opts = { .seed = seed };
		struct traffic t;

		traffic_start(&t, &opts, MIB);
		sim_run_for(t.sim, (int64_t)seed % 5);
		sim_loop_crash(t.server_loop, seed % 2 ? SIM_CRASH_PROCESS : SIM_CRASH_MACHINE);
		loop_free(t.server_loop);
		conn_free(t.client);
		loop_free(t.client_loop);
		sim_free(t.sim);
	}
}

static void burying_tells_the_dead_that_their_conns_failed(void **state UNUSED)
{
	struct traffic t;

	traffic_start(&t, NULL, MIB);
	sim_run_for(t.sim, 5);
	assert_non_null(t.server);
	sim_loop_crash(t.server_loop, SIM_CRASH_MACHINE);
	assert_false(t.server_over);
	sim_loop_bury(t.server_loop);
	assert_true(t.server_over);
	assert_int_equal(t.server_errno, ECONNABORTED);
	traffic_end(&t);
}

/* --- signals, folders, children ------------------------------------------------------------ */

static void count_signal(void *arg, int signum)
{
	assert_int_equal(signum, SIGTERM);
	++*(int *)arg;
}

static void a_signal_reaches_all_loops_of_its_host(void **state UNUSED)
{
	struct sim *s = sim_new(NULL);
	struct loop *l[3] = { sim_loop_new(s, "a"), sim_loop_new(s, "a"), sim_loop_new(s, "b") };
	struct loop_signal *g[3];
	int n[3] = { 0 };

	for (int i = 0; i < 3; i++)
		assert_int_equal(loop_signal_new(l[i], SIGTERM, count_signal, &n[i], &g[i], NULL),
				 0);
	assert_int_equal(loop_signal_new(l[0], SIGKILL, count_signal, NULL, &g[0], NULL), -ERR_IO);
	sim_raise(l[0], SIGTERM);
	sim_raise(l[1], SIGTERM);
	sim_raise(l[1], SIGHUP);
	sim_run_for(s, 100);
	assert_true(n[0] == 1 && n[1] == 1 && n[2] == 0);
	for (int i = 0; i < 3; i++) {
		loop_signal_free(g[i]);
		loop_free(l[i]);
	}
	sim_free(s);
}

struct folder {
	int notices, unnamed, ends;
	struct loop_watch *watch;
};

static void on_entry(void *arg, struct str name, const struct error *err)
{
	struct folder *f = arg;

	if (err) {
		assert_int_equal(err->code, ERR_NOT_FOUND);
		f->ends++;
		return;
	}
	assert_true(name.n == 0 || str_eq(name, STR("one")) || str_eq(name, STR("two")));
	f->notices++;
	f->unnamed += name.n == 0;
}

static void folders_tell_that_something_changed(void **state UNUSED)
{
	struct sim *s = sim_new(NULL);
	struct loop *l = sim_loop_new(s, "host");
	struct folder a = { 0 }, b = { 0 };
	struct error err;
	int touches = 0;

	assert_int_equal(loop_watch_new(l, "/a", on_entry, &a, &a.watch, NULL), 0);
	assert_int_equal(loop_watch_new(l, "/b", on_entry, &b, &b.watch, NULL), 0);
	for (; touches < 400; touches += 4) {
		for (int i = 0; i < 4; i++)
			sim_touch(s, "/a", i % 2 ? "one" : "two");
		sim_run_for(s, 20);
		assert_true(a.notices > touches / 4); /* each time at least one */
	}
	assert_true(a.notices < touches && a.unnamed > 0 && a.unnamed < a.notices);
	assert_int_equal(b.notices, 0);
	sim_rmdir(s, "/a");
	sim_touch(s, "/a", "one");
	sim_run_for(s, 20);
	assert_int_equal(a.ends, 1);
	loop_watch_free(a.watch);
	assert_int_equal(loop_watch_new(l, "/a", on_entry, &a, &a.watch, &err), -ERR_NOT_FOUND);
	sim_mkdir(s, "/a");
	assert_int_equal(loop_watch_new(l, "/a", on_entry, &a, &a.watch, NULL), 0);
	loop_watch_free(a.watch);
	loop_watch_free(b.watch);
	loop_free(l);
	sim_free(s);
}

struct offspring {
	struct loop_child *child;
	int exits, status, signal;
};

static void on_child_exit(void *arg, int status, int signum)
{
	struct offspring *o = arg;

	o->exits++;
	o->status = status;
	o->signal = signum;
}

/* The program's name says what becomes of it. */
static void decide(void *arg UNUSED, const struct loop_child_opts *opts, struct sim_fate *ret_fate)
{
	const char *name = opts->argv[0];

	*ret_fate = (struct sim_fate){ .after_ms = -1 };
	if (strcmp(name, "fails") == 0)
		*ret_fate = (struct sim_fate){ .after_ms = 50, .status = 7 };
	else if (strcmp(name, "crashes") == 0)
		*ret_fate = (struct sim_fate){ .after_ms = 50, .signal = SIGSEGV };
	else if (strcmp(name, "tidies up") == 0)
		ret_fate->term_ms = 1000;
	else if (strcmp(name, "is stubborn") == 0)
		ret_fate->term_ms = -1;
	else if (strcmp(name, "missing") == 0)
		ret_fate->missing = true;
}

static void spawn(struct loop *l, const char *name, struct offspring *o)
{
	const char *argv[] = { name, NULL };
	struct loop_child_opts opts = { .argv = argv, .on_exit = on_child_exit, .arg = o };

	*o = (struct offspring){ 0 };
	assert_int_equal(loop_child_new(l, &opts, &o->child, NULL), 0);
}

static void children_do_what_they_are_told(void **state UNUSED)
{
	struct sim_opts sopts = { .spawn = decide };
	struct sim *s = sim_new(&sopts);
	struct loop *l = sim_loop_new(s, "host");
	static const char *const missing[] = { "missing", NULL };
	struct loop_child_opts opts = { .argv = missing };
	struct offspring fails, crashes, sleeps, tidy, stubborn;
	struct loop_child *none;

	assert_int_equal(loop_child_new(l, &opts, &none, NULL), -ERR_NOT_FOUND);
	spawn(l, "fails", &fails);
	spawn(l, "crashes", &crashes);
	spawn(l, "sleeps", &sleeps);
	spawn(l, "tidies up", &tidy);
	spawn(l, "is stubborn", &stubborn);
	assert_int_not_equal(loop_child_pid(fails.child), loop_child_pid(sleeps.child));
	sim_run_for(s, 49);
	assert_int_equal(fails.exits, 0);
	sim_run_for(s, 10);
	assert_true(fails.exits == 1 && fails.status == 7 && fails.signal == 0);
	assert_true(crashes.exits == 1 && crashes.signal == SIGSEGV);
	assert_int_equal(loop_child_kill(fails.child, SIGTERM, NULL), -ERR_NOT_FOUND);
	assert_int_equal(loop_child_kill(sleeps.child, SIGTERM, NULL), 0);
	assert_int_equal(loop_child_kill(tidy.child, SIGTERM, NULL), 0);
	assert_int_equal(loop_child_kill(stubborn.child, SIGTERM, NULL), 0);
	sim_run_for(s, 900);
	assert_true(sleeps.exits == 1 && sleeps.signal == SIGTERM);
	assert_true(tidy.exits == 0 && stubborn.exits == 0);
	sim_run_for(s, 200);
	assert_true(tidy.exits == 1 && tidy.status == 0 && tidy.signal == 0);
	assert_int_equal(loop_child_kill(stubborn.child, SIGKILL, NULL), 0);
	sim_run_for(s, 10);
	assert_true(stubborn.exits == 1 && stubborn.signal == SIGKILL);
	loop_child_free(fails.child);
	loop_child_free(crashes.child);
	loop_child_free(sleeps.child);
	loop_child_free(tidy.child);
	loop_child_free(stubborn.child);
	loop_free(l);
	sim_free(s);
}

/* --- repeating --------------------------------------------------------------------------- */

static void keep_line(void *arg, struct str line)
{
	(void)buf_add_str(arg, line);
	(void)buf_addc(arg, '\n');
}

/* A bit of everything. */
static char *trace_with_seed(uint64_t seed)
{
	struct buf lines = BUF_INIT(64 * MIB);
	struct sim_opts opts = {
		.seed = seed, .lose = 0.001, .stall = 0.01, .trace = keep_line, .arg = &lines
	};
	struct ticker k = { .period_ms = 3 };
	struct traffic t;

	traffic_start(&t, &opts, 100 * 1000);
	ticker_start(&k, t.client_loop, 1);
	sim_run_for(t.sim, 40);
	sim_cut(t.sim, "client", "server");
	sim_run_for(t.sim, 40);
	sim_heal(t.sim, NULL, NULL);
	sim_run_for(t.sim, 400);
	loop_timer_stop(&k.timer);
	traffic_end(&t);
	return buf_take(&lines);
}

static void equal_seeds_repeat_and_others_differ(void **state UNUSED)
{
	char *first = trace_with_seed(1), *again = trace_with_seed(1), *other = trace_with_seed(2);

	assert_true(strlen(first) > 5 * 1000);
	assert_string_equal(first, again);
	assert_string_not_equal(first, other);
	free(first);
	free(again);
	free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_fire_in_order_and_no_real_time_passes),
		cmocka_unit_test(time_passes_when_nothing_happens),
		cmocka_unit_test(a_stopped_loop_gets_no_turns),
		cmocka_unit_test(a_loop_that_never_rests_does_not_stop_time),
		cmocka_unit_test(posts_of_one_sender_keep_their_order_and_no_more),
		cmocka_unit_test(megabytes_cross_and_come_back_through_narrow_pipes),
		cmocka_unit_test(a_lost_connection_loses_bytes_but_never_mixes_them),
		cmocka_unit_test(breaking_reaches_each_connection),
		cmocka_unit_test(a_cut_holds_everything_up_and_healing_lets_it_go_on),
		cmocka_unit_test(whoever_writes_into_a_cut_gives_up_at_last),
		cmocka_unit_test(addresses_are_names),
		cmocka_unit_test(connects_fail_as_often_as_asked_for),
		cmocka_unit_test(nothing_runs_on_a_crashed_host),
		cmocka_unit_test(the_peers_of_a_crashed_process_see_the_end),
		cmocka_unit_test(a_crashed_machine_is_silent_until_it_is_back),
		cmocka_unit_test(connecting_to_a_dead_machine_is_answered_when_it_is_back),
		cmocka_unit_test(what_a_crashed_host_left_open_goes_with_its_loop),
		cmocka_unit_test(burying_tells_the_dead_that_their_conns_failed),
		cmocka_unit_test(a_signal_reaches_all_loops_of_its_host),
		cmocka_unit_test(folders_tell_that_something_changed),
		cmocka_unit_test(children_do_what_they_are_told),
		cmocka_unit_test(equal_seeds_repeat_and_others_differ),
	};

	return cmocka_run_group_tests_name("net/sim", tests, NULL, NULL);
}
