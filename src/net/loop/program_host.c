/*
 * Each program has a job, whose socket is the other process's interest in it. Nothing here blocks,
 * and nothing is read from the descriptors that the other process sent, except the end of that
 * socket.
 */
#include "net/loop/program_host.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/core/arena.h"
#include "base/core/limits.h"
#include "base/core/list.h"
#include "base/core/mem.h"
#include "base/system/priority.h"
#include "net/loop/fd_message.h"
#include "net/loop/loop.h"

enum { IN, OUT, ERR, LIFE }; /* descriptors of a request */

struct program_host {
	struct loop *loop;
	struct program_host_opts opts;
	struct list jobs;
	size_t n;
	struct loop_fd *reader;
	int fd; /* -1: closed */
};

struct job {
	struct list node;
	struct program_host *host;
	struct loop_child *child;
	struct loop_fd *reader; /* of `life` */
	struct loop_timer timer;
	int life;
};

static void host_report(int life, const struct program_report *report)
{
	(void)fd_message_send(life, str_of(report, sizeof(*report)), NULL, 0, NULL);
}

/* --- a program ---------------------------------------------------------------------------- */

static void job_free(struct job *j)
{
	if (j->child)
		loop_child_free(j->child);
	if (j->reader)
		loop_fd_free(j->reader);
	loop_timer_stop(&j->timer);
	if (j->life >= 0)
		(void)close(j->life);
	list_remove(&j->node);
	j->host->n--;
	free(j);
}

static void job_on_exit(void *arg, int status, int signum)
{
	struct job *j = arg;
	struct program_report report = { .status = status, .signum = signum };

	host_report(j->life, &report);
	job_free(j);
}

static void job_kill(struct job *j)
{
	(void)loop_child_kill(j->child, SIGKILL, NULL);
	job_free(j);
}

/* The other process closed its end. It never sends anything. */
static void job_on_life(void *arg)
{
	job_kill(arg);
}

static void job_on_timeout(struct loop_timer *t)
{
	struct job *j = CONTAINER_OF(t, struct job, timer);

	(void)loop_child_kill(j->child, SIGKILL, NULL);
}

static int job_start(struct job *j, const char *const *argv, const int *fds, struct error *err)
{
	struct program_host *h = j->host;
	struct loop_child_opts child = { .argv = argv,
					 .in_fd = fds[IN],
					 .out_fd = fds[OUT],
					 .err_fd = fds[ERR],
					 .group = true,
					 .on_exit = job_on_exit,
					 .arg = j };
	int r = loop_fd_new(h->loop, j->life, job_on_life, j, &j->reader, err);

	if (r == 0)
		r = loop_child_new(h->loop, &child, &j->child, err);
	if (r < 0)
		return r;
	priority_lower(loop_child_pid(j->child));
	loop_timer_start(&j->timer, h->opts.timeout_ms);
	return 0;
}

/* --- requests ----------------------------------------------------------------------------- */

static bool is_report_socket(int fd)
{
	int type = 0;
	socklen_t n = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &n) == 0 && type == SOCK_SEQPACKET;
}

static int host_start(struct program_host *h, const char *const *argv, const int *fds,
		      struct error *err)
{
	struct job *j = XNEW(struct job);
	int r;

	*j = (struct job){ .host = h, .life = fcntl(fds[LIFE], F_DUPFD_CLOEXEC, 0) };
	loop_timer_init(&j->timer, h->loop, job_on_timeout);
	list_push_back(&h->jobs, &j->node);
	h->n++;
	r = job_start(j, argv, fds, err);
	if (r < 0)
		job_free(j);
	return r;
}

static int host_serve(struct program_host *h, struct str request, const int *fds, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	const char *const *argv;
	int r;

	arena_init(&a, MIB);
	if (!is_report_socket(fds[LIFE]))
		return error_set(err, ERR_PROTOCOL, "a request without a socket for the report");
	if (h->n >= h->opts.max)
		return error_set(err, ERR_TOO_MANY_REQUESTS, "too many programs run");
	r = h->opts.argv(h->opts.arg, request, &a, &argv, err);
	return r < 0 ? r : host_start(h, argv, fds, err);
}

static void host_refuse(int life, const struct error *err)
{
	struct program_report report = { .status = 1 };

	(void)snprintf(report.reason, sizeof(report.reason), "%s", err->msg);
	host_report(life, &report);
}

static void host_close(struct program_host *h)
{
	LIST_FOREACH_SAFE (it, &h->jobs)
		job_kill(LIST_ENTRY(it, struct job, node));
	if (h->reader)
		loop_fd_free(TAKE(h->reader));
	if (h->fd >= 0)
		(void)close(h->fd);
	h->fd = -1;
}

/* One request for each call, so that others get their turn. */
static void host_on_request(void *arg)
{
	struct program_host *h = arg;
	char text[PROGRAM_REQUEST_MAX];
	int fds[PROGRAM_HOST_FDS];
	struct str request;
	struct error err;
	int r = fd_message_receive(h->fd, &request, text, sizeof(text), fds, PROGRAM_HOST_FDS,
				   &err);

	if (r == -ERR_UNAVAILABLE)
		host_close(h);
	if (r <= 0)
		return;
	if (host_serve(h, request, fds, &err) < 0)
		host_refuse(fds[LIFE], &err);
	fd_message_close(fds, PROGRAM_HOST_FDS);
}

/* --- life --------------------------------------------------------------------------------- */

struct program_host *program_host_new(struct loop *l, const struct program_host_opts *opts)
{
	struct program_host *h = XNEW(struct program_host);

	*h = (struct program_host){ .loop = l, .opts = *opts, .fd = -1 };
	list_init(&h->jobs);
	return h;
}

int program_host_open(struct program_host *h, int *ret_fd, struct error *err)
{
	int ends[2];
	int r;

	host_close(h);
	r = fd_message_pair(ends, err);
	if (r < 0)
		return r;
	h->fd = ends[0];
	r = loop_fd_new(h->loop, h->fd, host_on_request, h, &h->reader, err);
	if (r < 0) {
		fd_message_close(ends, ARRAY_SIZE(ends));
		h->fd = -1;
		return r;
	}
	*ret_fd = ends[1];
	return 0;
}

void program_host_free(struct program_host *h)
{
	if (!h)
		return;
	host_close(h);
	free(h);
}
