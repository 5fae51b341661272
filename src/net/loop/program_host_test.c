/*
 * A host and the process that it serves, on one loop: each sees of the other what its socket says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/arena.h"
#include "base/core/limits.h"
#include "net/loop/fd_message.h"
#include "net/loop/loop.h"
#include "net/loop/program.h"
#include "net/loop/program_host.h"

struct world {
	struct loop *loop;
	struct program_host *host;
	int fd;
	struct program *running[3];
	size_t ended;
	/* How the last program ended: */
	int status, signum;
	bool timed_out;
	char out[256], err[256];
};

/* Requests are shell commands here, and "no" is refused. */
static int shell(void *arg UNUSED, struct str request, struct arena *a,
		 const char *const **ret_argv, struct error *err)
{
	const char **v = ARENA_ARRAY(a, const char *, 4);

	if (str_eqz(request, "no"))
		return error_set(err, ERR_FORBIDDEN, "that is not run here");
	v[0] = "/bin/sh";
	v[1] = "-c";
	v[2] = arena_strdup(a, request);
	v[3] = NULL;
	*ret_argv = v;
	return 0;
}

static int set_up(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct program_host_opts opts = { .max = 2, .timeout_ms = 60 * 1000, .argv = shell };

	assert_int_equal(loop_new(&w->loop, NULL), 0);
	w->host = program_host_new(w->loop, &opts);
	assert_int_equal(program_host_open(w->host, &w->fd, NULL), 0);
	*state = w;
	return 0;
}

static void stop_soon(struct loop_timer *t)
{
	loop_stop(t->loop);
}

static int tear_down(void **state)
{
	struct world *w = *state;
	struct loop_timer last;

	for (size_t i = 0; i < ARRAY_SIZE(w->running); i++)
		program_free(w->running[i]);
	program_host_free(w->host);
	(void)close(w->fd);
	loop_timer_init(&last, w->loop, stop_soon);
	loop_timer_start(&last, 0);
	loop_run(w->loop);
	loop_free(w->loop);
	free(w);
	return 0;
}

static void on_end(void *arg, const struct program_end *end)
{
	struct world *w = arg;

	w->ended++;
	w->status = end->status;
	w->signum = end->signum;
	w->timed_out = end->timed_out;
	(void)snprintf(w->out, sizeof(w->out), "%.*s", STR_ARG(end->out));
	(void)snprintf(w->err, sizeof(w->err), "%.*s", STR_ARG(end->err));
	loop_stop(w->loop);
}

static int begin(struct world *w, size_t i, struct str request, struct program_opts o)
{
	o.host_fd = w->fd;
	o.request = request;
	o.output_max = 4 * KIB;
	o.on_end = on_end;
	o.arg = w;
	return program_new(w->loop, &o, &w->running[i], NULL);
}

static void run(struct world *w, struct str request)
{
	assert_int_equal(begin(w, 0, request, (struct program_opts){ .argv = NULL }), 0);
	loop_run(w->loop);
	program_free(TAKE(w->running[0]));
}

/* Waits until the file has the text. */
static bool has_text(const char *path)
{
	char text[32] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;

	if (fd >= 0)
		(void)close(fd);
	return n > 0 && text[n - 1] == '\n';
}

struct poll {
	struct loop_timer timer;
	const char *path; /* until it has text */
	pid_t pid; /* or until that process is gone */
	bool done;
};

static void on_poll(struct loop_timer *t)
{
	struct poll *p = CONTAINER_OF(t, struct poll, timer);

	p->done = p->path ? has_text(p->path) : kill(p->pid, 0) < 0 && errno == ESRCH;
	if (p->done)
		loop_stop(t->loop);
	else
		loop_timer_start(t, 1);
}

static void run_until(struct world *w, struct poll p)
{
	loop_timer_init(&p.timer, w->loop, on_poll);
	loop_timer_start(&p.timer, 0);
	while (!p.done)
		loop_run(w->loop);
}

/* --- the tests ---------------------------------------------------------------------------- */

static void output_and_status_come_as_from_a_child(void **state)
{
	struct world *w = *state;
	int in[2];

	run(w, STR("echo out; echo err >&2; exit 3"));
	assert_int_equal(w->status, 3);
	assert_int_equal(w->signum, 0);
	assert_string_equal(w->out, "out\n");
	assert_string_equal(w->err, "err\n");
	run(w, STR("cat; kill -TERM $$"));
	assert_int_equal(w->signum, SIGTERM);
	assert_string_equal(w->out, "");
	assert_int_equal(pipe2(in, O_CLOEXEC), 0);
	assert_int_equal(write(in[1], "typed", 5), 5);
	assert_int_equal(close(in[1]), 0);
	assert_int_equal(begin(w, 0, STR("cat"), (struct program_opts){ .in_fd = in[0] }), 0);
	assert_int_equal(close(in[0]), 0);
	loop_run(w->loop);
	assert_string_equal(w->out, "typed");
}

static void a_refusal_says_why(void **state)
{
	struct world *w = *state;

	run(w, STR("no"));
	assert_int_not_equal(w->status, 0);
	assert_string_equal(w->err, "that is not run here");
}

static void more_than_the_limit_are_refused(void **state)
{
	struct world *w = *state;

	for (size_t i = 0; i < 2; i++)
		assert_int_equal(
			begin(w, i, STR("exec sleep 600"), (struct program_opts){ .argv = NULL }),
			0);
	assert_int_equal(begin(w, 2, STR("true"), (struct program_opts){ .argv = NULL }), 0);
	loop_run(w->loop);
	assert_string_equal(w->err, "too many programs run");
	assert_int_equal(w->ended, 1);
	program_free(TAKE(w->running[2]));
	program_free(TAKE(w->running[0]));
	/* The host learns in a later turn that one is no longer wanted. */
	do
		run(w, STR("echo again"));
	while (w->status != 0);
	assert_string_equal(w->out, "again\n");
}

/* Starts a program that writes its PID into the file, and returns it. */
static pid_t start_sleeper(struct world *w, struct program_opts o)
{
	char path[] = "/tmp/devplane-host-XXXXXX", request[128];
	int fd = mkstemp(path);
	FILE *f;
	int pid = 0;

	assert_true(fd >= 0);
	(void)snprintf(request, sizeof(request), "echo $$ >%s; exec sleep 600", path);
	assert_int_equal(begin(w, 0, str_from(request), o), 0);
	run_until(w, (struct poll){ .path = path });
	f = fdopen(fd, "r");
	assert_int_equal(fscanf(f, "%d", &pid), 1);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(unlink(path), 0);
	return pid;
}

static void a_program_ends_when_nobody_wants_it(void **state)
{
	struct world *w = *state;
	pid_t pid = start_sleeper(w, (struct program_opts){ .argv = NULL });

	program_free(TAKE(w->running[0]));
	run_until(w, (struct poll){ .pid = pid });
	assert_int_equal(w->ended, 0);
}

static void a_new_socket_ends_the_programs_of_the_previous_one(void **state)
{
	struct world *w = *state;
	pid_t pid = start_sleeper(w, (struct program_opts){ .argv = NULL });
	int old = w->fd;

	assert_int_equal(program_host_open(w->host, &w->fd, NULL), 0);
	run_until(w, (struct poll){ .pid = pid });
	assert_int_equal(close(old), 0);
	assert_int_equal(begin(w, 1, STR("echo new"), (struct program_opts){ .argv = NULL }), 0);
	while (strcmp(w->out, "new\n") != 0)
		loop_run(w->loop);
}

static void a_timeout_ends_it(void **state)
{
	struct world *w = *state;

	assert_int_equal(
		begin(w, 0, STR("exec sleep 600"), (struct program_opts){ .timeout_ms = 1 }), 0);
	loop_run(w->loop);
	assert_true(w->timed_out);
	assert_int_equal(w->signum, SIGKILL);
}

static void a_host_that_is_gone_is_an_error(void **state)
{
	struct world *w = *state;

	assert_int_equal(begin(w, 0, STR("exec sleep 600"), (struct program_opts){ .argv = NULL }),
			 0);
	program_host_free(TAKE(w->host));
	loop_run(w->loop);
	assert_int_equal(w->signum, SIGKILL);
	assert_int_equal(begin(w, 1, STR("true"), (struct program_opts){ .argv = NULL }),
			 -ERR_UNAVAILABLE);
}

/* A process that was taken over might send these. */
static void messages_of_another_form_start_nothing(void **state)
{
	struct world *w = *state;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), pair[2], life[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(fd_message_pair(life, NULL), 0);
	const int sets[][4] = { { null, null, null, null }, { null, null, null, pair[0] } };

	for (size_t i = 0; i < ARRAY_SIZE(sets); i++)
		assert_int_equal(fd_message_send(w->fd, STR("exit 1"), sets[i], 4, NULL), 0);
	for (size_t n = 0; n < 4; n++)
		assert_int_equal(fd_message_send(w->fd, STR("exit 1"), sets[0], n, NULL), 0);
	/* Data on the socket for the report ends its program. */
	assert_int_equal(fd_message_send(w->fd, STR("exec sleep 600"),
					 (int[]){ null, null, null, life[1] }, 4, NULL),
			 0);
	assert_int_equal(close(life[1]), 0);
	assert_int_equal(fd_message_send(life[0], STR("x"), NULL, 0, NULL), 0);
	run(w, STR("echo fine"));
	assert_string_equal(w->out, "fine\n");
	assert_int_equal(close(life[0]), 0);
	fd_message_close(pair, 2);
	assert_int_equal(close(null), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(output_and_status_come_as_from_a_child, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_refusal_says_why, set_up, tear_down),
		cmocka_unit_test_setup_teardown(more_than_the_limit_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_program_ends_when_nobody_wants_it, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_new_socket_ends_the_programs_of_the_previous_one,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_timeout_ends_it, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_host_that_is_gone_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(messages_of_another_form_start_nothing, set_up,
						tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
