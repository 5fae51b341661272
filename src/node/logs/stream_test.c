/*
 * Logs as replies, with real files, a simulated loop and network, and a client that may pause.
 */
#include "node/logs/stream.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/system/file.h"
#include "net/http/client.h"
#include "net/http/server.h"
#include "net/loop/loop.h"
#include "net/sim/sim.h"

#define HEAD "2024-01-01T00:00:00.000000000Z stdout F "

enum {
	LARGE = 3000000,
	SOON_MS = 50,
	SETTLING_MS = 80,
	LATER_MS = 3000,
	HOURS_MS = 4 * 3600 * 1000
};

struct world {
	struct sim *sim;
	struct loop *loops[2]; /* agent, reader */
	struct http_server *server;
	struct http_client *client;
	struct http_stream *answer; /* at the client; NULL: closed */
	struct log_stream *stream;
	struct log_stream_opts opts;
	char dir[64], path[96];
	struct buf got;
	int status, fd; /* `fd` is the stream's file */
	size_t held; /* bytes that the client has not taken */
	bool rests, running, ended, failed, drained;
};

/* --- the file ---------------------------------------------------------------------- */

static void write_to(struct world *w, int flags, const char *text)
{
	int fd = open(w->path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	(void)close(fd);
}

static void append(struct world *w, const char *text)
{
	write_to(w, O_APPEND, text);
	sim_touch(w->sim, w->dir, "0.log");
}

static void fill(struct world *w, size_t n)
{
	char *text = malloc(n + 1);

	memset(text, 'x', n);
	memcpy(text, HEAD, strlen(HEAD));
	text[n - 1] = '\n';
	text[n] = '\0';
	write_to(w, O_TRUNC, text);
	free(text);
}

/* --- the server -------------------------------------------------------------------- */

static bool running(void *arg)
{
	return ((struct world *)arg)->running;
}

static void on_failed(void *arg, const struct error *err)
{
	struct world *w = arg;

	http_stream_fail(w->opts.http, err);
}

static void on_writable(struct http_stream *s)
{
	log_stream_writable(((struct world *)s->data)->stream);
}

static void on_close(struct http_stream *s, const struct error *err UNUSED)
{
	struct world *w = s->data;

	log_stream_free(TAKE(w->stream));
}

static const struct http_stream_ops server_ops = { .on_writable = on_writable,
						   .on_close = on_close };

static void handle(void *arg, struct http_stream *s, size_t lane UNUSED)
{
	struct world *w = arg;

	s->ops = &server_ops;
	s->data = w;
	w->opts.http = s;
	/* The next open() gets the lowest free descriptor. */
	w->fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	(void)close(w->fd);
	assert_int_equal(log_stream_new(&w->opts, &w->stream, NULL), 0);
}

/* --- the client -------------------------------------------------------------------- */

static void got_head(struct http_stream *s)
{
	((struct world *)s->data)->status = s->in.status;
}

static void got_body(struct http_stream *s, struct str piece)
{
	struct world *w = s->data;

	(void)buf_add_str(&w->got, piece);
	w->held += piece.n;
	if (w->rests)
		return;
	http_stream_consume(s, w->held);
	w->held = 0;
}

static void got_end(struct http_stream *s)
{
	((struct world *)s->data)->ended = true;
}

static void got_close(struct http_stream *s, const struct error *err)
{
	struct world *w = s->data;

	w->failed = err != NULL;
	w->answer = NULL;
}

static const struct http_stream_ops reader_ops = {
	.on_head = got_head, .on_body = got_body, .on_end = got_end, .on_close = got_close
};

static void ask(struct world *w)
{
	struct http_client_opts opts = { .protocol = HTTP_PROTOCOL_1 };
	struct http_request r = { .method = STR("GET"),
				  .authority = STR("agent"),
				  .target = STR("/"),
				  .end = true,
				  .ops = &reader_ops,
				  .data = w };

	assert_int_equal(addr_parse(&opts.to, STR("agent:80"), 0, NULL), 0);
	assert_int_equal(http_client_new(w->loops[1], &opts, &w->client, NULL), 0);
	assert_int_equal(http_client_request(w->client, &r, &w->answer, NULL), 0);
}

static void check_got(struct world *w, int64_t ms, const char *text)
{
	sim_run_for(w->sim, ms);
	assert_string_equal(w->got.p ? w->got.p : "", text);
}

/* --- life -------------------------------------------------------------------------- */

static int begin(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	struct sim_opts so = { .seed = 1 };
	struct addr at;
	struct http_server_opts o = { .nloops = 1, .handler = handle, .arg = w };

	w->sim = sim_new(&so);
	w->loops[0] = sim_loop_new(w->sim, "agent");
	w->loops[1] = sim_loop_new(w->sim, "reader");
	buf_init(&w->got, 1 << 24);
	(void)snprintf(w->dir, sizeof(w->dir), "/tmp/log_stream_test.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	(void)snprintf(w->path, sizeof(w->path), "%s/0.log", w->dir);
	w->running = true;
	w->opts = (struct log_stream_opts){ .loop = w->loops[0],
					    .path = w->path,
					    .tail = -1,
					    .running = running,
					    .failed = on_failed,
					    .arg = w };
	o.loops = w->loops;
	w->server = http_server_new(&o);
	assert_int_equal(addr_parse(&at, STR(":80"), 0, NULL), 0);
	assert_int_equal(http_server_listen(w->server, &at, NULL, 0, NULL, NULL), 0);
	*state = w;
	return 0;
}

static void on_drained(void *arg)
{
	((struct world *)arg)->drained = true;
}

static int end(void **state)
{
	struct world *w = *state;

	http_client_free(w->client);
	http_server_drain(w->server, 0, on_drained, w);
	sim_run_for(w->sim, LATER_MS);
	assert_true(w->drained);
	http_server_free(w->server);
	loop_free(w->loops[0]);
	loop_free(w->loops[1]);
	sim_free(w->sim);
	(void)unlink(w->path);
	(void)rmdir(w->dir);
	buf_release(&w->got);
	free(w);
	return 0;
}

/* --- tests ------------------------------------------------------------------------- */

static void all_of_it_and_its_end(void **state)
{
	struct world *w = *state;

	write_to(w, 0, HEAD "one\n" HEAD "two\n");
	ask(w);
	check_got(w, SOON_MS, "one\ntwo\n");
	assert_int_equal(w->status, 200);
	assert_true(w->ended && !w->failed);
}

static void its_last_lines(void **state)
{
	struct world *w = *state;

	fill(w, LARGE);
	append(w, HEAD "one\n" HEAD "two\n");
	w->opts.tail = 2;
	ask(w);
	check_got(w, SOON_MS, "one\ntwo\n");
	assert_true(w->ended);
}

static void more_lines_than_it_has(void **state)
{
	struct world *w = *state;

	fill(w, LARGE);
	w->opts.tail = 2000000000;
	ask(w);
	sim_run_for(w->sim, LATER_MS);
	assert_int_equal(w->got.n, LARGE - strlen(HEAD));
	assert_true(w->ended);
}

static bool has_begun(void *arg)
{
	return ((struct world *)arg)->stream != NULL;
}

static void a_search_that_fails_is_answered(void **state)
{
	struct world *w = *state;

	fill(w, LARGE);
	w->opts.tail = 5;
	ask(w);
	assert_true(sim_run_until(w->sim, has_begun, w, SOON_MS));
	assert_int_equal(truncate(w->path, 0), 0);
	sim_run_for(w->sim, SOON_MS);
	assert_int_equal(w->status, 500);
	assert_true(w->ended);
}

static void a_file_that_cannot_be_read_is_not_its_end(void **state)
{
	struct world *w = *state;
	int folder = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	fill(w, LARGE);
	w->rests = true;
	ask(w);
	sim_run_for(w->sim, SOON_MS);
	assert_true(w->got.n < LARGE / 2);
	assert_int_equal(dup2(folder, w->fd), w->fd);
	(void)close(folder);
	w->rests = false;
	http_stream_consume(w->answer, w->held);
	sim_run_for(w->sim, LATER_MS);
	assert_false(w->ended);
	assert_true(w->failed);
}

static void a_reader_can_pause_for_hours(void **state)
{
	struct world *w = *state;

	fill(w, LARGE);
	w->rests = true;
	ask(w);
	sim_run_for(w->sim, HOURS_MS);
	assert_non_null(w->stream);
	w->rests = false;
	http_stream_consume(w->answer, w->held);
	w->held = 0;
	sim_run_for(w->sim, LATER_MS);
	assert_int_equal(w->got.n, LARGE - strlen(HEAD));
	assert_true(w->ended && !w->failed);
}

static void a_log_is_followed_until_the_container_ends(void **state)
{
	struct world *w = *state;

	write_to(w, 0, HEAD "one\n");
	w->opts.follow = true;
	ask(w);
	check_got(w, LATER_MS, "one\n");
	append(w, HEAD "two\n");
	check_got(w, SOON_MS, "one\ntwo\n");
	/* Without a notification it checks nevertheless. */
	write_to(w, O_APPEND, HEAD "three\n");
	check_got(w, LATER_MS, "one\ntwo\nthree\n");
	assert_false(w->ended);
	write_to(w, O_APPEND, HEAD "last\n");
	w->running = false;
	check_got(w, LATER_MS, "one\ntwo\nthree\nlast\n");
	assert_true(w->ended && !w->failed);
}

static void a_folder_that_cannot_be_watched_is_looked_at(void **state)
{
	struct world *w = *state;

	write_to(w, 0, HEAD "one\n");
	w->opts.follow = true;
	sim_rmdir(w->sim, w->dir);
	ask(w);
	check_got(w, SOON_MS, "one\n");
	append(w, HEAD "two\n");
	check_got(w, LATER_MS, "one\ntwo\n");
}

/* Follows a log with the line "one", and renames it. Returns the renamed file, open for writing. */
static int rotate_followed(struct world *w, char *old, size_t size)
{
	int fd;

	(void)snprintf(old, size, "%s.old", w->path);
	write_to(w, 0, HEAD "one\n");
	w->opts.follow = true;
	ask(w);
	check_got(w, LATER_MS, "one\n");
	fd = open(w->path, O_WRONLY | O_APPEND | O_CLOEXEC);
	assert_int_equal(rename(w->path, old), 0);
	return fd;
}

/* The runtime may still write into the old file for a moment. */
static void a_rotated_log_is_read_to_its_end_before_the_new_one(void **state)
{
	struct world *w = *state;
	char old[128];
	int fd = rotate_followed(w, old, sizeof(old));

	append(w, HEAD "three\n");
	check_got(w, SOON_MS, "one\n");
	assert_int_equal(write(fd, HEAD "two\n", strlen(HEAD "two\n")), strlen(HEAD "two\n"));
	(void)close(fd);
	check_got(w, LATER_MS, "one\ntwo\nthree\n");
	append(w, HEAD "four\n");
	check_got(w, SOON_MS, "one\ntwo\nthree\nfour\n");
	(void)unlink(old);
}

/* A busy runtime has opened the new file, but does not use it yet. */
static void an_old_log_is_followed_until_the_new_one_is_written(void **state)
{
	struct world *w = *state;
	char old[128];
	int fd = rotate_followed(w, old, sizeof(old));

	append(w, "");
	check_got(w, LATER_MS, "one\n");
	assert_int_equal(write(fd, HEAD "two\n", strlen(HEAD "two\n")), strlen(HEAD "two\n"));
	append(w, HEAD "five\n");
	/* It still flushes its buffers. */
	for (int i = 0; i < 2; i++) {
		sim_run_for(w->sim, SETTLING_MS);
		assert_int_equal(write(fd, HEAD "more\n", strlen(HEAD "more\n")),
				 strlen(HEAD "more\n"));
		sim_touch(w->sim, w->dir, "0.log.old");
	}
	(void)close(fd);
	check_got(w, LATER_MS, "one\ntwo\nmore\nmore\nfive\n");
	(void)unlink(old);
}

static void a_log_that_is_cut_begins_anew(void **state)
{
	struct world *w = *state;

	write_to(w, 0, HEAD "one\n" HEAD "two\n");
	w->opts.follow = true;
	ask(w);
	check_got(w, LATER_MS, "one\ntwo\n");
	write_to(w, O_TRUNC, HEAD "new\n");
	check_got(w, LATER_MS, "one\ntwo\nnew\n");
}

#define CASE(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(all_of_it_and_its_end),
		CASE(its_last_lines),
		CASE(more_lines_than_it_has),
		CASE(a_search_that_fails_is_answered),
		CASE(a_file_that_cannot_be_read_is_not_its_end),
		CASE(a_reader_can_pause_for_hours),
		CASE(a_log_is_followed_until_the_container_ends),
		CASE(a_folder_that_cannot_be_watched_is_looked_at),
		CASE(a_rotated_log_is_read_to_its_end_before_the_new_one),
		CASE(an_old_log_is_followed_until_the_new_one_is_written),
		CASE(a_log_that_is_cut_begins_anew),
	};

	return cmocka_run_group_tests_name("node/log_stream", tests, NULL, NULL);
}
