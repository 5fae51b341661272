/*
 * A machine of few states. One timer serves all of them, because each waits for one thing only:
 *
 *	WAITING waits for the time of the next start.
 *	STARTING waits for the socket of the daemon.
 *	SETTING waits for the end of the commands that set the limits.
 *	HOLDING waits for the server, if it is to be started at once.
 *	READY waits for the time of the next check, or for its end.
 *	STOPPING waits for the end of the daemon.
 *
 * The daemon may end in each of them. It is a child if this run of the driver started it, else a
 * descriptor reports its end.
 */
#include "drivers/gpu_share/mps.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "base/time/backoff.h"
#include "drivers/drivers_limits.h"
#include "drivers/gpu_share/mps_process.h"
#include "drivers/gpu_share/tool.h"
#include "net/loop/loop.h"
#include "net/loop/program.h"

enum {
	MPS_LOOK_MS = 5, /* a daemon needs about 12 ms to its socket */
	MPS_START_MS = 10000,
	MPS_CHECK_MS = 10000,
	MPS_STOP_MS = 5000,
};

enum mps_state { MPS_WAITING, MPS_STARTING, MPS_SETTING, MPS_HOLDING, MPS_READY, MPS_STOPPING };

struct mps {
	struct loop *loop;
	struct mps_opts opts; /* program, devices and uuids are copies in `arena` */
	struct mps_paths paths;
	struct arena arena;
	enum mps_state state;
	struct loop_timer timer;
	int64_t deadline; /* of STARTING and HOLDING */
	struct backoff backoff;

	int pid; /* 0: no daemon */
	struct loop_child *child; /* NULL if it was taken over */
	struct loop_fd *watch; /* of a daemon that was taken over */
	int pidfd; /* its descriptor; -1: none */
	struct program *command; /* NULL: none under way */

	struct loop_task stopped; /* calls on_stopped later */
	void (*on_stopped)(void *arg);
	void *stopped_arg;
};

/* --- the process -------------------------------------------------------------------------- */

static void mps_forget_process(struct mps *m)
{
	if (m->child)
		loop_child_free(m->child);
	if (m->watch)
		loop_fd_free(m->watch);
	if (m->pidfd >= 0)
		(void)close(m->pidfd);
	m->child = NULL;
	m->watch = NULL;
	m->pidfd = -1;
	m->pid = 0;
}

static void mps_drop_command(struct mps *m)
{
	program_free(m->command);
	m->command = NULL;
}

/* Ends the daemon, if it runs, and starts another one later. Call it last: the owner may free m. */
static void mps_fail(struct mps *m, const char *message)
{
	mps_drop_command(m);
	if (m->pid > 0)
		mps_session_kill(m->pid);
	mps_forget_process(m);
	m->state = MPS_WAITING;
	loop_timer_start(&m->timer, backoff_next(&m->backoff, loop_prng(m->loop)));
	m->opts.on_change(m->opts.arg, false, message);
}

static void mps_finish_stop(struct mps *m)
{
	mps_drop_command(m);
	mps_forget_process(m);
	(void)mps_kill_strays(&m->paths, 0);
	mps_paths_remove(&m->paths);
	loop_timer_stop(&m->timer);
	loop_defer(m->loop, &m->stopped);
}

static void mps_on_gone(struct mps *m, const char *message)
{
	/* Its server ends with it; nothing of the session may stay. */
	mps_session_kill(m->pid);
	m->pid = 0;
	if (m->state == MPS_STOPPING)
		mps_finish_stop(m);
	else
		mps_fail(m, message);
}

static void mps_on_exit(void *arg, int status, int signum)
{
	struct mps *m = arg;
	char message[MPS_PATH_SIZE + 128];

	if (signum)
		(void)snprintf(message, sizeof(message),
			       "the MPS daemon was ended by signal %d; see %s", signum,
			       m->paths.output);
	else
		(void)snprintf(message, sizeof(message),
			       "the MPS daemon has ended with status %d; see %s", status,
			       m->paths.output);
	mps_on_gone(m, message);
}

static void mps_on_pidfd(void *arg)
{
	mps_on_gone(arg, "the MPS daemon has ended");
}

/* Whether a daemon of an earlier run was taken over. */
static bool mps_adopt(struct mps *m)
{
	int pid = mps_pid_load(&m->paths);

	if (pid == 0)
		return false;
	m->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	/* The pid may have been reused before it was opened: look again. */
	if (m->pidfd < 0 || mps_pid_load(&m->paths) != pid ||
	    loop_fd_new(m->loop, m->pidfd, mps_on_pidfd, m, &m->watch, NULL) < 0) {
		mps_forget_process(m);
		return false;
	}
	m->pid = pid;
	return true;
}

static const char *const *mps_env(struct mps *m, struct arena *a)
{
	const char *visible = "CUDA_VISIBLE_DEVICES=";
	const char *more[4] = { NULL };

	for (size_t i = 0; i < m->opts.ndevices; i++)
		visible = arena_printf(a, "%s%s%s", visible, i ? "," : "", m->opts.devices[i].uuid);
	more[0] = arena_printf(a, "CUDA_MPS_PIPE_DIRECTORY=%s", m->paths.pipe);
	more[1] = arena_printf(a, "CUDA_MPS_LOG_DIRECTORY=%s", m->paths.log);
	more[2] = visible;
	return gpu_tool_env(a, m->opts.program, m->opts.libraries, more);
}

static int mps_spawn(struct mps *m, struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	const char *argv[] = { m->opts.program, "-f",
			       m->opts.multi_user || m->opts.hold ? "-M" : NULL, NULL };
	struct loop_child_opts o = {
		.argv = argv, .group = true, .on_exit = mps_on_exit, .arg = m
	};
	int fd, r;

	arena_init(&a, MIB);
	fd = open(m->paths.output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
	if (fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot open %s", m->paths.output);
	o.env = mps_env(m, &a);
	o.out_fd = o.err_fd = fd;
	r = loop_child_new(m->loop, &o, &m->child, err);
	(void)close(fd);
	if (r < 0)
		return error_wrap(err, r, "cannot start %s", m->opts.program);
	m->pid = loop_child_pid(m->child);
	return mps_pid_save(&m->paths, m->pid, err);
}

/* --- commands ----------------------------------------------------------------------------- */

static int mps_make_input(struct str text, int *ret_fd, struct error *err)
{
	int fd = memfd_create("mps-commands", MFD_CLOEXEC);

	if (fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot make a file in memory");
	if (pwrite(fd, text.p, text.n, 0) != (ssize_t)text.n) {
		(void)close(fd);
		return error_set(err, ERR_IO, "cannot write a file in memory");
	}
	*ret_fd = fd;
	return 0;
}

static int mps_command(struct mps *m, struct str text,
		       void (*on_end)(void *arg, const struct program_end *end), struct error *err)
{
	CLEANUP(arena_release) struct arena a;
	struct program_opts o = { .argv = (const char *const[]){ m->opts.program, NULL },
				  .output_max = GPU_TOOL_OUTPUT_MAX,
				  .timeout_ms = m->opts.start_ms,
				  .on_end = on_end,
				  .arg = m };
	int r = mps_make_input(text, &o.in_fd, err);

	arena_init(&a, MIB);
	if (r < 0)
		return r;
	mps_drop_command(m);
	o.env = mps_env(m, &a);
	r = program_new(m->loop, &o, &m->command, err);
	(void)close(o.in_fd);
	return r < 0 ? error_wrap(err, r, "cannot start %s", m->opts.program) : 0;
}

/* Copies the output first: it is borrowed from the command, which ends here. */
static int mps_judge(struct mps *m, const struct program_end *end, struct buf *output,
		     struct error *err)
{
	struct str said = program_last_line(end->err.n > 0 ? end->err : end->out);
	int r = 0;

	(void)buf_add_str(output, end->out);
	if (end->timed_out)
		r = error_set(err, ERR_TIMEOUT, "the MPS daemon did not answer within %lld ms",
			      (long long)m->opts.start_ms);
	else if (end->status != 0 || end->signum != 0)
		r = error_set(err, ERR_IO, "a command to the MPS daemon failed: %.*s",
			      STR_ARG(str_cut(said, 200)));
	mps_drop_command(m);
	return r;
}

static void mps_become_ready(struct mps *m)
{
	backoff_reset(&m->backoff);
	m->state = MPS_READY;
	loop_timer_start(&m->timer, m->opts.check_ms);
	m->opts.on_change(m->opts.arg, true, NULL);
}

static void mps_on_servers(void *arg, const struct program_end *end)
{
	CLEANUP(buf_release) struct buf output = BUF_INIT(GPU_TOOL_OUTPUT_MAX);
	struct mps *m = arg;
	struct error err;

	if (mps_judge(m, end, &output, &err) < 0)
		mps_fail(m, err.msg);
	else if (str_trim_space(buf_str(&output)).n > 0)
		mps_become_ready(m);
	else if (loop_now(m->loop) >= m->deadline)
		mps_fail(m, "the MPS server does not start; look for the reason in the log");
	else
		loop_timer_start(&m->timer, MPS_LOOK_MS);
}

static void mps_on_setup(void *arg, const struct program_end *end)
{
	CLEANUP(buf_release) struct buf output = BUF_INIT(GPU_TOOL_OUTPUT_MAX);
	struct mps *m = arg;
	struct error err;
	int r = mps_judge(m, end, &output, &err);

	if (r == 0)
		r = mps_check_setup(buf_str(&output), m->opts.threads, &err);
	if (r < 0) {
		mps_fail(m, err.msg);
	} else if (m->opts.hold) {
		m->state = MPS_HOLDING;
		loop_timer_start(&m->timer, 0);
	} else {
		mps_become_ready(m);
	}
}

static void mps_set(struct mps *m);

/* The server has ended, as after a program's fault. MPS starts it with the next program; a GPU that
 * is held must not wait for that. */
static bool mps_lacks_server(const struct mps *m, struct str output)
{
	return m->opts.hold && str_trim_space(output).n == 0;
}

static void mps_on_check(void *arg, const struct program_end *end)
{
	CLEANUP(buf_release) struct buf output = BUF_INIT(GPU_TOOL_OUTPUT_MAX);
	struct mps *m = arg;
	struct error err;

	if (mps_judge(m, end, &output, &err) < 0) {
		mps_fail(m, err.msg);
	} else if (mps_lacks_server(m, buf_str(&output))) {
		m->deadline = loop_now(m->loop) + m->opts.start_ms;
		mps_set(m);
	} else {
		loop_timer_start(&m->timer, m->opts.check_ms);
	}
}

/* The output is appended to, so cutting it while the daemon writes is safe. */
static void mps_cut_output(const struct mps *m)
{
	struct stat st;

	if (stat(m->paths.output, &st) == 0 && st.st_size > (off_t)GPU_MPS_LOG_MAX)
		BEST_EFFORT(truncate(m->paths.output, 0));
}

/* --- states ------------------------------------------------------------------------------- */

static void mps_set(struct mps *m)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(GPU_TOOL_OUTPUT_MAX);
	struct error err;

	m->state = MPS_SETTING;
	mps_print_setup(m->opts.devices, m->opts.ndevices, m->opts.threads, m->opts.hold, &text);
	if (mps_command(m, buf_str(&text), mps_on_setup, &err) < 0)
		mps_fail(m, err.msg);
}

static void mps_look(struct mps *m)
{
	char message[MPS_PATH_SIZE + 128];

	if (access(m->paths.socket, F_OK) == 0) {
		mps_set(m);
	} else if (loop_now(m->loop) >= m->deadline) {
		(void)snprintf(message, sizeof(message),
			       "the MPS daemon does not answer after %lld ms; see %s",
			       (long long)m->opts.start_ms, m->paths.output);
		mps_fail(m, message);
	} else {
		loop_timer_start(&m->timer, MPS_LOOK_MS);
	}
}

static void mps_start(struct mps *m)
{
	struct error err;
	int r;

	m->deadline = loop_now(m->loop) + m->opts.start_ms;
	m->state = MPS_STARTING;
	if (mps_adopt(m)) {
		loop_timer_start(&m->timer, 0);
		return;
	}
	(void)mps_kill_strays(&m->paths, 0);
	r = mps_paths_prepare(&m->paths, &err);
	if (r == 0)
		r = mps_spawn(m, &err);
	if (r < 0)
		mps_fail(m, err.msg);
	else
		loop_timer_start(&m->timer, MPS_LOOK_MS);
}

static void mps_on_timer(struct loop_timer *t)
{
	struct mps *m = CONTAINER_OF(t, struct mps, timer);
	struct error err;
	int r = 0;

	switch (m->state) {
	case MPS_WAITING:
		mps_start(m);
		return;
	case MPS_STARTING:
		mps_look(m);
		return;
	case MPS_HOLDING:
		r = mps_command(m, STR("get_server_list\n"), mps_on_servers, &err);
		break;
	case MPS_READY:
		mps_cut_output(m);
		r = mps_command(m,
				m->opts.hold ? STR("get_server_list\n")
					     : STR("get_default_active_thread_percentage\n"),
				mps_on_check, &err);
		break;
	case MPS_STOPPING:
		/* Its end comes by the child or the descriptor. */
		mps_session_kill(m->pid);
		return;
	case MPS_SETTING:
		return;
	}
	if (r < 0)
		mps_fail(m, err.msg);
}

/* --- life --------------------------------------------------------------------------------- */

static void mps_on_stopped(struct loop_task *t)
{
	struct mps *m = CONTAINER_OF(t, struct mps, stopped);

	m->on_stopped(m->stopped_arg);
}

static int64_t mps_or(int64_t v, int64_t absent)
{
	return v > 0 ? v : absent;
}

static void mps_copy_opts(struct mps *m, const struct mps_opts *o)
{
	struct mps_device *devices = ARENA_ARRAY(&m->arena, struct mps_device, o->ndevices + 1);

	m->opts = *o;
	m->opts.program = arena_strdup(
		&m->arena, str_from(o->program ? o->program : "nvidia-cuda-mps-control"));
	if (o->libraries)
		m->opts.libraries = arena_strdup(&m->arena, str_from(o->libraries));
	for (size_t i = 0; i < o->ndevices; i++) {
		devices[i] = o->devices[i];
		devices[i].uuid = arena_strdup(&m->arena, str_from(o->devices[i].uuid));
	}
	m->opts.devices = devices;
	m->opts.start_ms = mps_or(o->start_ms, MPS_START_MS);
	m->opts.check_ms = mps_or(o->check_ms, MPS_CHECK_MS);
	m->opts.stop_ms = mps_or(o->stop_ms, MPS_STOP_MS);
}

int mps_new(struct loop *l, const struct mps_opts *opts, struct mps **ret_mps, struct error *err)
{
	struct mps_paths paths;
	int r = mps_paths_init(&paths, opts->dir, err);
	struct mps *m;

	if (r < 0)
		return r;
	m = XNEW(struct mps);
	*m = (struct mps){
		.loop = l,
		.paths = paths,
		.pidfd = -1,
		.state = MPS_WAITING,
		.backoff = { .initial_ms = 100, .max_ms = 30000, .factor = 2, .jitter = 0.5 }
	};
	arena_init(&m->arena, MIB);
	mps_copy_opts(m, opts);
	loop_timer_init(&m->timer, l, mps_on_timer);
	loop_task_init(&m->stopped, mps_on_stopped);
	loop_timer_start(&m->timer, 0);
	*ret_mps = m;
	return 0;
}

/* The answer to "quit" does not matter: the daemon's end does, or the deadline. */
static void mps_on_quit(void *arg, const struct program_end *end UNUSED)
{
	mps_drop_command(arg);
}

void mps_stop(struct mps *m, void (*on_stopped)(void *arg), void *arg)
{
	if (m->on_stopped)
		return;
	m->on_stopped = on_stopped;
	m->stopped_arg = arg;
	m->state = MPS_STOPPING;
	mps_drop_command(m);
	/* Before its first start, an earlier run's daemon may be there. */
	if (m->pid == 0 && !mps_adopt(m)) {
		mps_finish_stop(m);
		return;
	}
	loop_timer_start(&m->timer, m->opts.stop_ms);
	if (mps_command(m, STR("quit\n"), mps_on_quit, NULL) < 0)
		loop_timer_start(&m->timer, 0);
}

void mps_free(struct mps *m)
{
	if (!m)
		return;
	mps_drop_command(m);
	mps_forget_process(m);
	loop_timer_stop(&m->timer);
	loop_task_cancel(&m->stopped);
	arena_release(&m->arena);
	free(m);
}

const char *mps_pipe(const struct mps *m)
{
	return m->paths.pipe;
}

int mps_pid(const struct mps *m)
{
	return m->pid;
}
