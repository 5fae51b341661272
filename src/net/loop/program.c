/* If the system does not allow a pipe of the requested size, a smaller one is used. */
#include "net/loop/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "net/loop/loop.h"

struct program {
	size_t output_max;
	void (*on_end)(void *arg, const struct program_end *end);
	void *arg;
	struct loop_child *child;
	struct loop_timer timer;
	bool timed_out, exited;
	int out[2], err[2]; /* pipes, ours first; -1: closed */
};

/* --- its streams -------------------------------------------------------------------------- */

static int make_pipe(int ends[2], size_t bytes, struct error *err)
{
	if (pipe2(ends, O_CLOEXEC) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot make a pipe");
	(void)fcntl(ends[0], F_SETPIPE_SZ, (int)bytes);
	(void)fcntl(ends[0], F_SETFL, O_NONBLOCK);
	return 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		(void)close(*fd);
	*fd = -1;
}

/* Reads everything that is in the pipe now. */
static void read_pipe(int fd, struct buf *text)
{
	char piece[16 * KIB];
	ssize_t n;

	while (fd >= 0 && ((n = read(fd, piece, sizeof(piece))) > 0 || (n < 0 && errno == EINTR)))
		if (n > 0 && buf_add(text, piece, (size_t)n) < 0)
			return;
}

struct str program_last_line(struct str text)
{
	struct str line = STR_NULL, piece;

	while (text.n > 0 && str_split(&text, '\n', &piece))
		if (str_trim(piece).n > 0)
			line = str_trim(piece);
	return line;
}

/* --- life --------------------------------------------------------------------------------- */

static void on_exit_(void *arg, int status, int signum)
{
	struct program *p = arg;
	CLEANUP(buf_release) struct buf out = BUF_INIT(p->output_max + 1);
	CLEANUP(buf_release) struct buf said = BUF_INIT(p->output_max + 1);
	struct program_end end = { .status = status, .signum = signum, .timed_out = p->timed_out };

	p->exited = true;
	loop_timer_stop(&p->timer);
	read_pipe(p->out[0], &out);
	read_pipe(p->err[0], &said);
	end.out = buf_str(&out);
	end.err = buf_str(&said);
	p->on_end(p->arg, &end);
}

static void on_timeout(struct loop_timer *t)
{
	struct program *p = CONTAINER_OF(t, struct program, timer);

	p->timed_out = true;
	(void)loop_child_kill(p->child, SIGKILL, NULL);
}

static int program_start(struct program *p, struct loop *l, const struct program_opts *o,
			 struct error *err)
{
	struct loop_child_opts child = { .argv = o->argv,
					 .env = o->env,
					 .in_fd = o->in_fd,
					 .group = !o->with_us,
					 .on_exit = on_exit_,
					 .arg = p };
	int r = make_pipe(p->out, o->output_max, err);

	if (r == 0 && !o->with_us)
		r = make_pipe(p->err, o->output_max, err);
	if (r < 0)
		return r;
	child.out_fd = p->out[1];
	child.err_fd = o->with_us ? 0 : p->err[1];
	r = loop_child_new(l, &child, &p->child, err);
	close_fd(&p->out[1]);
	close_fd(&p->err[1]);
	if (r == 0 && o->timeout_ms > 0)
		loop_timer_start(&p->timer, o->timeout_ms);
	return r;
}

int program_new(struct loop *l, const struct program_opts *opts, struct program **ret_program,
		struct error *err)
{
	struct program *p = XNEW(struct program);
	int r;

	*p = (struct program){ .output_max = opts->output_max,
			       .on_end = opts->on_end,
			       .arg = opts->arg,
			       .out = { -1, -1 },
			       .err = { -1, -1 } };
	loop_timer_init(&p->timer, l, on_timeout);
	r = program_start(p, l, opts, err);
	if (r < 0) {
		program_free(p);
		return r;
	}
	*ret_program = p;
	return 0;
}

void program_free(struct program *p)
{
	if (!p)
		return;
	/* Does not wait for a process that cannot die yet, because it waits for a disk. */
	if (p->child && !p->exited)
		(void)loop_child_kill(p->child, SIGKILL, NULL);
	if (p->child)
		loop_child_free(p->child);
	loop_timer_stop(&p->timer);
	close_fd(&p->out[0]);
	close_fd(&p->out[1]);
	close_fd(&p->err[0]);
	close_fd(&p->err[1]);
	free(p);
}
