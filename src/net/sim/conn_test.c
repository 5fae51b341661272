/*
 * The simulated network: that it keeps what a network keeps and breaks what it
 * may break, who reaches whom, what crashes look like from outside, and that
 * all of it repeats.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <errno.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "net/loop/addr.h"
#include "net/loop/conn.h"
#include "net/loop/listener.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"

static bool is_true(void *arg)
{
	return *(bool *)arg;
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

static void traffic_start_at(struct traffic *t, const struct sim_opts *opts, size_t total,
			     const char *where)
{
	*t = (struct traffic){ .sim = sim_new(opts), .total = total };
	t->server_loop = sim_loop_new(t->sim, "server");
	t->client_loop = sim_loop_new(t->sim, "client");
	traffic_listen(t, where);
	traffic_connect(t, where);
}

static void traffic_start(struct traffic *t, const struct sim_opts *opts, size_t total)
{
	traffic_start_at(t, opts, total, "127.0.0.1:80");
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

/* Every byte that arrives is the right one; without a reported end there is only silence. */
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

/* With keep-alive nobody hangs for ever. */
static void keep_alive_tells_of_a_lost_connection(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 100; seed++) {
		struct sim_opts opts = { .seed = seed, .keepalive_ms = 1000 };
		struct traffic t;

		traffic_start(&t, &opts, 300 * 1000);
		sim_run_for(t.sim, 5);
		(void)sim_break_conns(t.sim, 1);
		sim_run_for(t.sim, 1100);
		assert_true((t.client_over && t.server_over) || t.done);
		traffic_end(&t);
	}
}

/* Both ends are idle, and no keep-alive helps. */
static void both_ends_notice_a_lost_unix_connection(void **state UNUSED)
{
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct sim_opts opts = { .seed = seed };
		struct traffic t;

		traffic_start_at(&t, &opts, 10, "unix:/run/some.sock");
		assert_true(sim_run_until(t.sim, is_true, &t.done, 1000));
		assert_int_equal(sim_break_conns(t.sim, 1), 1);
		sim_run_for(t.sim, 10);
		assert_true(t.client_over && t.server_over);
		traffic_end(&t);
	}
}

static void on_nobody(void *arg UNUSED, struct conn *c UNUSED, size_t lane UNUSED)
{
	fail_msg("nobody connects");
}

static void on_folder(void *arg, struct str name UNUSED, const struct error *err)
{
	assert_null(err);
	++*(int *)arg;
}

static void a_unix_listener_may_have_a_real_file(void **state UNUSED)
{
	struct sim *s = sim_new(&(struct sim_opts){ .unix_files = true });
	struct loop *l = sim_loop_new(s, "host"), *other = sim_loop_new(s, "other");
	struct listener_opts opts = { .on_accept = on_nobody };
	char dir[] = "/tmp/sim.XXXXXX", path[64], text[80];
	struct listener *ln;
	struct loop_watch *watch;
	struct addr at;
	struct stat st;
	int changes = 0;

	assert_non_null(mkdtemp(dir));
	(void)snprintf(path, sizeof(path), "%s/s.sock", dir);
	(void)snprintf(text, sizeof(text), "unix:%s", path);
	assert_int_equal(addr_parse(&at, str_from(text), 0, NULL), 0);
	assert_int_equal(loop_watch_new(other, dir, on_folder, &changes, &watch, NULL), 0);
	assert_int_equal(listener_open(l, &at, &opts, &ln, NULL), 0);
	assert_int_equal(stat(path, &st), 0);
	assert_true(S_ISSOCK(st.st_mode));
	sim_run_for(s, 100);
	assert_int_equal(changes, 1);
	listener_free(ln);
	assert_int_equal(stat(path, &st), -1);
	sim_run_for(s, 100);
	assert_int_equal(changes, 2);
	/* A crash leaves it, and who comes next replaces it. */
	assert_int_equal(listener_open(l, &at, &opts, &ln, NULL), 0);
	sim_loop_crash(l, SIM_CRASH_PROCESS);
	listener_free(ln);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(listener_open(other, &at, &opts, &ln, NULL), 0);
	listener_free(ln);
	loop_watch_free(watch);
	loop_free(l);
	loop_free(other);
	sim_free(s);
	assert_int_equal(rmdir(dir), 0);
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

static void a_writer_into_a_cut_gives_up_at_last(void **state UNUSED)
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

static void another_host_may_take_over_a_dead_one_s_address(void **state UNUSED)
{
	struct loop *old;
	struct traffic t;

	traffic_start(&t, NULL, 1000);
	sim_run_for(t.sim, 10);
	sim_loop_crash(t.server_loop, SIM_CRASH_MACHINE);
	sim_loop_bury(t.server_loop);
	listener_free(t.listener);
	old = t.server_loop;
	t.server_loop = sim_loop_new(t.sim, "stand-in");
	traffic_listen(&t, "127.0.0.1:80");
	assert_true(can_connect(&t, "127.0.0.1:80"));
	loop_free(old);
	traffic_end(&t);
}

static void connections_of_a_crashed_host_end_with_its_loop(void **state UNUSED)
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
	struct traffic t;

	traffic_start(&t, &opts, 100 * 1000);
	sim_run_for(t.sim, 40);
	sim_cut(t.sim, "client", "server");
	sim_run_for(t.sim, 40);
	sim_heal(t.sim, NULL, NULL);
	sim_run_for(t.sim, 400);
	traffic_end(&t);
	return buf_take(&lines);
}

static void equal_seeds_repeat_and_others_differ(void **state UNUSED)
{
	char *first = trace_with_seed(1), *again = trace_with_seed(1), *other = trace_with_seed(2);

	assert_true(strlen(first) > 2 * 1000);
	assert_string_equal(first, again);
	assert_string_not_equal(first, other);
	free(first);
	free(again);
	free(other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(megabytes_cross_and_come_back_through_narrow_pipes),
		cmocka_unit_test(a_lost_connection_loses_bytes_but_never_mixes_them),
		cmocka_unit_test(keep_alive_tells_of_a_lost_connection),
		cmocka_unit_test(both_ends_notice_a_lost_unix_connection),
		cmocka_unit_test(a_unix_listener_may_have_a_real_file),
		cmocka_unit_test(breaking_reaches_each_connection),
		cmocka_unit_test(a_cut_holds_everything_up_and_healing_lets_it_go_on),
		cmocka_unit_test(a_writer_into_a_cut_gives_up_at_last),
		cmocka_unit_test(addresses_are_names),
		cmocka_unit_test(connects_fail_as_often_as_asked_for),
		cmocka_unit_test(the_peers_of_a_crashed_process_see_the_end),
		cmocka_unit_test(a_crashed_machine_is_silent_until_it_is_back),
		cmocka_unit_test(connecting_to_a_dead_machine_is_answered_when_it_is_back),
		cmocka_unit_test(another_host_may_take_over_a_dead_one_s_address),
		cmocka_unit_test(connections_of_a_crashed_host_end_with_its_loop),
		cmocka_unit_test(burying_tells_the_dead_that_their_conns_failed),
		cmocka_unit_test(equal_seeds_repeat_and_others_differ),
	};

	return cmocka_run_group_tests_name("net/sim_conn", tests, NULL, NULL);
}
