/*
 * The displayed line is the line that runs: sh gets it unchanged, after a preamble that changes to
 * the folder and defines `devplane`. Each child has its own process group, so that Ctrl-C reaches
 * only us and we decide what ends when.
 */
#include "cli/demo/shell.h"

#include <signal.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "cli/output/shell_word.h"
#include "net/loop/loop.h"
#include "net/loop/program.h"

struct demo_shell {
	struct loop *loop;
	const char *dir;
	struct loop_signal *signals[2];
	struct program *background;
	bool interrupted;
};

/* One running command. */
struct errand {
	struct demo_shell *shell;
	struct buf *out;
	int status;
	bool done, timed_out;
};

/* `exec`: the program replaces the shell, because it is the process to be ended. */
static void make_script(const struct demo_shell *s, const char *command, bool exec, struct buf *out)
{
	char self[4 * KIB];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	self[n > 0 ? n : 0] = 0;
	(void)buf_addz(out, "cd ");
	shell_word_quote(out, s->dir);
	(void)buf_addz(out, " || exit\nexport KUBECONFIG=\"$PWD/admin.kubeconfig\"\ndevplane() { ");
	(void)buf_addz(out, exec ? "exec " : "");
	shell_word_quote(out, self);
	(void)buf_printf(out, " \"$@\"; }\nexec 2>&1\n%s\n", command);
}

/* --- interrupts ------------------------------------------------------------------------------ */

static void shell_on_signal(void *arg, int signum UNUSED)
{
	struct demo_shell *s = arg;

	s->interrupted = true;
	loop_stop(s->loop);
}

static int fail_interrupted(struct error *err)
{
	return error_set(err, ERR_CANCELED, "interrupted");
}

void demo_shell_calm(struct demo_shell *s)
{
	s->interrupted = false;
}

/* --- commands -------------------------------------------------------------------------------- */

static void shell_on_end(void *arg, const struct program_end *end)
{
	struct errand *e = arg;

	(void)buf_add_str(e->out, end->out);
	e->status = end->signum ? 128 + end->signum : end->status;
	e->timed_out = end->timed_out;
	e->done = true;
	loop_stop(e->shell->loop);
}

static void on_background_end(void *arg UNUSED, const struct program_end *end UNUSED)
{
	/* The caller notices what it left undone. */
}

static int shell_begin(struct demo_shell *s, const char *command, const struct program_opts *how,
		       struct program **ret_program, struct error *err)
{
	CLEANUP(buf_release) struct buf script = BUF_INIT(64 * KIB);
	const char *argv[] = { "/bin/sh", "-c", NULL, NULL };
	struct program_opts opts = *how;

	make_script(s, command, opts.on_end == on_background_end, &script);
	argv[2] = script.p;
	opts.argv = argv;
	opts.output_max = DEMO_OUTPUT_MAX;
	return program_new(s->loop, &opts, ret_program, err);
}

int demo_shell_run(struct demo_shell *s, const char *command, struct buf *out, int *ret_status,
		   struct error *err)
{
	struct errand e = { .shell = s, .out = out };
	struct program_opts opts = { .timeout_ms = DEMO_COMMAND_MS,
				     .on_end = shell_on_end,
				     .arg = &e };
	struct program *program = NULL;
	int r = shell_begin(s, command, &opts, &program, err);

	if (r < 0)
		return r;
	while (!e.done && !s->interrupted)
		loop_run(s->loop);
	program_free(program);
	if (!e.done)
		return fail_interrupted(err);
	if (e.timed_out)
		return error_set(err, ERR_TIMEOUT, "`%s` has not ended after %d s", command,
				 DEMO_COMMAND_MS / 1000);
	*ret_status = e.status;
	return 0;
}

int demo_shell_start(struct demo_shell *s, const char *command, struct error *err)
{
	CLEANUP(buf_release) struct buf line = BUF_INIT(4 * KIB);
	struct program_opts opts = { .on_end = on_background_end };
	struct str text = str_from(command);

	/* We run it in the background ourselves. */
	if (str_ends(text, STR("&")))
		text.n--;
	(void)buf_add_str(&line, text);
	demo_shell_end(s);
	return shell_begin(s, line.p, &opts, &s->background, err);
}

void demo_shell_end(struct demo_shell *s)
{
	program_free(TAKE(s->background));
}

/* --- time ------------------------------------------------------------------------------------ */

static void shell_on_timer(struct loop_timer *t)
{
	loop_stop(t->loop);
}

int demo_shell_pause(struct demo_shell *s, int64_t ms, struct error *err)
{
	struct loop_timer t;

	loop_timer_init(&t, s->loop, shell_on_timer);
	loop_timer_start(&t, ms);
	while (loop_timer_running(&t) && !s->interrupted)
		loop_run(s->loop);
	loop_timer_stop(&t);
	return s->interrupted ? fail_interrupted(err) : 0;
}

/* --- life ------------------------------------------------------------------------------------ */

int demo_shell_new(const char *dir, struct demo_shell **ret_shell, struct error *err)
{
	static const int signums[] = { SIGINT, SIGTERM };
	struct demo_shell *s = XNEW(struct demo_shell);
	int r;

	*s = (struct demo_shell){ .dir = dir };
	r = loop_new(&s->loop, err);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(signums); i++)
		r = loop_signal_new(s->loop, signums[i], shell_on_signal, s, &s->signals[i], err);
	if (r < 0) {
		demo_shell_free(s);
		return r;
	}
	*ret_shell = s;
	return 0;
}

void demo_shell_free(struct demo_shell *s)
{
	struct loop_timer last;

	if (!s)
		return;
	demo_shell_end(s);
	for (size_t i = 0; i < ARRAY_SIZE(s->signals); i++)
		if (s->signals[i])
			loop_signal_free(s->signals[i]);
	if (s->loop) {
		/* Closed handles free their memory in the loop's next turn. */
		loop_timer_init(&last, s->loop, shell_on_timer);
		loop_timer_start(&last, 0);
		loop_run(s->loop);
	}
	loop_free(s->loop);
	free(s);
}
