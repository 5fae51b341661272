/*
 * Whether the container runs is asked before the last look into the file, not after: what it wrote
 * just before its end is then surely read.
 */
#include "node/logs/stream.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "net/http/http.h"
#include "net/loop/loop.h"
#include "node/logs/file.h"

/* A runtime may write into the old file for a moment when the new one is there already. */
enum { PIECE = 32 * 1024, CHECK_MS = 1000, SETTLE_MS = 100 };

struct log_stream {
	struct log_stream_opts opts;
	struct log_reader reader;
	struct loop_task task; /* the next piece */
	struct loop_timer timer; /* until it is looked at without a reason */
	struct loop_watch *watch; /* of the folder; NULL: not waited for yet, or impossible */
	char *path;
	int fd;
	int64_t at; /* in the file */
	struct log_file_tail tail; /* while it seeks */
	bool seeking; /* where the last lines begin; the answer has not begun */
	/* ms: when a new file took its place, or this one grew last since then; 0: neither */
	int64_t replaced_at;
	bool ending; /* the container does not run: this look is the last */
	bool over; /* the answer is complete */
};

static void on_changed(void *arg, struct str name UNUSED, const struct error *err)
{
	struct log_stream *s = arg;

	if (err)
		loop_watch_free(TAKE(s->watch)); /* the timer does */
	if (!s->over)
		loop_defer(s->opts.loop, &s->task);
}

static void on_timer(struct loop_timer *t)
{
	struct log_stream *s = CONTAINER_OF(t, struct log_stream, timer);

	loop_defer(s->opts.loop, &s->task);
}

static void finish(struct log_stream *s)
{
	s->over = true;
	loop_timer_stop(&s->timer);
	(void)http_stream_end(s->opts.http, NULL, 0);
}

/* A change after the last look and before the watch would be missed: look again. */
static bool begin_watch(struct log_stream *s)
{
	char *slash;

	if (s->watch || loop_timer_running(&s->timer))
		return false;
	slash = strrchr(s->path, '/');
	if (!slash)
		return false;
	*slash = '\0';
	(void)loop_watch_new(s->opts.loop, s->path, on_changed, s, &s->watch, NULL);
	*slash = '/';
	return s->watch != NULL;
}

/* The file that has taken its place, when nobody writes into the old one any more. */
static bool take_next(struct log_stream *s)
{
	int64_t now = loop_now(s->opts.loop);
	int fd;

	if (!log_file_replaced(s->fd, s->path)) {
		s->replaced_at = 0;
		return false;
	}
	if (s->replaced_at == 0)
		s->replaced_at = MAX(now, 1);
	if (now - s->replaced_at < SETTLE_MS)
		return false;
	s->replaced_at = 0;
	if (log_file_open(s->path, &fd, NULL) < 0)
		return false;
	(void)close(s->fd);
	s->fd = fd;
	s->at = 0;
	log_reader_restart(&s->reader);
	return true;
}

/* There is nothing more at the moment. */
static void wait_for_more(struct log_stream *s)
{
	bool again;

	if (!s->opts.follow) {
		finish(s);
		return;
	}
	if (log_file_size(s->fd) < s->at) { /* cut: what comes now is at its beginning */
		s->at = 0;
		log_reader_restart(&s->reader);
		again = true;
	} else {
		again = take_next(s) || begin_watch(s);
	}
	if (!again && s->ending && s->replaced_at == 0) {
		finish(s);
		return;
	}
	if (!s->ending && !s->opts.running(s->opts.arg)) {
		s->ending = true;
		again = true;
	}
	loop_timer_start(&s->timer, s->replaced_at > 0 ? SETTLE_MS : CHECK_MS);
	if (again)
		loop_defer(s->opts.loop, &s->task);
}

static void begin(struct log_stream *s)
{
	struct http_field type = HTTP_FIELD("content-type", STR("text/plain"));

	s->seeking = false;
	http_stream_patient(s->opts.http);
	(void)http_stream_respond(s->opts.http, 200, &type, 1, -1);
	if (!s->over)
		loop_defer(s->opts.loop, &s->task);
}

static void seek(struct log_stream *s)
{
	struct error err;
	int r = log_file_tail_step(s->fd, &s->tail, &s->at, &err);

	if (r == 0) {
		loop_defer(s->opts.loop, &s->task);
	} else if (r > 0) {
		begin(s);
	} else {
		s->over = true;
		s->opts.failed(s->opts.arg, &err); /* may free it */
	}
}

/* Half a log must not look like all of it. */
static void cut(struct log_stream *s)
{
	struct error err;

	(void)error_set_errno(&err, ERR_IO, errno, "the log cannot be read");
	s->over = true;
	loop_timer_stop(&s->timer);
	http_stream_reset(s->opts.http, &err); /* may free it */
}

static void send_piece(struct log_stream *s)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(2 * PIECE + LOG_READER_HEAD_MAX);
	char piece[PIECE];
	ssize_t n;
	bool done;

	n = pread(s->fd, piece, sizeof(piece), s->at);
	if (n < 0) {
		cut(s);
		return;
	}
	if (n == 0) {
		wait_for_more(s);
		return;
	}
	s->at += n;
	s->replaced_at = 0;
	done = log_reader_feed(&s->reader, str_of(piece, (size_t)n), &out);
	if (out.n > 0)
		(void)http_stream_send_copy(s->opts.http, buf_str(&out));
	if (done)
		finish(s);
	else
		loop_defer(s->opts.loop, &s->task);
}

static void on_task(struct loop_task *t)
{
	struct log_stream *s = CONTAINER_OF(t, struct log_stream, task);

	if (s->over)
		return;
	if (s->seeking)
		seek(s);
	else if (http_stream_room(s->opts.http) > 0)
		send_piece(s);
}

void log_stream_writable(struct log_stream *s)
{
	if (!s->over && !s->seeking)
		loop_defer(s->opts.loop, &s->task);
}

int log_stream_new(const struct log_stream_opts *opts, struct log_stream **ret_stream,
		   struct error *err)
{
	struct log_reader_opts reader = opts->reader;
	struct log_stream *s;
	int fd, r;

	r = log_file_open(opts->path, &fd, err);
	if (r < 0)
		return r;
	/* What is written while it is read does not make more of its last lines. */
	reader.records = opts->follow ? -1 : opts->tail;
	s = XNEW(struct log_stream);
	s->opts = *opts;
	s->path = xstrdup(opts->path);
	s->opts.path = s->path;
	s->fd = fd;
	log_reader_init(&s->reader, &reader);
	loop_task_init(&s->task, on_task);
	loop_timer_init(&s->timer, opts->loop, on_timer);
	if (opts->tail >= 0) {
		s->seeking = true;
		s->tail = log_file_tail_begin(fd, opts->tail);
		loop_defer(opts->loop, &s->task);
	} else {
		begin(s);
	}
	*ret_stream = s;
	return 0;
}

void log_stream_free(struct log_stream *s)
{
	if (!s)
		return;
	loop_task_cancel(&s->task);
	loop_timer_stop(&s->timer);
	loop_watch_free(s->watch);
	(void)close(s->fd);
	free(s->path);
	free(s);
}
