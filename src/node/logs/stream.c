/*
 * It checks whether the container runs before the last read of the file, not after, so that output
 * from just before the end is surely read.
 */
#include "node/logs/stream.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "net/http/http.h"
#include "net/loop/loop.h"
#include "node/logs/file.h"

/* A runtime may write to the old file for a moment after the new one exists. */
enum { PIECE = 32 * 1024, CHECK_MS = 1000, SETTLE_MS = 100 };

struct log_stream {
	struct log_stream_opts opts;
	struct log_reader reader;
	struct loop_task task; /* the next piece */
	struct loop_timer timer; /* until the next check without a notification */
	struct loop_watch *watch; /* of the folder; NULL: not waiting yet, or not possible */
	char *path;
	int fd;
	int64_t at; /* offset in the file */
	struct log_file_tail tail; /* while seeking */
	bool seeking; /* searching for the last lines; the reply has not begun */
	/*
	 * ms: when a new file replaced this one, or when this one last grew after that; 0: not
	 * replaced
	 */
	int64_t replaced_at;
	bool ending; /* the container does not run: this read is the last */
	bool over; /* the reply is complete */
};

static void stream_on_changed(void *arg, struct str name UNUSED, const struct error *err)
{
	struct log_stream *s = arg;

	if (err)
		loop_watch_free(TAKE(s->watch)); /* the timer does it */
	if (!s->over)
		loop_defer(s->opts.loop, &s->task);
}

static void stream_on_timer(struct loop_timer *t)
{
	struct log_stream *s = CONTAINER_OF(t, struct log_stream, timer);

	loop_defer(s->opts.loop, &s->task);
}

static void stream_finish(struct log_stream *s)
{
	s->over = true;
	loop_timer_stop(&s->timer);
	(void)http_stream_end(s->opts.http, NULL, 0);
}

/* A change between the last read and the watch would be missed: read again. */
static bool begin_watch(struct log_stream *s)
{
	char *slash;

	if (s->watch || loop_timer_running(&s->timer))
		return false;
	slash = strrchr(s->path, '/');
	if (!slash)
		return false;
	*slash = '\0';
	(void)loop_watch_new(s->opts.loop, s->path, stream_on_changed, s, &s->watch, NULL);
	*slash = '/';
	return s->watch != NULL;
}

/* Switches to the file that replaced this one, once the old one no longer grows. */
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
		stream_finish(s);
		return;
	}
	if (log_file_size(s->fd) < s->at) { /* truncated: continue at its beginning */
		s->at = 0;
		log_reader_restart(&s->reader);
		again = true;
	} else {
		again = take_next(s) || begin_watch(s);
	}
	if (!again && s->ending && s->replaced_at == 0) {
		stream_finish(s);
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

static void stream_begin(struct log_stream *s)
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
		stream_begin(s);
	} else {
		s->over = true;
		s->opts.failed(s->opts.arg, &err); /* may free it */
	}
}

/* A partial log must not look complete, so the stream is reset. */
static void stream_cut(struct log_stream *s)
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
		stream_cut(s);
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
		stream_finish(s);
	else
		loop_defer(s->opts.loop, &s->task);
}

static void stream_on_task(struct loop_task *t)
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
	/* Lines written during the read do not count as last lines. */
	reader.records = opts->follow ? -1 : opts->tail;
	s = XNEW(struct log_stream);
	s->opts = *opts;
	s->path = xstrdup(opts->path);
	s->opts.path = s->path;
	s->fd = fd;
	log_reader_init(&s->reader, &reader);
	loop_task_init(&s->task, stream_on_task);
	loop_timer_init(&s->timer, opts->loop, stream_on_timer);
	if (opts->tail >= 0) {
		s->seeking = true;
		s->tail = log_file_tail_begin(fd, opts->tail);
		loop_defer(opts->loop, &s->task);
	} else {
		stream_begin(s);
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
