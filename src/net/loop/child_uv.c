/*
 * Child processes of the real loop.
 *
 * libuv starts them with fork(), which copies the page tables of the whole process: some 30 ms for
 * each GiB, in which all threads stand still. A `light` child is started with posix_spawn(), which
 * copies nothing, and the loop waits for its process descriptor (pidfd). A kernel without pidfds,
 * before 5.4, starts it like the others.
 *
 * Only children whose handle is open are reaped. So the handle of a running child stays until it
 * ends, without keeping the loop alive. The rest are closed with the loop
 * (loop_uv_close_orphans()).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "net/loop/loop_uv.h"

struct child_uv {
	struct loop_child handle;
	union {
		uv_handle_t any;
		uv_process_t process;
		uv_poll_t poll; /* of `pidfd` */
	} uv;
	int pidfd; /* of a light child; else -1 */
	void (*on_exit)(void *arg, int status, int signal);
	void *arg;
	bool group, exited;
};

/* The `data` of handles of children. */
static const char child_mark;

static void child_closed(uv_handle_t *h)
{
	struct child_uv *c = CONTAINER_OF(h, struct child_uv, uv.any);

	if (c->pidfd >= 0)
		(void)close(c->pidfd);
	free(c);
}

static void child_close(struct child_uv *c)
{
	uv_close(&c->uv.any, child_closed);
}

static void on_orphan_exit(void *arg, int status UNUSED, int signal UNUSED)
{
	child_close(arg);
}

static void child_free(struct loop_child *handle)
{
	struct child_uv *c = CONTAINER_OF(handle, struct child_uv, handle);

	if (c->exited || c->handle.pid == 0) {
		child_close(c);
		return;
	}
	c->on_exit = on_orphan_exit;
	c->arg = c;
	uv_unref(&c->uv.any);
}

static void close_orphan(uv_handle_t *h, void *arg UNUSED)
{
	if (h->data == &child_mark && !uv_is_closing(h))
		uv_close(h, child_closed);
}

void loop_uv_close_orphans(struct loop_uv *u)
{
	uv_walk(&u->uv, close_orphan, NULL);
}

static int child_kill(struct loop_child *c, int signum, struct error *err)
{
	struct child_uv *u = CONTAINER_OF(c, struct child_uv, handle);
	/* Its PID may have been reused. */
	int r = u->exited ? UV_ESRCH : uv_kill(u->group ? -c->pid : c->pid, signum);

	return r == 0 ? 0 : loop_uv_error(err, ERR_NOT_FOUND, r, "cannot signal the child process");
}

static void child_ended(struct child_uv *c, int status, int signal)
{
	c->exited = true;
	if (c->on_exit)
		c->on_exit(c->arg, status, signal);
}

static void on_process_exit(uv_process_t *p, int64_t status, int signal)
{
	child_ended(CONTAINER_OF(p, struct child_uv, uv.process), (int)status, signal);
}

/* --- libuv's way ---------------------------------------------------------------------- */

static int child_spawn(struct loop_uv *u, struct child_uv *c, const struct loop_child_opts *opts)
{
	uv_stdio_container_t stdio[3] = {
		{ .flags = opts->in_fd ? UV_INHERIT_FD : UV_IGNORE, .data.fd = opts->in_fd },
		{ .flags = UV_INHERIT_FD, .data.fd = opts->out_fd ? opts->out_fd : 1 },
		{ .flags = UV_INHERIT_FD, .data.fd = opts->err_fd ? opts->err_fd : 2 },
	};
	uv_process_options_t o = {
		.exit_cb = on_process_exit,
		.file = opts->argv[0],
		.args = (char **)(uintptr_t)opts->argv,
		.env = (char **)(uintptr_t)opts->env,
		.cwd = opts->cwd,
		.flags = opts->group ? UV_PROCESS_DETACHED : 0,
		.stdio_count = 3,
		.stdio = stdio,
	};
	int r = uv_spawn(&u->uv, &c->uv.process, &o);

	c->uv.any.data = (void *)(uintptr_t)&child_mark;
	c->handle.pid = r == 0 ? uv_process_get_pid(&c->uv.process) : 0;
	return r;
}

/* --- light children ------------------------------------------------------------------- */

static int open_pidfd(int pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* pidfd_open() came with Linux 5.3, and waitid() takes them since 5.4. */
static bool has_pidfds(void)
{
	int fd = open_pidfd(getpid());
	siginfo_t info;
	bool has = fd >= 0 && waitid(P_PIDFD, (id_t)fd, &info, WEXITED | WNOHANG) < 0 &&
		   errno == ECHILD;

	if (fd >= 0)
		(void)close(fd);
	return has;
}

static void child_on_pidfd(uv_poll_t *h, int status UNUSED, int events UNUSED)
{
	struct child_uv *c = CONTAINER_OF(h, struct child_uv, uv.poll);
	siginfo_t info = { .si_pid = 0 };
	int r = waitid(P_PIDFD, (id_t)c->pidfd, &info, WEXITED | WNOHANG);

	if (r == 0 && info.si_pid == 0)
		return;
	(void)uv_poll_stop(h);
	if (r == 0 && info.si_code == CLD_EXITED)
		child_ended(c, info.si_status, 0);
	else
		child_ended(c, 0, r == 0 ? info.si_status : SIGKILL);
}

/* As libuv does: its streams, a session of its own if it is a group, no signals of ours. */
static int spawn_light(const struct loop_child_opts *o, pid_t *ret_pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	sigset_t set;
	int r;

	(void)posix_spawn_file_actions_init(&files);
	(void)posix_spawnattr_init(&attributes);
	(void)sigfillset(&set);
	(void)posix_spawnattr_setsigdefault(&attributes, &set);
	(void)sigemptyset(&set);
	(void)posix_spawnattr_setsigmask(&attributes, &set);
	(void)posix_spawnattr_setflags(&attributes,
				       (short)(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
					       (o->group ? POSIX_SPAWN_SETSID : 0)));
	r = o->in_fd ? posix_spawn_file_actions_adddup2(&files, o->in_fd, 0)
		     : posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDWR, 0);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&files, o->out_fd ? o->out_fd : 1, 1);
	if (r == 0)
		r = posix_spawn_file_actions_adddup2(&files, o->err_fd ? o->err_fd : 2, 2);
	if (r == 0 && o->cwd)
		r = posix_spawn_file_actions_addchdir_np(&files, o->cwd);
	if (r == 0)
		r = posix_spawnp(ret_pid, o->argv[0], &files, &attributes,
				 (char **)(uintptr_t)o->argv,
				 o->env ? (char **)(uintptr_t)o->env : environ);
	(void)posix_spawn_file_actions_destroy(&files);
	(void)posix_spawnattr_destroy(&attributes);
	return -r;
}

/* Its descriptor cannot be opened or followed: there are too many. */
static int give_up(struct child_uv *c, pid_t pid, int r)
{
	(void)kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	if (c->pidfd >= 0)
		(void)close(c->pidfd);
	c->pidfd = -1;
	return r;
}

static int child_spawn_light(struct loop_uv *u, struct child_uv *c,
			     const struct loop_child_opts *opts)
{
	pid_t pid = 0;
	int r = spawn_light(opts, &pid);

	if (r != 0)
		return r;
	c->pidfd = open_pidfd(pid);
	if (c->pidfd < 0)
		return give_up(c, pid, uv_translate_sys_error(errno));
	r = uv_poll_init(&u->uv, &c->uv.poll, c->pidfd);
	if (r != 0)
		return give_up(c, pid, r);
	c->uv.any.data = (void *)(uintptr_t)&child_mark;
	c->handle.pid = pid;
	(void)uv_poll_start(&c->uv.poll, UV_READABLE, child_on_pidfd);
	return 0;
}

/* --- starting ------------------------------------------------------------------------- */

int loop_uv_child_new(struct loop *l, const struct loop_child_opts *opts,
		      struct loop_child **ret_child, struct error *err)
{
	struct child_uv *c = XNEW(struct child_uv);
	bool light = opts->light && has_pidfds();
	int r;

	*c = (struct child_uv){ .handle = { .kill = child_kill, .free = child_free },
				.pidfd = -1,
				.on_exit = opts->on_exit,
				.arg = opts->arg,
				.group = opts->group };
	r = light ? child_spawn_light(loop_uv_of(l), c, opts) : child_spawn(loop_uv_of(l), c, opts);
	if (r == 0) {
		*ret_child = &c->handle;
		return 0;
	}
	if (c->uv.any.data)
		child_close(c);
	else
		free(c);
	return loop_uv_error(err, r == UV_ENOENT ? ERR_NOT_FOUND : ERR_IO, r, opts->argv[0]);
}
