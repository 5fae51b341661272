/*
 * The program that runs is this test: it is called as `devplane explain-fit` would be, and does
 * what the name of the pod says.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "net/loop/loop.h"
#include "net/loop/program_host.h"
#include "web/explain/explain.h"

static int play(const char *what)
{
	char text[4096] = "";
	size_t n;
	FILE *f;

	if (strcmp(what, "pod/hang") == 0)
		(void)pause();
	if (strcmp(what, "pod/fail") == 0) {
		(void)fputs("a warning\ndevplane: it is broken\n", stderr);
		return 1;
	}
	if (strcmp(what, "pod/silent") == 0)
		return 1;
	f = fopen("/proc/self/fd/0", "re");
	n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;
	(void)printf("%s %.*s", what, (int)n, text);
	return f ? fclose(f) : 1;
}

struct world {
	struct loop *loop;
	struct arena arena;
	struct ui_sessions *sessions;
	struct ui_passes *passes;
	struct ui_pass *pass;
	struct explain_query query;
	struct explain *x;
	char id[UI_SECRET_SIZE], answer[4096];
	struct error err;
};

static void *copy_name(struct arena *a UNUSED, const void *user)
{
	return (void *)(uintptr_t)user;
}

static struct ui_now now_of(const struct world *w)
{
	const struct clock *c = loop_clock(w->loop);

	return (struct ui_now){ clock_monotonic(c), clock_wall(c) };
}

static int set_up(void **state)
{
	static const struct ui_sessions_ops ops = { .copy = copy_name };
	struct ui_login who = { .name = STR("alice"), .user = "alice" };
	struct world *w = calloc(1, sizeof(*w));
	char secret[UI_SECRET_SIZE];
	struct ui_session *e;

	assert_int_equal(loop_new(&w->loop, NULL), 0);
	arena_init(&w->arena, MIB);
	w->sessions = ui_sessions_new(&ops);
	w->passes = ui_passes_new();
	e = ui_sessions_open(w->sessions, &who, now_of(w), w->id);
	assert_int_equal(
		ui_passes_issue(w->passes, e, 60 * CLOCK_SEC, now_of(w), secret, &w->pass, NULL),
		0);
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

	explain_free(w->x);
	ui_pass_end(w->pass);
	ui_passes_free(w->passes);
	ui_sessions_free(w->sessions);
	loop_timer_init(&last, w->loop, stop_soon);
	loop_timer_start(&last, 0);
	loop_run(w->loop);
	loop_free(w->loop);
	arena_release(&w->arena);
	free(w);
	return 0;
}

static void on_end(void *arg, struct str answer, const struct error *err)
{
	struct world *w = arg;

	w->err = err ? *err : (struct error){ 0 };
	(void)snprintf(w->answer, sizeof(w->answer), "%.*s", STR_ARG(answer));
	loop_stop(w->loop);
}

static void begin(struct world *w, const char *query, int host_fd)
{
	struct explain_opts o = { .loop = w->loop,
				  .arena = &w->arena,
				  .query = &w->query,
				  .pass = w->pass,
				  .host_fd = host_fd,
				  .on_end = on_end,
				  .arg = w };

	assert_int_equal(explain_query_read(str_from(query), &w->query, NULL), 0);
	w->x = explain_new(&o);
}

static void start(struct world *w)
{
	struct explain_server server = { .url = STR("https://h:1"), .token = STR("secret") };
	struct explain_credentials with = { .server = &server };

	assert_int_equal(explain_start(w->x, &with, NULL), 0);
}

static void the_command_gets_the_subject_and_the_token(void **state)
{
	struct world *w = *state;

	begin(w, "namespace=a&pod=p", 0);
	start(w);
	loop_run(w->loop);
	assert_int_equal(w->err.code, ERR_OK);
	assert_memory_equal(w->answer, "pod/p {", 7);
	assert_non_null(strstr(w->answer, "\"server\":\"https://h:1\""));
	assert_non_null(strstr(w->answer, "\"token\":\"secret\""));
}

static void a_failure_is_told_by_the_last_line(void **state)
{
	struct world *w = *state;

	begin(w, "namespace=a&pod=fail", 0);
	start(w);
	loop_run(w->loop);
	assert_int_equal(w->err.code, ERR_UNAVAILABLE);
	assert_string_equal(w->err.msg, "devplane: it is broken");
}

static void a_failure_without_a_word_has_a_message(void **state)
{
	struct world *w = *state;

	begin(w, "namespace=a&pod=silent", 0);
	start(w);
	loop_run(w->loop);
	assert_int_equal(w->err.code, ERR_UNAVAILABLE);
	assert_string_equal(w->err.msg, "the explanation ended without an answer");
}

static void it_ends_with_the_session(void **state)
{
	struct world *w = *state;

	begin(w, "namespace=a&pod=hang", 0);
	start(w);
	assert_true(ui_sessions_close(w->sessions, str_from(w->id)));
	loop_run(w->loop);
	assert_int_equal(w->err.code, ERR_UNAUTHORIZED);
	assert_string_equal(w->err.msg, EXPLAIN_OVER);
}

static void it_ends_with_the_session_before_it_starts(void **state)
{
	struct world *w = *state;

	begin(w, "namespace=a&pod=p", 0);
	assert_true(ui_sessions_close(w->sessions, str_from(w->id)));
	loop_run(w->loop);
	assert_int_equal(w->err.code, ERR_UNAUTHORIZED);
}

/* A host's own way to the command: here the arguments of a request are this test's again. */
static int host_argv(void *arg UNUSED, struct str request, struct arena *a,
		     const char *const **ret_argv, struct error *err)
{
	const char *const *words;
	const char **v = ARENA_ARRAY(a, const char *, 16);
	size_t n = 1;
	int r = explain_host_argv(request, a, &words, err);

	if (r < 0)
		return r;
	v[0] = "/proc/self/exe";
	while (*words)
		v[n++] = *words++;
	*ret_argv = v;
	return 0;
}

static void a_host_can_start_it(void **state)
{
	struct world *w = *state;
	struct program_host_opts opts = { .max = 1, .timeout_ms = 60 * 1000, .argv = host_argv };
	struct program_host *host = program_host_new(w->loop, &opts);
	int fd;

	assert_int_equal(program_host_open(host, &fd, NULL), 0);
	begin(w, "namespace=a&pod=p", fd);
	start(w);
	loop_run(w->loop);
	assert_int_equal(w->err.code, ERR_OK);
	assert_non_null(strstr(w->answer, "\"token\":\"secret\""));
	program_host_free(host);
	assert_int_equal(close(fd), 0);
}

static void a_host_takes_queries_only(void **state UNUSED)
{
	static const char *const requests[] = {
		"", "namespace=a", "explain-fit", "namespace=a&pod=--kubeconfig", "pod=p&x=y",
	};
	CLEANUP(arena_release) struct arena a;
	const char *const *v;

	arena_init(&a, MIB);
	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		assert_int_equal(explain_host_argv(str_from(requests[i]), &a, &v, NULL),
				 -ERR_BAD_REQUEST);
	assert_int_equal(explain_host_argv(STR("namespace=a&pod=p"), &a, &v, NULL), 0);
	assert_string_equal(v[0], "explain-fit");
	assert_string_equal(v[1], "pod/p");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_command_gets_the_subject_and_the_token, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_failure_is_told_by_the_last_line, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_failure_without_a_word_has_a_message, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(it_ends_with_the_session, set_up, tear_down),
		cmocka_unit_test_setup_teardown(it_ends_with_the_session_before_it_starts, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_host_can_start_it, set_up, tear_down),
		cmocka_unit_test(a_host_takes_queries_only),
	};

	if (argc > 2 && strcmp(argv[1], "explain-fit") == 0)
		return play(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
