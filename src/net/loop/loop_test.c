/*
 * The real loop: timers, messages between threads, deferred work, sockets. Times are the kernel's,
 * so nothing here asserts how long a thing takes, only that it happens and in which order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/mem.h"
#include "net/loop/addr.h"
#include "net/loop/conn.h"
#include "net/loop/listener.h"
#include "net/loop/loop.h"
#include "net/loop/loop_uv.h"

static struct loop *new_loop(void)
{
	struct loop *l = NULL;

	assert_int_equal(loop_new(&l, NULL), 0);
	return l;
}

/* --- timers ----------------------------------------------------------------------------- */

struct order {
	struct loop *loop;
	int n;
	int seen[64];
	int stop_at;
};

struct numbered {
	struct loop_timer timer;
	struct order *order;
	int number;
};

static void on_numbered(struct loop_timer *t)
{
	struct numbered *z = CONTAINER_OF(t, struct numbered, timer);

	z->order->seen[z->order->n++] = z->number;
	if (z->order->n == z->order->stop_at)
		loop_stop(z->order->loop);
}

static void timers_fire_in_order_of_their_time(void **state UNUSED)
{
	struct order o = { .loop = new_loop(), .stop_at = 20 };
	struct numbered t[20];

	for (int i = 0; i < 20; i++) {
		t[i] = (struct numbered){ .order = &o, .number = (i * 7) % 20 };
		loop_timer_init(&t[i].timer, o.loop, on_numbered);
		loop_timer_start(&t[i].timer, t[i].number * 2);
	}
	loop_run(o.loop);
	for (int i = 0; i < 20; i++)
		assert_int_equal(o.seen[i], i);
	loop_free(o.loop);
}

static void a_timer_moved_later_fires_later_and_once(void **state UNUSED)
{
	struct order o = { .loop = new_loop(), .stop_at = 3 };
	struct numbered a = { .order = &o, .number = 1 }, b = { .order = &o, .number = 2 };
	struct numbered c = { .order = &o, .number = 3 }, d = { .order = &o, .number = 4 };

	loop_timer_init(&a.timer, o.loop, on_numbered);
	loop_timer_init(&b.timer, o.loop, on_numbered);
	loop_timer_init(&c.timer, o.loop, on_numbered);
	loop_timer_init(&d.timer, o.loop, on_numbered);
	loop_timer_start(&a.timer, 1);
	loop_timer_start(&b.timer, 10);
	loop_timer_start(&c.timer, 20);
	loop_timer_start(&d.timer, 5);
	loop_timer_start(&a.timer, 15); /* later: stays in its place in the heap */
	loop_timer_start(&c.timer, 2); /* earlier */
	loop_timer_stop(&d.timer);
	assert_false(loop_timer_running(&d.timer));
	loop_run(o.loop);
	assert_int_equal(o.seen[0], 3);
	assert_int_equal(o.seen[1], 2);
	assert_int_equal(o.seen[2], 1);
	loop_free(o.loop);
}

/* --- messages -------------------------------------------------------------------------- */

enum { POSTERS = 4, POSTS = 20000 };

struct letter {
	struct loop_msg msg;
	struct mailbox *box;
	int poster, number;
};

struct mailbox {
	struct loop *loop;
	int next[POSTERS];
	int total;
	struct letter *letters[POSTERS];
};

static void on_letter(struct loop_msg *m)
{
	struct letter *z = CONTAINER_OF(m, struct letter, msg);
	struct mailbox *box = z->box;

	assert_int_equal(z->number, box->next[z->poster]++);
	if (++box->total == POSTERS * POSTS)
		loop_stop(box->loop);
}

static void *post_all(void *arg)
{
	struct letter *letters = arg;

	for (int i = 0; i < POSTS; i++)
		loop_post(letters[i].box->loop, &letters[i].msg);
	return NULL;
}

static void messages_of_each_thread_arrive_once_and_in_order(void **state UNUSED)
{
	struct mailbox box = { .loop = new_loop() };
	pthread_t threads[POSTERS];

	for (int p = 0; p < POSTERS; p++) {
		box.letters[p] = xcalloc(POSTS, sizeof(struct letter));
		for (int i = 0; i < POSTS; i++)
			box.letters[p][i] = (struct letter){ { .fn = on_letter }, &box, p, i };
		assert_int_equal(pthread_create(&threads[p], NULL, post_all, box.letters[p]), 0);
	}
	loop_run(box.loop);
	for (int p = 0; p < POSTERS; p++) {
		(void)pthread_join(threads[p], NULL);
		free(box.letters[p]);
	}
	assert_int_equal(box.total, POSTERS * POSTS);
	loop_free(box.loop);
}

/* --- deferred work ------------------------------------------------------------------------ */

struct again {
	struct loop_task task;
	struct loop *loop;
	int left;
};

static void on_again(struct loop_task *t)
{
	struct again *a = CONTAINER_OF(t, struct again, task);

	if (--a->left == 0)
		loop_stop(a->loop);
	else
		loop_defer(a->loop, t);
}

static void a_task_that_defers_itself_runs_every_turn_without_waiting(void **state UNUSED)
{
	struct again a = { .loop = new_loop(), .left = 1000 };

	loop_task_init(&a.task, on_again);
	loop_defer(a.loop, &a.task);
	loop_defer(a.loop, &a.task); /* twice is once */
	loop_run(a.loop);
	assert_int_equal(a.left, 0);
	loop_free(a.loop);
}

/* Tasks that write down theirs, and defer themselves in their way while turns are left. */
struct notes {
	struct loop *loop;
	char text[64];
	size_t n;
	int turns;
};

struct note {
	struct loop_task task;
	struct notes *all;
	void (*defer)(struct loop *l, struct loop_task *t);
	char c;
};

static void on_note(struct loop_task *t)
{
	struct note *note = CONTAINER_OF(t, struct note, task);
	struct notes *all = note->all;

	if (all->turns == 0)
		return;
	all->text[all->n++] = note->c;
	if (note->c == 's' && --all->turns == 0)
		loop_stop(all->loop);
	else
		note->defer(all->loop, t);
}

/* Small tasks run before and after the wait; once per turn those deferred last, and a large one. */
static void large_work_comes_last_one_per_turn(void **state UNUSED)
{
	struct notes all = { .loop = new_loop(), .turns = 6 };
	struct note notes[] = {
		{ .defer = loop_defer_large, .c = 'A' }, { .defer = loop_defer_last, .c = 'l' },
		{ .defer = loop_defer_large, .c = 'B' }, { .defer = loop_defer, .c = 's' },
		{ .defer = loop_defer_large, .c = 'C' },
	};

	for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
		notes[i].all = &all;
		loop_task_init(&notes[i].task, on_note);
		notes[i].defer(all.loop, &notes[i].task);
	}
	assert_true(loop_has_deferred(all.loop));
	loop_run(all.loop);
	assert_string_equal(all.text, "sAlssBlssCls");
	for (size_t i = 0; i < ARRAY_SIZE(notes); i++)
		loop_task_cancel(&notes[i].task);
	loop_free(all.loop);
}

/* A connection that notes what it gets and defers, as itself, what it asks for. */
struct asker {
	struct notes *all;
	struct conn *conn;
	struct loop_task soon, last;
	char c;
};

static void on_soon(struct loop_task *t)
{
	const struct asker *a = CONTAINER_OF(t, struct asker, soon);

	a->all->text[a->all->n++] = (char)(a->c + 1);
}

static void on_last(struct loop_task *t)
{
	const struct asker *a = CONTAINER_OF(t, struct asker, last);

	a->all->text[a->all->n++] = '.';
	if (--a->all->turns == 0)
		loop_stop(a->all->loop);
}

static void on_asked(void *arg, char *data UNUSED, size_t n UNUSED)
{
	struct asker *a = arg;

	a->all->text[a->all->n++] = a->c;
	loop_defer_last(a->all->loop, &a->last);
	loop_defer(a->all->loop, &a->soon);
}

static void a_deferred_task_runs_before_the_next_read(void **state UNUSED)
{
	static const struct conn_events events = { .on_data = on_asked };
	const struct addr nobody = { 0 };
	struct notes all = { .loop = new_loop(), .turns = 2 };
	struct asker askers[] = { { .c = '1' }, { .c = '5' } };
	int peers[2];

	for (size_t i = 0; i < ARRAY_SIZE(askers); i++) {
		struct asker *a = &askers[i];
		int fds[2];

		assert_int_equal(
			socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
		a->all = &all;
		loop_task_init(&a->soon, on_soon);
		loop_task_init(&a->last, on_last);
		a->conn = conn_uv_new(all.loop, fds[0], &nobody);
		conn_set_events(a->conn, &events, a);
		peers[i] = fds[1];
		assert_int_equal(write(peers[i], "?", 1), 1);
	}
	loop_run(all.loop);
	if (all.text[0] == '1')
		assert_string_equal(all.text, "1256..");
	else
		assert_string_equal(all.text, "5612..");
	for (size_t i = 0; i < ARRAY_SIZE(askers); i++) {
		conn_free(askers[i].conn);
		(void)close(peers[i]);
	}
	loop_free(all.loop);
}

/* --- sockets ------------------------------------------------------------------------------ */

enum { TRAFFIC = 4 * 1024 * 1024 };

/* The server echoes; the client sends a pattern and compares. */
struct traffic {
	struct loop *loop;
	struct listener *listener;
	struct conn *client, *server;
	size_t sent, echoed, received;
	char *pending; /* what the server must still write */
	size_t npending;
	bool eof, failed;
	struct error err;
};

static char pattern(size_t i)
{
	return (char)(i * 31 + i / 251);
}

static void server_flush(struct traffic *t)
{
	struct iovec iov = { t->pending, t->npending };
	ssize_t n = t->npending ? conn_writev(t->server, &iov, 1, NULL) : 0;

	assert_true(n >= 0);
	t->npending -= (size_t)n;
	memmove(t->pending, t->pending + n, t->npending);
	if (t->npending)
		conn_pause(t->server);
	else
		conn_resume(t->server);
}

static void server_data(void *arg, char *data, size_t n)
{
	struct traffic *t = arg;

	t->pending = xrealloc(t->pending, t->npending + n);
	memcpy(t->pending + t->npending, data, n);
	t->npending += n;
	server_flush(t);
}

static void server_writable(void *arg)
{
	server_flush(arg);
}

static void server_eof(void *arg)
{
	struct traffic *t = arg;

	conn_free(t->server);
	t->server = NULL;
}

static void traffic_error(void *arg, const struct error *err)
{
	struct traffic *t = arg;

	t->failed = true;
	t->err = *err;
	loop_stop(t->loop);
}

static const struct conn_events server_side = {
	.on_data = server_data,
	.on_eof = server_eof,
	.on_writable = server_writable,
	.on_error = traffic_error,
};

static void on_accept(void *arg, struct conn *c, size_t lane)
{
	struct traffic *t = arg;

	assert_int_equal(lane, 0);
	t->server = c;
	conn_set_events(c, &server_side, t);
}

static void client_send(void *arg)
{
	struct traffic *t = arg;
	char block[10000];
	struct iovec iov[2];
	ssize_t n;

	while (t->sent < TRAFFIC) {
		size_t want = MIN(sizeof(block), TRAFFIC - t->sent);

		for (size_t i = 0; i < want; i++)
			block[i] = pattern(t->sent + i);
		iov[0] = (struct iovec){ block, want / 3 };
		iov[1] = (struct iovec){ block + want / 3, want - want / 3 };
		n = conn_writev(t->client, iov, 2, NULL);
		assert_true(n >= 0);
		t->sent += (size_t)n;
		if ((size_t)n < want)
			return;
	}
}

static void client_data(void *arg, char *data, size_t n)
{
	struct traffic *t = arg;

	for (size_t i = 0; i < n; i++)
		if (data[i] != pattern(t->received + i))
			fail_msg("byte %zu differs", t->received + i);
	t->received += n;
	if (t->received == TRAFFIC)
		conn_shutdown(t->client);
}

static void client_eof(void *arg)
{
	struct traffic *t = arg;

	t->eof = true;
	loop_stop(t->loop);
}

static const struct conn_events client_side = {
	.on_open = client_send,
	.on_data = client_data,
	.on_eof = client_eof,
	.on_writable = client_send,
	.on_error = traffic_error,
};

static void run_traffic(const char *where)
{
	struct traffic t = { .loop = new_loop() };
	struct listener_opts opts = { .on_accept = on_accept, .arg = &t };
	struct addr at;

	assert_int_equal(addr_parse(&at, str_from(where), 0, NULL), 0);
	assert_int_equal(listener_open(t.loop, &at, &opts, &t.listener, NULL), 0);
	assert_int_equal(
		conn_connect(t.loop, listener_addr(t.listener), &client_side, &t, &t.client, NULL),
		0);
	loop_run(t.loop);
	assert_false(t.failed);
	assert_true(t.eof);
	assert_int_equal(t.received, TRAFFIC);
	conn_free(t.client);
	conn_free(t.server);
	listener_free(t.listener);
	free(t.pending);
	loop_free(t.loop);
}

static void bytes_cross_tcp_and_come_back(void **state UNUSED)
{
	run_traffic("127.0.0.1:0");
}

static void bytes_cross_a_unix_socket_and_come_back(void **state UNUSED)
{
	char path[] = "/tmp/devplane-loop-XXXXXX", where[64];

	assert_non_null(mkdtemp(path));
	(void)snprintf(where, sizeof(where), "unix:%s/s", path);
	run_traffic(where);
	assert_int_equal(rmdir(path), 0); /* the socket file is gone */
}

static void a_name_is_resolved(void **state UNUSED)
{
	struct traffic t = { .loop = new_loop() };
	struct listener_opts opts = { .on_accept = on_accept, .arg = &t };
	struct addr at, to;
	char text[64];

	assert_int_equal(addr_parse(&at, STR("127.0.0.1:0"), 0, NULL), 0);
	assert_int_equal(listener_open(t.loop, &at, &opts, &t.listener, NULL), 0);
	(void)snprintf(text, sizeof(text), "localhost:%u", listener_addr(t.listener)->port);
	assert_int_equal(addr_parse(&to, str_from(text), 0, NULL), 0);
	assert_int_equal(to.kind, ADDR_NAME);
	assert_int_equal(conn_connect(t.loop, &to, &client_side, &t, &t.client, NULL), 0);
	loop_run(t.loop);
	assert_false(t.failed);
	assert_int_equal(t.received, TRAFFIC);
	conn_free(t.client);
	conn_free(t.server);
	listener_free(t.listener);
	free(t.pending);
	loop_free(t.loop);
}

static void a_proxy_reaches_only_global_addresses(void **state UNUSED)
{
	/* The C library takes all of these for an address of this machine. */
	static const char *const hosts[] = { "localhost",         "127.0.0.1",  "[::1]",
					     "127.0.0.0x1",       "0x7f000001", "127.0x1",
					     "[::ffff:127.0.0.1]" };
	struct traffic t = { .loop = new_loop() };
	struct listener_opts opts = { .on_accept = on_accept, .arg = &t };
	struct addr at, to;
	char text[64];

	assert_int_equal(addr_parse(&at, STR("127.0.0.1:0"), 0, NULL), 0);
	assert_int_equal(listener_open(t.loop, &at, &opts, &t.listener, NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++) {
		(void)snprintf(text, sizeof(text), "%s:%u", hosts[i],
			       listener_addr(t.listener)->port);
		assert_int_equal(addr_parse(&to, str_from(text), 0, NULL), 0);
		to.rule = &addr_rule_global;
		t.failed = false;
		assert_int_equal(conn_connect(t.loop, &to, &client_side, &t, &t.client, NULL), 0);
		loop_run(t.loop);
		assert_true(t.failed);
		assert_int_equal(t.err.code, ERR_FORBIDDEN);
		conn_free(t.client);
	}
	assert_null(t.server);
	listener_free(t.listener);
	loop_free(t.loop);
}

static void connecting_to_nobody_is_an_error_that_names_the_address(void **state UNUSED)
{
	struct traffic t = { .loop = new_loop() };
	struct addr to;

	assert_int_equal(addr_parse(&to, STR("unix:/nonexistent/socket"), 0, NULL), 0);
	assert_int_equal(conn_connect(t.loop, &to, &client_side, &t, &t.client, NULL), 0);
	loop_run(t.loop);
	assert_true(t.failed);
	assert_int_equal(t.err.code, ERR_UNAVAILABLE);
	assert_non_null(strstr(t.err.msg, "/nonexistent/socket"));
	conn_free(t.client);
	loop_free(t.loop);
}

static void a_refused_connection_says_so(void **state UNUSED)
{
	struct traffic t = { .loop = new_loop() };
	struct listener_opts opts = { .on_accept = on_accept, .arg = &t };
	struct addr at;

	/* A port that was just free. */
	assert_int_equal(addr_parse(&at, STR("127.0.0.1:0"), 0, NULL), 0);
	assert_int_equal(listener_open(t.loop, &at, &opts, &t.listener, NULL), 0);
	at = *listener_addr(t.listener);
	listener_free(t.listener);
	assert_int_equal(conn_connect(t.loop, &at, &client_side, &t, &t.client, NULL), 0);
	loop_run(t.loop);
	assert_true(t.failed);
	assert_int_equal(t.err.sys_errno, ECONNREFUSED);
	conn_free(t.client);
	loop_free(t.loop);
}

static void a_conn_may_be_freed_while_it_connects(void **state UNUSED)
{
	struct traffic t = { .loop = new_loop() };
	struct addr to;

	for (int i = 0; i < 3; i++) {
		static const char *const where[] = { "127.0.0.1:9", "localhost:9",
						     "unix:/nowhere" };

		assert_int_equal(addr_parse(&to, str_from(where[i]), 0, NULL), 0);
		assert_int_equal(conn_connect(t.loop, &to, &client_side, &t, &t.client, NULL), 0);
		conn_free(t.client);
	}
	loop_free(t.loop);
	assert_false(t.failed);
}

static void a_socket_in_use_is_refused_and_a_stale_one_replaced(void **state UNUSED)
{
	char path[] = "/tmp/devplane-loop-XXXXXX", where[64];
	struct listener_opts opts = { .on_accept = on_accept };
	struct listener *first = NULL, *second = NULL;
	struct loop *l = new_loop();
	struct stat st;
	struct error err;
	struct addr at;
	int fd;

	assert_non_null(mkdtemp(path));
	(void)snprintf(where, sizeof(where), "unix:%s/s", path);
	assert_int_equal(addr_parse(&at, str_from(where), 0, NULL), 0);
	/* A socket file without a process, as kill -9 leaves it. */
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at.sa, at.len), 0);
	(void)close(fd);
	assert_int_equal(listener_open(l, &at, &opts, &first, &err), 0);
	assert_int_equal(stat(at.host, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(listener_open(l, &at, &opts, &second, &err), -ERR_ALREADY_EXISTS);
	listener_free(first);
	assert_int_equal(rmdir(path), 0);
	loop_free(l);
}

/* --- running out of descriptors -------------------------------------------------------------- */

struct crowd {
	struct loop *loop;
	struct loop_timer lift;
	struct conn *servers[16];
	int accepted;
	struct rlimit old;
	bool lifted;
};

static void crowd_data(void *arg UNUSED, char *data UNUSED, size_t n UNUSED)
{
}

static void crowd_nothing(void *arg UNUSED)
{
}

static void crowd_error(void *arg UNUSED, const struct error *err)
{
	fail_msg("%s", err->msg);
}

static const struct conn_events crowd_side = {
	.on_data = crowd_data,
	.on_eof = crowd_nothing,
	.on_writable = crowd_nothing,
	.on_error = crowd_error,
};

static void crowd_accept(void *arg, struct conn *c, size_t lane UNUSED)
{
	struct crowd *w = arg;

	conn_set_events(c, &crowd_side, w);
	w->servers[w->accepted++] = c;
	if (w->accepted == 16)
		loop_stop(w->loop);
}

/* After a while without descriptors there are some again. */
static void lift_limit(struct loop_timer *t)
{
	struct crowd *w = CONTAINER_OF(t, struct crowd, lift);

	assert_true(w->accepted < 16);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &w->old), 0);
	w->lifted = true;
}

static void running_out_of_descriptors_delays_accepting(void **state UNUSED)
{
	struct crowd w = { .loop = new_loop() };
	struct listener_opts opts = { .on_accept = crowd_accept, .arg = &w };
	struct listener *ln;
	struct rlimit low;
	struct addr at;
	int fds[16], probe;

	assert_int_equal(addr_parse(&at, STR("127.0.0.1:0"), 0, NULL), 0);
	assert_int_equal(listener_open(w.loop, &at, &opts, &ln, NULL), 0);
	at = *listener_addr(ln);
	for (int i = 0; i < 16; i++) {
		fds[i] = socket(AF_INET, SOCK_STREAM, 0);
		assert_int_equal(connect(fds[i], (struct sockaddr *)&at.sa, at.len), 0);
	}
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &w.old), 0);
	probe = dup(0);
	low = w.old;
	low.rlim_cur = (rlim_t)probe + 5;
	(void)close(probe);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	loop_timer_init(&w.lift, w.loop, lift_limit);
	loop_timer_start(&w.lift, 120);
	loop_run(w.loop);
	assert_true(w.lifted);
	assert_int_equal(w.accepted, 16);
	for (int i = 0; i < 16; i++) {
		conn_free(w.servers[i]);
		(void)close(fds[i]);
	}
	listener_free(ln);
	loop_free(w.loop);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timers_fire_in_order_of_their_time),
		cmocka_unit_test(a_timer_moved_later_fires_later_and_once),
		cmocka_unit_test(messages_of_each_thread_arrive_once_and_in_order),
		cmocka_unit_test(a_task_that_defers_itself_runs_every_turn_without_waiting),
		cmocka_unit_test(large_work_comes_last_one_per_turn),
		cmocka_unit_test(a_deferred_task_runs_before_the_next_read),
		cmocka_unit_test(bytes_cross_tcp_and_come_back),
		cmocka_unit_test(bytes_cross_a_unix_socket_and_come_back),
		cmocka_unit_test(a_name_is_resolved),
		cmocka_unit_test(a_proxy_reaches_only_global_addresses),
		cmocka_unit_test(connecting_to_nobody_is_an_error_that_names_the_address),
		cmocka_unit_test(a_refused_connection_says_so),
		cmocka_unit_test(a_conn_may_be_freed_while_it_connects),
		cmocka_unit_test(a_socket_in_use_is_refused_and_a_stale_one_replaced),
		cmocka_unit_test(running_out_of_descriptors_delays_accepting),
	};

	return cmocka_run_group_tests_name("net/loop", tests, NULL, NULL);
}
