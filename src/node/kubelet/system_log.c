/*
 * A file is read in pieces, one per turn of the loop, and only while the connection has room. Log
 * folders are local, so that reading does not block for long.
 */
#include "node/kubelet/system_log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/core/limits.h"
#include "base/core/mem.h"
#include "net/http/http.h"
#include "net/loop/loop.h"
#include "net/loop/url.h"

enum {
	FILE_FLAGS = O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY,
	FOLDER_FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC,
	FILE_PIECE = 32 * 1024,
	ENTRIES_MAX = 10000,
};

struct system_log {
	struct system_log_opts opts;
	struct loop_task task;
	int fd;
	int64_t at, end;
	bool over;
};

/* --- opening ------------------------------------------------------------------------ */

static int open_beneath(int folder, const char *path)
{
	struct open_how how = { .flags = FILE_FLAGS,
				.resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS };

	return (int)syscall(SYS_openat2, folder, path, &how, sizeof(how));
}

/* One name after the other, without following links. Takes the folder's descriptor. */
static int open_stepwise(int folder, struct str path)
{
	char name[NAME_MAX + 1];
	struct str piece;
	int at = folder;

	while (at >= 0 && str_split(&path, '/', &piece)) {
		int next, flags = path.n > 0 ? FOLDER_FLAGS : FILE_FLAGS;

		if (piece.n == 0 || str_eqz(piece, "."))
			continue;
		if (str_eqz(piece, "..") || piece.n > NAME_MAX) {
			(void)close(at);
			errno = ENOENT;
			return -1;
		}
		(void)snprintf(name, sizeof(name), "%.*s", STR_ARG(piece));
		next = openat(at, name, flags | O_NOFOLLOW);
		(void)close(at);
		at = next;
	}
	return at;
}

static int open_failed(struct str path, struct error *err)
{
	if (errno == EACCES || errno == EPERM)
		return error_set(err, ERR_FORBIDDEN, "cannot open \"%.*s\"", STR_ARG(path));
	return error_set(err, ERR_NOT_FOUND, "404 page not found");
}

int system_log_open(const char *folder, struct str path, bool plain, int *ret_fd, struct error *err)
{
	char *text;
	int top = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC), fd = -1;

	while (path.n > 0 && path.p[0] == '/')
		path = str_skip(path, 1);
	if (top < 0)
		return open_failed(path, err);
	if (path.n == 0) {
		*ret_fd = top;
		return 0;
	}
	text = str_dup(path);
	if (!plain)
		fd = open_beneath(top, text);
	if (plain || (fd < 0 && errno == ENOSYS))
		fd = open_stepwise(top, path);
	else
		(void)close(top);
	free(text);
	if (fd < 0)
		return open_failed(path, err);
	*ret_fd = fd;
	return 0;
}

/* --- lists -------------------------------------------------------------------------- */

static void put_html(struct buf *out, struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		switch (s.p[i]) {
		case '&':
			(void)buf_addz(out, "&amp;");
			break;
		case '<':
			(void)buf_addz(out, "&lt;");
			break;
		case '>':
			(void)buf_addz(out, "&gt;");
			break;
		case '"':
			(void)buf_addz(out, "&#34;");
			break;
		default:
			(void)buf_addc(out, s.p[i]);
		}
	}
}

/* Escapes all but letters, digits and a few marks. "./" keeps a colon from being a scheme. */
static void put_href(struct buf *out, struct str s)
{
	(void)buf_addz(out, "./");
	for (size_t i = 0; i < s.n; i++) {
		char c = s.p[i];

		if (str_is_alnum(c) || c == '-' || c == '_' || c == '.' || c == '/')
			(void)buf_addc(out, c);
		else
			(void)buf_printf(out, "%%%02X", (unsigned char)c);
	}
}

static int name_order(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static size_t read_names(DIR *d, struct arena *a, char **names)
{
	struct dirent *e;
	struct stat st;
	size_t n = 0;

	while (n < ENTRIES_MAX && (e = readdir(d))) {
		bool folder;

		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
			continue;
		folder = fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			 S_ISDIR(st.st_mode);
		names[n++] = arena_printf(a, "%s%s", e->d_name, folder ? "/" : "");
	}
	qsort(names, n, sizeof(names[0]), name_order);
	return n;
}

int system_log_list(int fd, struct arena *a, struct buf *out, struct error *err)
{
	char **names = ARENA_ARRAY(a, char *, ENTRIES_MAX);
	DIR *d = fdopendir(fd);
	size_t n;

	if (!d) {
		(void)close(fd);
		return error_set_errno(err, ERR_INTERNAL, errno, "Error reading directory");
	}
	n = read_names(d, a, names);
	(void)closedir(d);
	(void)buf_addz(out, "<!doctype html>\n<meta name=\"viewport\" "
			    "content=\"width=device-width\">\n<pre>\n");
	for (size_t i = 0; i < n; i++) {
		(void)buf_addz(out, "<a href=\"");
		put_href(out, str_from(names[i]));
		(void)buf_addz(out, "\">");
		put_html(out, str_from(names[i]));
		(void)buf_addz(out, "</a>\n");
	}
	(void)buf_addz(out, "</pre>\n");
	return 0;
}

static int serve_list(const struct system_log_opts *o, int fd, struct error *err)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(16 * MIB);
	struct http_field type = HTTP_FIELD("content-type", STR("text/html; charset=utf-8"));
	int r = system_log_list(fd, &o->http->arena, &text, err);

	if (r < 0)
		return r;
	if (http_stream_respond(o->http, 200, &type, 1, (int64_t)text.n) < 0)
		return 0;
	(void)http_stream_send_copy(o->http, buf_str(&text));
	(void)http_stream_end(o->http, NULL, 0);
	return 0;
}

/* Links in the list are relative to the folder, so its address must end with a slash. */
static void redirect(const struct system_log_opts *o)
{
	struct str path = o->http->in.path, name = path;
	struct http_field to;

	for (size_t i = 0; i < path.n; i++) {
		if (path.p[i] == '/')
			name = str_skip(path, i + 1);
	}
	to = (struct http_field)HTTP_FIELD(
		"location", str_from(arena_printf(&o->http->arena, "./%.*s/", STR_ARG(name))));
	if (http_stream_respond(o->http, 301, &to, 1, 0) == 0)
		(void)http_stream_end(o->http, NULL, 0);
}

/* --- files -------------------------------------------------------------------------- */

static void file_cut(struct system_log *s)
{
	struct error err;

	(void)error_set(&err, ERR_IO, "the file became shorter, or cannot be read");
	s->over = true;
	http_stream_reset(s->opts.http, &err); /* may free it */
}

static void file_send(struct system_log *s)
{
	char piece[FILE_PIECE];
	size_t most = (size_t)MIN((int64_t)sizeof(piece), s->end - s->at);
	ssize_t n = most > 0 ? pread(s->fd, piece, most, s->at) : 0;

	if (n < 0 || (n == 0 && most > 0)) {
		file_cut(s);
		return;
	}
	s->at += n;
	if (n > 0)
		(void)http_stream_send_copy(s->opts.http, str_of(piece, (size_t)n));
	if (s->at < s->end) {
		loop_defer(s->opts.loop, &s->task);
		return;
	}
	s->over = true;
	(void)http_stream_end(s->opts.http, NULL, 0);
}

static void file_on_task(struct loop_task *t)
{
	struct system_log *s = CONTAINER_OF(t, struct system_log, task);

	if (!s->over && http_stream_room(s->opts.http) > 0)
		file_send(s);
}

void system_log_writable(struct system_log *s)
{
	if (!s->over)
		loop_defer(s->opts.loop, &s->task);
}

static struct str type_of(int fd)
{
	char head[512];
	ssize_t n = pread(fd, head, sizeof(head), 0);

	return n > 0 && memchr(head, '\0', (size_t)n) ? STR("application/octet-stream")
						      : STR("text/plain; charset=utf-8");
}

static void serve_file(const struct system_log_opts *o, int fd, int64_t size,
		       struct system_log **ret_log)
{
	struct http_field type = HTTP_FIELD("content-type", type_of(fd));
	struct system_log *s = XNEW(struct system_log);

	s->opts = *o;
	s->fd = fd;
	s->end = size;
	loop_task_init(&s->task, file_on_task);
	*ret_log = s;
	if (http_stream_respond(o->http, 200, &type, 1, size) == 0)
		loop_defer(o->loop, &s->task);
}

/* --- all ---------------------------------------------------------------------------- */

int system_log_serve(const struct system_log_opts *opts, struct system_log **ret_log,
		     struct error *err)
{
	struct str path = opts->http->in.path;
	struct stat st;
	int fd = -1, r;

	*ret_log = NULL;
	r = system_log_open(opts->folder, opts->path, false, &fd, err);
	if (r < 0)
		return r;
	if (fstat(fd, &st) == 0 && S_ISDIR(st.st_mode) && path.p[path.n - 1] == '/')
		return serve_list(opts, fd, err);
	if (S_ISREG(st.st_mode)) {
		serve_file(opts, fd, st.st_size, ret_log);
		return 0;
	}
	(void)close(fd);
	if (!S_ISDIR(st.st_mode))
		return error_set(err, ERR_FORBIDDEN, "not a regular file");
	redirect(opts);
	return 0;
}

void system_log_free(struct system_log *s)
{
	if (!s)
		return;
	loop_task_cancel(&s->task);
	(void)close(s->fd);
	free(s);
}
