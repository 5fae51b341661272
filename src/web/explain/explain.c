/*
 * A timer follows the pass, because it may end on another thread. The process cannot do more than
 * the pass or the token allows, so it is enough to end it within a second.
 */
#include "web/explain/explain.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "net/loop/loop.h"
#include "net/loop/program.h"
#include "web/web_limits.h"

enum { SWEEP_MS = 1000 };

static const struct explain_access in_memory = { .kubeconfig = "/proc/self/fd/0" };

/* In the request's arena. */
struct explain {
	struct explain_opts opts;
	struct program *program;
	struct loop_timer sweep; /* checks that the pass is valid */
};

static void explain_finish(struct explain *x, struct str answer, const struct error *err)
{
	loop_timer_stop(&x->sweep);
	x->opts.on_end(x->opts.arg, answer, err);
}

static bool explain_may_go_on(const struct explain *x)
{
	return ui_pass_is_valid(x->opts.pass, clock_monotonic(loop_clock(x->opts.loop)));
}

static void explain_on_end(void *arg, const struct program_end *end)
{
	struct explain *x = arg;
	struct error err;

	if (!end->signum && end->status == 0) {
		explain_finish(x, end->out, NULL);
		return;
	}
	if (!explain_may_go_on(x))
		(void)error_set(&err, ERR_UNAUTHORIZED, EXPLAIN_OVER);
	else if (end->timed_out)
		(void)error_set(&err, ERR_TIMEOUT,
				"the explanation has taken longer than %d seconds, or is too long",
				(int)(EXPLAIN_MS / 1000));
	else if (!program_last_line(end->err).n)
		(void)error_set(&err, ERR_UNAVAILABLE, "the explanation ended without an answer");
	else
		(void)error_set(&err, ERR_UNAVAILABLE, "%.*s",
				STR_ARG(program_last_line(end->err)));
	explain_finish(x, STR_NULL, &err);
}

static void explain_on_sweep(struct loop_timer *t)
{
	struct explain *x = CONTAINER_OF(t, struct explain, sweep);
	struct error err;

	if (explain_may_go_on(x)) {
		loop_timer_start(t, SWEEP_MS);
		return;
	}
	program_free(TAKE(x->program));
	(void)error_set(&err, ERR_UNAUTHORIZED, EXPLAIN_OVER);
	explain_finish(x, STR_NULL, &err);
}

struct explain *explain_new(const struct explain_opts *opts)
{
	struct explain *x = ARENA_NEW(opts->arena, struct explain);

	x->opts = *opts;
	loop_timer_init(&x->sweep, opts->loop, explain_on_sweep);
	loop_timer_start(&x->sweep, SWEEP_MS);
	return x;
}

/* The caller closes the descriptor. */
static int explain_config_fd(const struct explain_server *to, struct arena *a, struct error *err)
{
	struct str text = explain_query_kubeconfig(to, a);
	int fd = memfd_create("kubeconfig", MFD_CLOEXEC);
	bool written = fd >= 0 && text.n && pwrite(fd, text.p, text.n, 0) == (ssize_t)text.n;

	if (text.n)
		explicit_bzero((char *)(uintptr_t)text.p, text.n);
	if (written)
		return fd;
	(void)error_set_errno(err, ERR_IO, errno, "cannot write a file in memory");
	if (fd >= 0)
		(void)close(fd);
	return -ERR_IO;
}

int explain_start(struct explain *x, const struct explain_credentials *with, struct error *err)
{
	const struct explain_opts *o = &x->opts;
	const struct explain_access *to = with->server ? &in_memory : &with->access;
	struct program_opts p = { .argv = explain_query_argv(o->query, to, o->arena),
				  .host_fd = o->host_fd,
				  .request = explain_query_print(o->query, o->arena),
				  .yields = true,
				  .output_max = EXPLAIN_ANSWER_MAX,
				  .timeout_ms = EXPLAIN_MS,
				  .on_end = explain_on_end,
				  .arg = x };
	int r = with->server ? explain_config_fd(with->server, o->arena, err) : 0;

	if (r < 0)
		return r;
	p.in_fd = r;
	r = program_new(o->loop, &p, &x->program, err);
	if (p.in_fd > 0)
		(void)close(p.in_fd);
	return r < 0 ? error_wrap(err, r, "cannot start the explanation") : 0;
}

void explain_free(struct explain *x)
{
	if (!x)
		return;
	loop_timer_stop(&x->sweep);
	program_free(TAKE(x->program));
}

int explain_host_argv(struct str request, struct arena *a, const char *const **ret_argv,
		      struct error *err)
{
	struct explain_query q;
	int r = explain_query_read(request, &q, err);

	if (r == 0)
		*ret_argv = explain_query_argv(&q, &in_memory, a) + 1;
	return r;
}
