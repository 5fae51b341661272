/*
 * HTTP in the simulated world, in fair and in foul weather: narrow pipes, slow
 * loops, fickle clients, lost connections, cuts, crashes, and a server that
 * drains in the middle of it all. web_world.h lists the checks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "net/http/server.h"
#include "net/http/web_world.h"
#include "net/loop/conn.h"

static struct sim_opts draw_opts(uint64_t seed, double lose)
{
	static const size_t pipes[] = { 0, 700, 5000, 1000 * 1000 };

	return (struct sim_opts){ .seed = seed,
				  .pipe_max = pipes[seed % 4],
				  .stall = seed % 3 ? 0.01 : 0,
				  .stall_max_ms = 30,
				  .lose = lose,
				  .refuse = lose * 5 };
}

static void without_faults_every_request_is_answered(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web_world w;

		web_world_init(&w, &opts, (struct web_climate){ 0 });
		web_world_finish(&w);
		web_world_drain(&w, 1000);
		web_world_release(&w);
	}
}

static void a_server_that_hangs_up_idle_connections_loses_no_request(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web_world w;

		web_world_init(&w, &opts,
			       (struct web_climate){ .idle_timeout_ms = 5, .gap_ms = 20 });
		web_world_finish(&w);
		web_world_drain(&w, 1000);
		web_world_release(&w);
	}
}

static void fickle_clients_disturb_only_themselves(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web_world w;

		web_world_init(&w, &opts, (struct web_climate){ .faulty = true, .fickle = true });
		web_world_finish(&w);
		web_world_drain(&w, 1000);
		web_world_release(&w);
	}
}

static void lost_connections_fail_requests_but_mix_nothing_up(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sim_opts opts = draw_opts(seed, seed % 2 ? 0.01 : 0.001);
		struct web_world w;

		web_world_init(&w, &opts,
			       (struct web_climate){ .faulty = true, .fickle = seed % 3 == 0 });
		for (int i = 0; i < 10; i++) {
			sim_run_for(w.sim, (int64_t)web_world_draw(&w, 50));
			(void)sim_break_conns(w.sim, 0.3);
		}
		web_world_finish(&w);
		web_world_drain(&w, 1000);
		web_world_release(&w);
	}
}

static void cuts_heal_or_end_in_time_outs(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web_world w;

		web_world_init(&w, &opts, (struct web_climate){ .faulty = true });
		for (int i = 0; i < 3; i++) {
			sim_run_for(w.sim, (int64_t)web_world_draw(&w, 50));
			sim_cut(w.sim, "server", web_world_draw(&w, 2) ? NULL : "client-1");
			sim_run_for(w.sim, (int64_t)web_world_draw(
						   &w, web_world_draw(&w, 2) ? 100 : 40 * 1000));
			sim_heal(w.sim, NULL, NULL);
		}
		web_world_finish(&w);
		web_world_drain(&w, 1000);
		web_world_release(&w);
	}
}

/* With time enough, what the server has begun it ends. */
static void a_graceful_drain_loses_nothing_that_was_begun(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web_world w;

		web_world_init(&w, &opts, (struct web_climate){ .leaving = true });
		sim_run_for(w.sim, (int64_t)web_world_draw(&w, 80));
		web_world_drain(&w, WEB_HANG_MS);
		web_world_finish(&w);
		web_world_release(&w);
	}
}

static void a_hasty_drain_leaves_no_connection(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sim_opts opts = draw_opts(seed, seed % 3 ? 0 : 0.005);
		struct web_world w;

		web_world_init(&w, &opts,
			       (struct web_climate){ .faulty = true, .fickle = seed % 2 == 0 });
		sim_run_for(w.sim, (int64_t)web_world_draw(&w, 80));
		web_world_drain(&w, (int64_t)web_world_draw(&w, 100));
		web_world_finish(&w);
		web_world_release(&w);
	}
}

static void a_crashed_server_leaves_its_clients_with_errors(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct sim_opts opts = draw_opts(seed, 0);
		struct web_world w;

		web_world_init(&w, &opts, (struct web_climate){ .faulty = true });
		sim_run_for(w.sim, (int64_t)web_world_draw(&w, 80));
		sim_loop_crash(w.lanes[0], seed % 2 ? SIM_CRASH_PROCESS : SIM_CRASH_MACHINE);
		web_world_finish(&w);
		sim_loop_bury(w.lanes[0]);
		web_world_release(&w);
	}
}

/* --- a peer that neither reads nor ends what it began ------------------------------------- */

struct mute {
	struct conn *conn;
};

static void mute_write(struct mute *m, const char *text, size_t n)
{
	struct iovec v = { (void *)(uintptr_t)text, n };
	struct error err;

	assert_int_equal(conn_writev(m->conn, &v, 1, &err), n);
}

/* Preface, settings and a request. */
static void mute_open(void *arg)
{
	static const char text[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
				   "\0\0\0\4\0\0\0\0\0"
				   "\0\0\6\1\5\0\0\0\1\x82\x86\x84\x41\1x";
	struct mute *m = arg;

	mute_write(m, text, sizeof(text) - 1);
	conn_pause(m->conn);
}

static void mute_data(void *arg UNUSED, char *data UNUSED, size_t n UNUSED)
{
}

static void mute_none(void *arg UNUSED)
{
}

static void mute_error(void *arg, const struct error *err UNUSED)
{
	struct mute *m = arg;

	conn_free(TAKE(m->conn));
}

/* Half a header block of the next one. */
static void mute_begin(struct mute *m)
{
	static const char text[] = "\0\0\3\1\1\0\0\0\3\x82\x86\x84";

	mute_write(m, text, sizeof(text) - 1);
}

static void answer_at_length(void *arg UNUSED, struct http_stream *s, size_t lane UNUSED)
{
	static const struct http_stream_ops ops;
	static const char text[32 * KIB];

	s->ops = &ops;
	(void)http_stream_reply(s, 200, STR_NULL, slice_static(str_of(text, sizeof(text))));
}

static void note_done(void *arg)
{
	*(bool *)arg = true;
}

/*
 * Its time-out has come, and the peer does not read the answer: the timer must not be due again
 * at once. The simulated cluster showed it as a seed of a million turns.
 */
static void a_failed_connection_that_is_not_read_costs_no_turns(void **state UNUSED)
{
	static const struct conn_events events = { mute_open, mute_data, mute_none, mute_none,
						   mute_error };
	struct sim *sim = sim_new(&(struct sim_opts){ .seed = 3, .pipe_max = 2000 });
	struct loop *l = sim_loop_new(sim, "server"), *client = sim_loop_new(sim, "client");
	struct http_server_opts opts = { .loops = &l, .nloops = 1, .handler = answer_at_length };
	struct http_server *server = http_server_new(&opts);
	struct http_server_stats stats;
	struct addr at;
	bool done = false;
	struct mute m;
	uint64_t turns;

	assert_int_equal(addr_parse(&at, STR("10.0.0.1:80"), 0, NULL), 0);
	assert_int_equal(http_server_listen(server, &at, NULL, 0, NULL, NULL), 0);
	assert_int_equal(conn_connect(client, &at, &events, &m, &m.conn, NULL), 0);
	sim_run_for(sim, 1000);
	mute_begin(&m);
	sim_run_for(sim, 60 * 1000);
	http_server_stats(server, &stats);
	assert_int_equal(stats.requests, 1);
	assert_int_equal(stats.conns, 1);
	turns = sim_turns(sim);
	sim_run_for(sim, 40 * 1000);
	assert_in_range(sim_turns(sim) - turns, 0, 100);
	sim_run_for(sim, 100 * 1000);
	http_server_stats(server, &stats);
	assert_int_equal(stats.conns, 0);
	conn_free(m.conn);
	http_server_drain(server, 0, note_done, &done);
	sim_run_for(sim, 1000);
	assert_true(done);
	http_server_free(server);
	loop_free(client);
	loop_free(l);
	sim_free(sim);
}

/* --- connections and loops ----------------------------------------------------------------- */

enum { SPREAD_LOOPS = 3, SPREAD_CONNS = 12 };

/* A server on some loops that counts the requests of each, and its clients. */
struct spread {
	struct sim *sim;
	struct loop *loops[SPREAD_LOOPS], *client;
	size_t n, requests[SPREAD_LOOPS];
	struct mute v[SPREAD_CONNS];
};

static void count_lane(void *arg, struct http_stream *s, size_t lane)
{
	static const struct http_stream_ops ops;
	struct spread *w = arg;

	assert_in_range(lane, 0, w->n - 1);
	w->requests[lane]++;
	s->ops = &ops;
	(void)http_stream_reply(s, 200, STR_NULL, slice_static(STR("ok")));
}

static void spread_open(void *arg)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

	mute_write(arg, text, sizeof(text) - 1);
}

/* Each connection makes a request on its loop, and the server ends. */
static void spread_run(struct spread *w, bool spare_first)
{
	static const struct conn_events events = { spread_open, mute_data, mute_none, mute_none,
						   mute_error };
	struct http_server_opts opts = { .loops = w->loops,
					 .nloops = w->n,
					 .spare_first = spare_first,
					 .handler = count_lane,
					 .arg = w };
	struct http_server *server = http_server_new(&opts);
	struct addr at;
	bool done = false;

	assert_int_equal(addr_parse(&at, STR("10.0.0.1:80"), 0, NULL), 0);
	assert_int_equal(http_server_listen(server, &at, NULL, 0, NULL, NULL), 0);
	for (size_t i = 0; i < SPREAD_CONNS; i++)
		assert_int_equal(
			conn_connect(w->client, &at, &events, &w->v[i], &w->v[i].conn, NULL), 0);
	sim_run_for(w->sim, 1000);
	for (size_t i = 0; i < SPREAD_CONNS; i++)
		conn_free(w->v[i].conn);
	http_server_drain(server, 1000, note_done, &done);
	sim_run_for(w->sim, 2000);
	assert_true(done);
	http_server_free(server);
}

static void assert_spread(size_t nloops, bool spare_first, const size_t *want)
{
	struct spread w = { .sim = sim_new(&(struct sim_opts){ .seed = 5 }), .n = nloops };

	for (size_t i = 0; i < w.n; i++)
		w.loops[i] = sim_loop_new(w.sim, "server");
	w.client = sim_loop_new(w.sim, "client");
	spread_run(&w, spare_first);
	assert_memory_equal(w.requests, want, nloops * sizeof(*want));
	loop_free(w.client);
	for (size_t i = 0; i < w.n; i++)
		loop_free(w.loops[i]);
	sim_free(w.sim);
}

static void the_first_loop_can_be_spared(void **state UNUSED)
{
	static const size_t all[] = { 4, 4, 4 }, others[] = { 0, 6, 6 }, last[] = { 0, 12 },
			    alone[] = { 12 };

	assert_spread(3, false, all);
	assert_spread(3, true, others);
	assert_spread(2, true, last);
	assert_spread(1, true, alone);
}

/* --- limits on connections ---------------------------------------------------------------- */

/* Requests of "GET /known" are those of a client that the server knows. */
static void answer_shortly(void *arg UNUSED, struct http_stream *s, size_t lane UNUSED)
{
	static const struct http_stream_ops ops;

	s->ops = &ops;
	if (str_eqz(s->in.path, "/known"))
		http_stream_vouch(s);
	(void)http_stream_reply(s, 200, STR_NULL, slice_static(STR("ok")));
}

enum { CALLERS = 6 };

struct callers {
	struct sim *sim;
	struct loop *server_loop, *here, *there;
	struct http_server *server;
	struct addr at;
	struct mute v[CALLERS];
	size_t n;
};

static void callers_init(struct callers *c, size_t max_conns, size_t max_strangers)
{
	struct http_server_opts opts = { .nloops = 1,
					 .handler = answer_shortly,
					 .max_conns = max_conns,
					 .max_strangers = max_strangers };

	*c = (struct callers){ .sim = sim_new(&(struct sim_opts){ .seed = 4 }) };
	c->server_loop = sim_loop_new(c->sim, "server");
	c->here = sim_loop_new(c->sim, "here");
	c->there = sim_loop_new(c->sim, "there");
	opts.loops = &c->server_loop;
	c->server = http_server_new(&opts);
	assert_int_equal(addr_parse(&c->at, STR("10.0.0.1:80"), 0, NULL), 0);
	assert_int_equal(http_server_listen(c->server, &c->at, NULL, 0, NULL, NULL), 0);
}

static void caller_eof(void *arg)
{
	mute_error(arg, NULL);
}

/* Whether its connection lasts. */
static bool call(struct callers *c, struct loop *from)
{
	static const struct conn_events events = { mute_none, mute_data, caller_eof, mute_none,
						   mute_error };
	struct mute *m = &c->v[c->n++];

	assert_int_equal(conn_connect(from, &c->at, &events, m, &m->conn, NULL), 0);
	sim_run_for(c->sim, 1000);
	return m->conn != NULL;
}

static void say(struct callers *c, size_t i, const char *path)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", path);

	mute_write(&c->v[i], text, (size_t)n);
	sim_run_for(c->sim, 1000);
}

static void callers_release(struct callers *c)
{
	bool done = false;

	for (size_t i = 0; i < c->n; i++)
		conn_free(c->v[i].conn);
	http_server_drain(c->server, 0, note_done, &done);
	sim_run_for(c->sim, 1000);
	assert_true(done);
	http_server_free(c->server);
	loop_free(c->here);
	loop_free(c->there);
	loop_free(c->server_loop);
	sim_free(c->sim);
}

static void unknown_clients_of_one_address_have_few_connections(void **state UNUSED)
{
	struct http_server_stats stats;
	struct callers c;

	callers_init(&c, 0, 2);
	assert_true(call(&c, c.here));
	assert_true(call(&c, c.here));
	assert_false(call(&c, c.here));
	http_server_stats(c.server, &stats);
	assert_int_equal(stats.refused_strangers, 1);
	assert_int_equal(stats.conns, 2);
	assert_true(call(&c, c.there));
	/* A request alone does not make a client known. */
	say(&c, 0, "/health");
	assert_false(call(&c, c.here));
	say(&c, 0, "/known");
	assert_true(call(&c, c.here));
	callers_release(&c);
}

static void connections_in_all_are_bounded_and_given_back(void **state UNUSED)
{
	struct http_server_stats stats;
	struct callers c;

	callers_init(&c, 2, 0);
	assert_true(call(&c, c.here));
	assert_true(call(&c, c.there));
	assert_false(call(&c, c.here));
	http_server_stats(c.server, &stats);
	assert_int_equal(stats.refused_all, 1);
	conn_free(TAKE(c.v[0].conn));
	sim_run_for(c.sim, 1000);
	assert_true(call(&c, c.here));
	callers_release(&c);
}

static void all_of_it_holds_over_tls(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 60; seed++) {
		struct sim_opts opts = draw_opts(seed, seed % 2 ? 0.003 : 0);
		struct web_climate climate = { .tls = true,
					       .faulty = seed % 2,
					       .fickle = seed % 4 == 1,
					       .leaving = seed % 4 == 2 };
		struct web_world w;

		web_world_init(&w, &opts, climate);
		sim_run_for(w.sim, (int64_t)web_world_draw(&w, 80));
		if (climate.leaving)
			web_world_drain(&w, WEB_HANG_MS);
		web_world_finish(&w);
		if (!climate.leaving)
			web_world_drain(&w, 1000);
		web_world_release(&w);
	}
}

static void keep_line(void *arg, struct str line)
{
	(void)buf_add_str(arg, line);
	(void)buf_addc(arg, '\n');
}

static char *trace_with_seed(uint64_t seed)
{
	struct buf lines = BUF_INIT(64 * MIB);
	struct sim_opts opts = draw_opts(seed, 0.0005);
	struct web_world w;

	opts.trace = keep_line;
	opts.arg = &lines;
	web_world_init(&w, &opts, (struct web_climate){ .faulty = true, .fickle = true });
	sim_run_for(w.sim, 50);
	(void)sim_break_conns(w.sim, 0.3);
	web_world_finish(&w);
	web_world_drain(&w, 1000);
	web_world_release(&w);
	return buf_take(&lines);
}

static void equal_seeds_repeat_to_the_byte(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 5; seed++) {
		char *first = trace_with_seed(seed), *again = trace_with_seed(seed);
		char *other = trace_with_seed(seed + 5);

		assert_true(strlen(first) > 3 * 1000);
		assert_string_equal(first, again);
		assert_string_not_equal(first, other);
		free(first);
		free(again);
		free(other);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_faults_every_request_is_answered),
		cmocka_unit_test(a_server_that_hangs_up_idle_connections_loses_no_request),
		cmocka_unit_test(fickle_clients_disturb_only_themselves),
		cmocka_unit_test(lost_connections_fail_requests_but_mix_nothing_up),
		cmocka_unit_test(cuts_heal_or_end_in_time_outs),
		cmocka_unit_test(a_graceful_drain_loses_nothing_that_was_begun),
		cmocka_unit_test(a_hasty_drain_leaves_no_connection),
		cmocka_unit_test(a_crashed_server_leaves_its_clients_with_errors),
		cmocka_unit_test(a_failed_connection_that_is_not_read_costs_no_turns),
		cmocka_unit_test(the_first_loop_can_be_spared),
		cmocka_unit_test(unknown_clients_of_one_address_have_few_connections),
		cmocka_unit_test(connections_in_all_are_bounded_and_given_back),
		cmocka_unit_test(all_of_it_holds_over_tls),
		cmocka_unit_test(equal_seeds_repeat_to_the_byte),
	};

	return cmocka_run_group_tests_name("net/sim_http", tests, NULL, NULL);
}
