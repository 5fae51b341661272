/*
 * If the system does not allow a pipe of the requested size, a smaller one is used.
 *
 * A host gets the program's ends of the pipes, and one end of a pair of sockets by which it reports
 * how the program ended. When we close our end, the host kills the program.
 */
#include "net/loop/program.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/system/priority.h"
#include "net/loop/fd_message.h"
#include "net/loop/loop.h"
#include "net/loop/program_host.h"

struct program {
	size_t output_max;
	void (*on_end)(void *arg, const struct program_end *end);
	void *arg;
	struct loop_child *child; /* NULL: a host runs it */
	struct loop_fd *report; /* of a host; on life[0] */
	struct loop_timer timer;
	bool timed_out, exited;
	int out[2], err[2], life[2]; /* pipes and sockets, ours first; -1: closed */
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

/* `reason` stands for the program's own stderr if it did not run. */
static void program_finish(struct program *p, int status, int signum, struct str reason)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(p->output_max + 1);
	CLEANUP(buf_release) struct buf said = BUF_INIT(p->output_max + 1);
	struct program_end end = { .status = status, .signum = signum, .timed_out = p->timed_out };

	p->exited = true;
	loop_timer_stop(&p->timer);
	read_pipe(p->out[0], &out);
	read_pipe(p->err[0], &said);
	end.out = buf_str(&out);
	end.err = reason.n ? reason : buf_str(&said);
	p->on_end(p->arg, &end);
}

static void on_exit_(void *arg, int status, int signum)
{
	program_finish(arg, status, signum, STR_NULL);
}

static void program_forget_host(struct program *p)
{
	if (p->report)
		loop_fd_free(TAKE(p->report));
	close_fd(&p->life[0]);
	close_fd(&p->life[1]);
}

static void on_timeout(struct loop_timer *t)
{
	struct program *p = CONTAINER_OF(t, struct program, timer);

	p->timed_out = true;
	if (p->child) {
		(void)loop_child_kill(p->child, SIGKILL, NULL);
		return;
	}
	program_forget_host(p);
	on_exit_(p, 0, SIGKILL);
}

/* --- a host ------------------------------------------------------------------------------- */

/* A host that is gone has killed the program. */
static void program_on_report(void *arg)
{
	struct program *p = arg;
	struct program_report report;
	struct str text;
	int r = fd_message_receive(p->life[0], &text, (char *)&report, sizeof(report), NULL, 0,
				   NULL);

	if (r == 0)
		return;
	if (r < 0 || text.n != sizeof(report))
		report = (struct program_report){ .signum = SIGKILL };
	report.reason[sizeof(report.reason) - 1] = 0;
	program_forget_host(p);
	program_finish(p, report.status, report.signum, str_from(report.reason));
}

static int program_hand_over(struct program *p, struct loop *l, const struct program_opts *o,
			     struct error *err)
{
	int nothing = o->in_fd ? -1 : open("/dev/null", O_RDONLY | O_CLOEXEC);
	int r = fd_message_pair(p->life, err);
	int fds[PROGRAM_HOST_FDS] = { o->in_fd ? o->in_fd : nothing, p->out[1], p->err[1],
				      p->life[1] };

	if (r == 0)
		r = loop_fd_new(l, p->life[0], program_on_report, p, &p->report, err);
	if (r == 0)
		r = fd_message_send(o->host_fd, o->request, fds, ARRAY_SIZE(fds), err);
	close_fd(&p->life[1]);
	close_fd(&nothing);
	return r;
}

/* --- starting ----------------------------------------------------------------------------- */

static int program_spawn(struct program *p, struct loop *l, const struct program_opts *o,
			 struct error *err)
{
	struct loop_child_opts child = { .argv = o->argv,
					 .env = o->env,
					 .in_fd = o->in_fd,
					 .out_fd = p->out[1],
					 .err_fd = o->with_us ? 0 : p->err[1],
					 .group = !o->with_us,
					 .light = o->yields,
					 .on_exit = on_exit_,
					 .arg = p };
	int r = loop_child_new(l, &child, &p->child, err);

	if (r == 0 && o->yields)
		priority_lower(loop_child_pid(p->child));
	return r;
}

static int program_start(struct program *p, struct loop *l, const struct program_opts *o,
			 struct error *err)
{
	int r = make_pipe(p->out, o->output_max, err);

	if (r == 0 && !o->with_us)
		r = make_pipe(p->err, o->output_max, err);
	if (r < 0)
		return r;
	r = o->host_fd ? program_hand_over(p, l, o, err) : program_spawn(p, l, o, err);
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
			       .err = { -1, -1 },
			       .life = { -1, -1 } };
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
	program_forget_host(p);
	loop_timer_stop(&p->timer);
	close_fd(&p->out[0]);
	close_fd(&p->out[1]);
	close_fd(&p->err[0]);
	close_fd(&p->err[1]);
	free(p);
}
