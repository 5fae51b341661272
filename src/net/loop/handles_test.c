/*
 * Handles of the real loop besides sockets and timers: signals, folders, children, descriptors.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/loop/loop.h"

static struct loop *new_loop(void)
{
	struct loop *l = NULL;

	assert_int_equal(loop_new(&l, NULL), 0);
	return l;
}

/* --- signals, folders, children -------------------------------------------------------------- */

static void stop_on_signal(void *arg, int signum)
{
	assert_int_equal(signum, SIGUSR1);
	loop_stop(arg);
}

static void a_signal_is_delivered(void **state UNUSED)
{
	struct loop *l = new_loop();
	struct loop_signal *s;

	assert_int_equal(loop_signal_new(l, SIGUSR1, stop_on_signal, l, &s, NULL), 0);
	assert_int_equal(raise(SIGUSR1), 0);
	loop_run(l);
	loop_signal_free(s);
	loop_free(l);
}

struct folder {
	struct loop *loop;
	char want[32];
};

static void on_entry(void *arg, struct str name, const struct error *err)
{
	struct folder *f = arg;

	assert_null(err);
	if (str_eqz(name, f->want))
		loop_stop(f->loop);
}

static void a_new_file_in_a_folder_is_noticed(void **state UNUSED)
{
	char path[] = "/tmp/devplane-loop-XXXXXX", file[64];
	struct folder f = { .loop = new_loop(), .want = "plugin.sock" };
	struct loop_watch *w;
	struct error err;

	assert_int_equal(loop_watch_new(f.loop, "/nonexistent", on_entry, &f, &w, &err),
			 -ERR_NOT_FOUND);
	assert_non_null(mkdtemp(path));
	assert_int_equal(loop_watch_new(f.loop, path, on_entry, &f, &w, NULL), 0);
	(void)snprintf(file, sizeof(file), "%s/plugin.sock", path);
	(void)close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	loop_run(f.loop);
	assert_int_equal(unlink(file), 0);
	loop_run(f.loop);
	loop_watch_free(w);
	assert_int_equal(rmdir(path), 0);
	loop_free(f.loop);
}

struct offspring {
	struct loop *loop;
	int status, signal;
};

static void on_exit_of(void *arg, int status, int signal)
{
	struct offspring *o = arg;

	o->status = status;
	o->signal = signal;
	loop_stop(o->loop);
}

static void children_report_how_they_ended(void **state)
{
	static const char *const fails[] = { "sh", "-c", "exit 7", NULL };
	static const char *const sleeps[] = { "sleep", "1000", NULL };
	static const char *const nowhere[] = { "/nonexistent/program", NULL };
	struct offspring o = { .loop = new_loop() };
	struct loop_child_opts opts = {
		.argv = fails, .on_exit = on_exit_of, .arg = &o, .light = *state
	};
	struct loop_child *c;
	struct error err;

	assert_int_equal(loop_child_new(o.loop, &opts, &c, NULL), 0);
	loop_run(o.loop);
	assert_int_equal(o.status, 7);
	assert_int_equal(loop_child_kill(c, SIGTERM, &err), -ERR_NOT_FOUND);
	loop_child_free(c);

	opts.argv = sleeps;
	assert_int_equal(loop_child_new(o.loop, &opts, &c, NULL), 0);
	assert_int_equal(loop_child_kill(c, SIGTERM, NULL), 0);
	loop_run(o.loop);
	assert_int_equal(o.signal, SIGTERM);
	loop_child_free(c);

	opts.argv = nowhere;
	assert_int_equal(loop_child_new(o.loop, &opts, &c, &err), -ERR_NOT_FOUND);
	loop_free(o.loop);
}

/* Its first number; the pipe's other end is the child's. */
static int read_number(int fd)
{
	char text[32] = "";

	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	return (int)strtol(text, NULL, 10);
}

static void a_group_is_signalled_as_a_whole(void **state)
{
	static const char *const parent[] = { "sh", "-c", "sleep 1000 & echo $!; wait", NULL };
	struct offspring o = { .loop = new_loop() };
	struct loop_child_opts opts = {
		.argv = parent, .group = true, .on_exit = on_exit_of, .arg = &o, .light = *state
	};
	struct loop_child *c;
	char rest;
	int fds[2], pid;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	opts.out_fd = fds[1];
	assert_int_equal(loop_child_new(o.loop, &opts, &c, NULL), 0);
	(void)close(fds[1]);
	pid = read_number(fds[0]);
	assert_int_equal(getpgid(pid), loop_child_pid(c));
	assert_int_equal(loop_child_kill(c, SIGKILL, NULL), 0);
	loop_run(o.loop);
	assert_int_equal(o.signal, SIGKILL);
	/* The pipe ends with the last one that has it. */
	assert_int_equal(read(fds[0], &rest, 1), 0);
	loop_child_free(c);
	(void)close(fds[0]);
	loop_free(o.loop);
}

static void on_collected(struct loop_timer *t)
{
	siginfo_t info;

	if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) < 0 && errno == ECHILD)
		loop_stop(t->loop);
	else
		loop_timer_start(t, 1);
}

static void a_child_that_was_forgotten_is_collected(void **state)
{
	static const char *const sleeps[] = { "sleep", "1000", NULL };
	struct offspring o = { .loop = new_loop(), .status = -1 };
	struct loop_child_opts opts = {
		.argv = sleeps, .on_exit = on_exit_of, .arg = &o, .light = *state
	};
	struct loop_timer tick;
	struct loop_child *c;
	int pid;

	assert_int_equal(loop_child_new(o.loop, &opts, &c, NULL), 0);
	pid = loop_child_pid(c);
	loop_child_free(c);
	assert_int_equal(kill(pid, SIGKILL), 0);
	loop_timer_init(&tick, o.loop, on_collected);
	loop_timer_start(&tick, 0);
	loop_run(o.loop);
	assert_int_equal(o.status, -1);

	/* One that outlives the loop is nobody's business here. */
	assert_int_equal(loop_child_new(o.loop, &opts, &c, NULL), 0);
	pid = loop_child_pid(c);
	loop_child_free(c);
	loop_free(o.loop);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_child_reads_what_it_is_given(void **state)
{
	static const char *const reads[] = { "sh", "-c", "read a && exit \"$a\"; exit 99", NULL };
	struct offspring o = { .loop = new_loop() };
	struct loop_child_opts opts = {
		.argv = reads, .on_exit = on_exit_of, .arg = &o, .light = *state
	};
	struct loop_child *c;
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(write(fds[1], "42\n", 3), 3);
	opts.in_fd = fds[0];
	assert_int_equal(loop_child_new(o.loop, &opts, &c, NULL), 0);
	loop_run(o.loop);
	assert_int_equal(o.status, 42);
	loop_child_free(c);
	/* Without it there is nothing to read. */
	opts.in_fd = 0;
	assert_int_equal(loop_child_new(o.loop, &opts, &c, NULL), 0);
	loop_run(o.loop);
	assert_int_equal(o.status, 99);
	loop_child_free(c);
	(void)close(fds[0]);
	(void)close(fds[1]);
	loop_free(o.loop);
}

/* The C library ignores two signals of its own, which are above the first 28. */
static void a_light_child_has_no_signals_of_ours(void **state UNUSED)
{
	static const char *const counts[] = { "grep", "-cE", "^Sig(Blk|Ign):.*0{7}$",
					      "/proc/self/status", NULL };
	struct offspring o = { .loop = new_loop(), .status = -1 };
	struct loop_child_opts opts = {
		.argv = counts, .on_exit = on_exit_of, .arg = &o, .light = true
	};
	struct loop_child *c;
	sigset_t set;
	int fds[2];

	(void)signal(SIGUSR2, SIG_IGN);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGHUP);
	assert_int_equal(sigprocmask(SIG_BLOCK, &set, NULL), 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	opts.out_fd = fds[1];
	assert_int_equal(loop_child_new(o.loop, &opts, &c, NULL), 0);
	loop_run(o.loop);
	assert_int_equal(read_number(fds[0]), 2);
	assert_int_equal(sigprocmask(SIG_UNBLOCK, &set, NULL), 0);
	(void)signal(SIGUSR2, SIG_DFL);
	loop_child_free(c);
	(void)close(fds[0]);
	(void)close(fds[1]);
	loop_free(o.loop);
}

static void a_child_runs_where_and_with_what_it_is_given(void **state)
{
	static const char *const looks[] = { "sh", "-c", "test \"$(pwd)\" = / && test \"$a\" = b",
					     NULL };
	static const char *const env[] = { "a=b", "PATH=/usr/bin:/bin", NULL };
	struct offspring o = { .loop = new_loop(), .status = -1 };
	struct loop_child_opts opts = { .argv = looks,
					.env = env,
					.cwd = "/",
					.on_exit = on_exit_of,
					.arg = &o,
					.light = *state };
	struct loop_child *c;

	assert_int_equal(loop_child_new(o.loop, &opts, &c, NULL), 0);
	loop_run(o.loop);
	assert_int_equal(o.status, 0);
	loop_child_free(c);
	loop_free(o.loop);
}

/* --- descriptors ----------------------------------------------------------------------------- */

struct reader {
	struct loop *loop;
	struct loop_fd *handle;
	int fd, calls, failed;
	size_t stop_at;
	char got[64];
};

/* A byte or a datagram in each turn: what is left calls again. */
static void read_some(void *arg)
{
	struct reader *z = arg;
	ssize_t n = read(z->fd, z->got + z->calls, 1);

	if (n < 0)
		z->failed = errno;
	z->calls += n > 0;
	if (n < 0 || (size_t)z->calls == z->stop_at)
		loop_stop(z->loop);
}

static void a_descriptor_is_told_of_until_all_is_read(void **state UNUSED)
{
	struct reader z = { .loop = new_loop(), .stop_at = 3 };
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	z.fd = fds[0];
	assert_int_equal(loop_fd_new(z.loop, fds[0], read_some, &z, &z.handle, NULL), 0);
	assert_int_equal(write(fds[1], "abc", 3), 3);
	loop_run(z.loop);
	assert_string_equal(z.got, "abc");
	z.stop_at = 4;
	assert_int_equal(write(fds[1], "d", 1), 1);
	loop_run(z.loop);
	assert_string_equal(z.got, "abcd");
	assert_int_equal(z.failed, 0);
	loop_fd_free(z.handle);
	(void)close(fds[0]);
	(void)close(fds[1]);
	loop_free(z.loop);
}

/* On a port of its own choice, or on that which it had before. */
static int bound_socket(struct sockaddr_in *at)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	socklen_t n = sizeof(*at);

	assert_int_equal(bind(fd, (struct sockaddr *)at, n), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)at, &n), 0);
	return fd;
}

static void a_descriptor_with_an_error_is_read_and_goes_on(void **state UNUSED)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in b = a;
	struct reader z = { .loop = new_loop(), .stop_at = 1 };
	int peer;

	z.fd = bound_socket(&a);
	peer = bound_socket(&b);
	(void)close(peer);
	assert_int_equal(connect(z.fd, (struct sockaddr *)&b, sizeof(b)), 0);
	assert_int_equal(loop_fd_new(z.loop, z.fd, read_some, &z, &z.handle, NULL), 0);
	assert_int_equal(write(z.fd, "?", 1), 1);
	loop_run(z.loop);
	assert_int_equal(z.failed, ECONNREFUSED);

	peer = bound_socket(&b);
	assert_int_equal(sendto(peer, "!", 1, 0, (struct sockaddr *)&a, sizeof(a)), 1);
	loop_run(z.loop);
	assert_string_equal(z.got, "!");
	loop_fd_free(z.handle);
	(void)close(peer);
	(void)close(z.fd);
	loop_free(z.loop);
}

static void free_reader(void *arg)
{
	struct reader *z = arg;

	z->calls++;
	loop_fd_free(z->handle);
	(void)close(z->fd);
	loop_stop(z->loop);
}

static void a_descriptor_may_be_freed_when_it_is_told_of(void **state UNUSED)
{
	struct reader z = { .loop = new_loop() };
	struct error err;
	int fds[2], file;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	z.fd = fds[0];
	assert_int_equal(loop_fd_new(z.loop, fds[0], free_reader, &z, &z.handle, NULL), 0);
	(void)close(fds[1]);
	loop_run(z.loop);
	assert_int_equal(z.calls, 1);
	/* A file cannot be waited for. */
	file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_int_equal(loop_fd_new(z.loop, file, free_reader, &z, &z.handle, &err), -ERR_IO);
	(void)close(file);
	loop_fd_free(NULL);
	loop_free(z.loop);
}

int main(void)
{
	static int light; /* the state of tests that are repeated with light children */
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_signal_is_delivered),
		cmocka_unit_test(a_new_file_in_a_folder_is_noticed),
		cmocka_unit_test(children_report_how_they_ended),
		cmocka_unit_test_prestate(children_report_how_they_ended, &light),
		cmocka_unit_test(a_group_is_signalled_as_a_whole),
		cmocka_unit_test_prestate(a_group_is_signalled_as_a_whole, &light),
		cmocka_unit_test(a_child_that_was_forgotten_is_collected),
		cmocka_unit_test_prestate(a_child_that_was_forgotten_is_collected, &light),
		cmocka_unit_test(a_child_reads_what_it_is_given),
		cmocka_unit_test_prestate(a_child_reads_what_it_is_given, &light),
		cmocka_unit_test(a_child_runs_where_and_with_what_it_is_given),
		cmocka_unit_test_prestate(a_child_runs_where_and_with_what_it_is_given, &light),
		cmocka_unit_test(a_light_child_has_no_signals_of_ours),
		cmocka_unit_test(a_descriptor_is_told_of_until_all_is_read),
		cmocka_unit_test(a_descriptor_with_an_error_is_read_and_goes_on),
		cmocka_unit_test(a_descriptor_may_be_freed_when_it_is_told_of),
	};

	return cmocka_run_group_tests_name("net/handles", tests, NULL, NULL);
}
