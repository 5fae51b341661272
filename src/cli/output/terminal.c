/*
 * The child that guards the terminal only waits for its pipe: a byte means that the terminal was
 * restored, the pipe's end means that it was not. Signals to the group do not reach it. It is
 * forked before there are connections, which it would keep open.
 *
 * A shell that resumes a stopped program has changed the modes, and maybe the screen: both are set
 * again on SIGCONT.
 *
 * A screen is written in one piece, and each line is erased after its end, so that nothing
 * flickers. Automatic wrapping is off, so a line that is still too wide ends at the edge.
 */
#include "cli/output/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "base/core/mem.h"
#include "net/loop/loop.h"

#define ENTER "\033[?1049h\033[?25l\033[?7l\033[2J"
#define LEAVE "\033[?7h\033[?25h\033[?1049l"

/* Other keys begin with the byte of Escape, and terminals send their bytes at once. */
enum { ESCAPE_MS = 50 };

struct terminal {
	struct terminal_opts opts;
	struct loop_timer escape; /* until an Escape is a key of its own */
	struct termios before;
	struct loop_fd *keys;
	struct loop_signal *resized, *continued;
	pid_t guard;
	int pipe; /* to the guard; -1: none */
	char pending[16]; /* bytes of an incomplete key */
	size_t npending;
};

/* Also works if somebody made the descriptor non-blocking. */
static void terminal_write_all(int fd, const char *p, size_t n)
{
	struct pollfd room = { .fd = fd, .events = POLLOUT };

	while (n > 0) {
		ssize_t done = write(fd, p, n);

		if (done < 0 && errno == EAGAIN)
			(void)poll(&room, 1, -1);
		else if (done < 0 && errno != EINTR)
			return;
		if (done > 0) {
			p += done;
			n -= (size_t)done;
		}
	}
}

/* --- the guard ------------------------------------------------------------------------------- */

/* Runs in the child; only async-signal-safe functions are allowed after a fork. */
static void guard(int pipe, int out, const struct termios *before)
{
	char done;
	ssize_t n;

	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	(void)signal(SIGQUIT, SIG_IGN);
	(void)signal(SIGTSTP, SIG_IGN);
	(void)signal(SIGTTOU, SIG_IGN);
	do {
		n = read(pipe, &done, 1);
	} while (n < 0 && errno == EINTR);
	if (n == 0) {
		terminal_write_all(out, LEAVE, sizeof(LEAVE) - 1);
		(void)tcsetattr(out, TCSANOW, before);
	}
	_exit(0);
}

static int start_guard(struct terminal *t, struct error *err)
{
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot make a pipe");
	t->guard = fork();
	if (t->guard < 0) {
		(void)close(fds[0]);
		(void)close(fds[1]);
		return error_set_errno(err, ERR_IO, errno, "cannot start a process");
	}
	if (t->guard == 0) {
		(void)close(fds[1]);
		guard(fds[0], t->opts.out, &t->before);
	}
	(void)close(fds[0]);
	t->pipe = fds[1];
	return 0;
}

static void stop_guard(struct terminal *t)
{
	if (t->pipe < 0)
		return;
	terminal_write_all(t->pipe, "x", 1);
	(void)close(t->pipe);
	t->pipe = -1;
	while (waitpid(t->guard, NULL, 0) < 0 && errno == EINTR)
		;
}

/* --- keys ------------------------------------------------------------------------------------ */

static const struct {
	const char *text;
	int key;
} sequences[] = {
	{ "[A", TERMINAL_UP },   { "OA", TERMINAL_UP },       { "[B", TERMINAL_DOWN },
	{ "OB", TERMINAL_DOWN }, { "[5~", TERMINAL_PAGE_UP }, { "[6~", TERMINAL_PAGE_DOWN },
	{ "[H", TERMINAL_HOME }, { "OH", TERMINAL_HOME },     { "[1~", TERMINAL_HOME },
	{ "[F", TERMINAL_END },  { "OF", TERMINAL_END },      { "[4~", TERMINAL_END },
};

/* The length of an escape sequence, up to its final letter; 0: incomplete. */
static size_t sequence_length(struct str s)
{
	if (s.n > 0 && s.p[0] == 'O')
		return s.n > 1 ? 2 : 0;
	for (size_t i = 1; i < s.n; i++)
		if (s.p[i] >= '@' && s.p[i] <= '~')
			return i + 1;
	return 0;
}

int terminal_key_parse(struct str bytes, size_t *ret_used)
{
	struct str rest;
	size_t n;

	*ret_used = MIN(bytes.n, (size_t)1);
	if (bytes.n == 0)
		return 0;
	if (bytes.p[0] == 3)
		return TERMINAL_INTERRUPT;
	if (bytes.p[0] == 26)
		return TERMINAL_SUSPEND;
	if (bytes.p[0] != '\033')
		return (unsigned char)bytes.p[0];
	if (bytes.n > 1 && bytes.p[1] != '[' && bytes.p[1] != 'O')
		return 0;
	rest = str_skip(bytes, 1);
	n = sequence_length(rest);
	*ret_used = n ? n + 1 : 0;
	for (size_t i = 0; n && i < ARRAY_SIZE(sequences); i++)
		if (str_eqz(str_of(rest.p, n), sequences[i].text))
			return sequences[i].key;
	return 0;
}

/* --- the screen ------------------------------------------------------------------------------ */

static int terminal_enter(struct terminal *t, struct error *err)
{
	struct termios raw = t->before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO | ISIG | IEXTEN);
	raw.c_iflag &= ~(tcflag_t)(IXON | ICRNL);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(t->opts.out, TCSANOW, &raw) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot set the terminal's modes");
	terminal_write_all(t->opts.out, ENTER, sizeof(ENTER) - 1);
	return 0;
}

static void terminal_leave(struct terminal *t)
{
	terminal_write_all(t->opts.out, LEAVE, sizeof(LEAVE) - 1);
	(void)tcsetattr(t->opts.out, TCSANOW, &t->before);
}

static void on_continued(void *arg, int signum UNUSED)
{
	struct terminal *t = arg;

	(void)terminal_enter(t, NULL);
	t->opts.on_resize(t->opts.arg);
}

/* Stops the whole process group, as the terminal would, unless no shell could resume it. */
static void suspend(struct terminal *t)
{
	terminal_leave(t);
	(void)kill(0, SIGTSTP);
	on_continued(t, SIGCONT);
}

/* --- events ---------------------------------------------------------------------------------- */

static void on_escape(struct loop_timer *timer)
{
	struct terminal *t = CONTAINER_OF(timer, struct terminal, escape);
	struct pollfd more = { .fd = t->opts.in, .events = POLLIN };

	if (poll(&more, 1, 0) > 0) /* we were busy, and the rest of the key is there */
		return;
	t->npending = 0;
	t->opts.on_key(t->opts.arg, TERMINAL_ESCAPE);
}

static void on_readable(void *arg)
{
	struct terminal *t = arg;
	char bytes[256]; /* many keys at once */
	size_t used, n = t->npending;
	struct str rest;
	ssize_t got;
	int key;

	loop_timer_stop(&t->escape);
	memcpy(bytes, t->pending, n);
	got = read(t->opts.in, bytes + n, sizeof(bytes) - n);
	if (got < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (got <= 0) {
		loop_fd_free(TAKE(t->keys));
		t->opts.on_key(t->opts.arg, TERMINAL_CLOSED);
		return;
	}
	rest = str_of(bytes, n + (size_t)got);
	do {
		key = terminal_key_parse(rest, &used);
		rest = str_skip(rest, used);
		if (key == TERMINAL_SUSPEND)
			suspend(t);
		else if (key)
			t->opts.on_key(t->opts.arg, key);
	} while (used && rest.n);
	t->npending = rest.n < sizeof(t->pending) ? rest.n : 0; /* drop bytes that are not a key */
	memcpy(t->pending, rest.p, t->npending);
	if (t->npending == 1 && t->pending[0] == '\033')
		loop_timer_start(&t->escape, ESCAPE_MS);
}

static void on_resized(void *arg, int signum UNUSED)
{
	struct terminal *t = arg;

	t->opts.on_resize(t->opts.arg);
}

int terminal_open(const struct terminal_opts *opts, struct terminal **ret_terminal,
		  struct error *err)
{
	struct terminal *t = XNEW(struct terminal);
	int r;

	t->opts = *opts;
	t->pipe = -1;
	loop_timer_init(&t->escape, opts->loop, on_escape);
	if (tcgetattr(opts->out, &t->before) < 0) {
		r = error_set_errno(err, ERR_IO, errno, "no terminal");
		free(t);
		return r;
	}
	r = start_guard(t, err);
	if (r == 0)
		r = loop_fd_new(opts->loop, opts->in, on_readable, t, &t->keys, err);
	if (r == 0)
		r = loop_signal_new(opts->loop, SIGWINCH, on_resized, t, &t->resized, err);
	if (r == 0)
		r = loop_signal_new(opts->loop, SIGCONT, on_continued, t, &t->continued, err);
	if (r == 0)
		r = terminal_enter(t, err);
	if (r < 0) {
		terminal_close(t);
		return r;
	}
	*ret_terminal = t;
	return 0;
}

void terminal_close(struct terminal *t)
{
	if (!t)
		return;
	loop_timer_stop(&t->escape);
	loop_fd_free(t->keys);
	loop_signal_free(t->resized);
	loop_signal_free(t->continued);
	terminal_leave(t);
	stop_guard(t);
	free(t);
}

void terminal_size(const struct terminal *t, size_t *ret_columns, size_t *ret_lines)
{
	struct winsize size = { 0 };

	(void)ioctl(t->opts.out, TIOCGWINSZ, &size);
	*ret_columns = size.ws_col ? size.ws_col : 80;
	*ret_lines = size.ws_row ? size.ws_row : 24;
}

void terminal_draw(struct terminal *t, struct str text)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(16 * MIB);

	(void)buf_addz(&out, "\033[H");
	while (text.n > 0 && text.p[text.n - 1] == '\n')
		text.n--;
	for (size_t i = 0; i < text.n; i++) {
		if (text.p[i] == '\n')
			(void)buf_addz(&out, "\033[K\r\n");
		else
			(void)buf_addc(&out, text.p[i]);
	}
	(void)buf_addz(&out, "\033[K\033[J");
	terminal_write_all(t->opts.out, out.p, out.n);
}
