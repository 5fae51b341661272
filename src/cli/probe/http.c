/*
 * Each resource is a row and a small handler; a handler's lasting state lives in the stream's
 * arena. Producers fill the available room and wait for on_writable, so a slow reader costs one
 * window of memory.
 */
#include "cli/probe/http.h"

#include <inttypes.h>

#include "base/core/limits.h"
#include "base/json/writer.h"
#include "base/report/metrics.h"
#include "net/loop/addr.h"
#include "net/loop/conn.h"
#include "net/loop/gzip.h"
#include "net/loop/loop.h"

enum {
	PIECE = 16 * 1024, /* produced and compressed at a time */
	GZIP_ABOVE = 128 * 1024, /* smaller replies are not compressed */
	SLEEP_MAX_MS = 60 * 1000,
};

static const struct str plain = { "text/plain; charset=utf-8", 25 };
static const struct str json_type = { "application/json", 16 };

static void no_close(struct http_stream *s UNUSED, const struct error *err UNUSED)
{
}

static const struct http_stream_ops quiet_ops = { .on_close = no_close };

static void reply_text(struct http_stream *s, int status, struct str text)
{
	struct bytes *b = bytes_copy(text);

	(void)http_stream_reply(s, status, plain, (struct slice){ b->data, b->n, b });
}

static void reply_buf(struct http_stream *s, struct str type, const struct buf *text)
{
	struct bytes *b = bytes_copy(buf_str(text));

	(void)http_stream_reply(s, 200, type, (struct slice){ b->data, b->n, b });
}

/*
 * The number after name= in the query, or `otherwise` if absent. Returns false if it is not a
 * number.
 */
static bool query_number(const struct http_head *in, struct str name, uint64_t otherwise,
			 uint64_t *ret_value)
{
	struct str rest = in->query, piece;

	*ret_value = otherwise;
	while (str_split(&rest, '&', &piece)) {
		if (!str_starts(piece, name) || piece.n == name.n || piece.p[name.n] != '=')
			continue;
		return str_to_u64(str_skip(piece, name.n + 1), ret_value);
	}
	return true;
}

static void bad_query(struct http_stream *s, const char *what)
{
	struct error err;

	(void)error_set(&err, ERR_BAD_REQUEST, "%s", what);
	http_stream_fail(s, &err);
}

/* --- small answers ------------------------------------------------------------------- */

static void handle_ok(struct http_stream *s, struct metrics *metrics UNUSED)
{
	(void)http_stream_reply(s, 200, plain, slice_static(STR("ok")));
}

static void handle_metrics(struct http_stream *s, struct metrics *metrics)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(16 * MIB);

	metrics_print(metrics, &text);
	reply_buf(s, STR("text/plain; version=0.0.4; charset=utf-8"), &text);
}

static void handle_status(struct http_stream *s, struct metrics *metrics UNUSED)
{
	uint64_t code;

	if (!query_number(&s->in, STR("code"), 200, &code) || code < 200 || code > 599) {
		bad_query(s, "code must be a number from 200 to 599");
		return;
	}
	reply_text(s, (int)code, str_from(http_status_text((int)code)));
}

static const char *version_name(enum http_version v)
{
	return v == HTTP_2 ? "HTTP/2" : v == HTTP_1_1 ? "HTTP/1.1" : "HTTP/1.0";
}

static void write_text(struct json_writer *w, const char *key, struct str value)
{
	json_writer_keyz(w, key);
	json_writer_str(w, str_is_utf8(value) ? value : STR("(not UTF-8)"));
}

/* Echoes how we understood the request, for debugging proxies. */
static void handle_request(struct http_stream *s, struct metrics *metrics UNUSED)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(MIB);
	struct conn *c = http_stream_conn(s);
	struct json_writer w;

	json_writer_init(&w, &text, NULL);
	json_writer_begin_object(&w);
	write_text(&w, "version", str_from(version_name(s->in.version)));
	write_text(&w, "method", s->in.method);
	write_text(&w, "scheme", s->in.scheme);
	write_text(&w, "authority", s->in.authority);
	write_text(&w, "path", s->in.path);
	write_text(&w, "query", s->in.query);
	write_text(&w, "peer", str_from(c ? conn_peer(c)->text : ""));
	json_writer_keyz(&w, "tls");
	json_writer_bool(&w, c && conn_is_tls(c));
	json_writer_keyz(&w, "headers");
	json_writer_begin_array(&w);
	for (size_t i = 0; i < s->in.fields.n; i++) {
		json_writer_begin_object(&w);
		write_text(&w, "name", s->in.fields.v[i].name);
		write_text(&w, "value", s->in.fields.v[i].value);
		json_writer_end_object(&w);
	}
	json_writer_end_array(&w);
	json_writer_end_object(&w);
	(void)buf_addc(&text, '\n');
	reply_buf(s, json_type, &text);
}

/* --- bodies in -------------------------------------------------------------------------- */

static void count_body(struct http_stream *s, struct str piece)
{
	http_stream_consume(s, piece.n);
}

static void count_end(struct http_stream *s)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(KIB);

	(void)buf_printf(&text, "{\"bytes\":%" PRId64 "}\n", s->received);
	reply_buf(s, json_type, &text);
}

static const struct http_stream_ops count_ops = {
	.on_body = count_body,
	.on_end = count_end,
};

static void handle_count(struct http_stream *s, struct metrics *metrics UNUSED)
{
	http_stream_limit_body(s, -1);
	http_stream_body_timeout(s, 30 * 1000, 0);
	s->ops = &count_ops;
}

/* The body is collected, so that the server's limit on bodies applies. */
static void echo_whole(struct http_stream *s, struct str body)
{
	struct bytes *b = bytes_copy(body);

	(void)http_stream_reply(s, 200, STR("application/octet-stream"),
				(struct slice){ b->data, b->n, b });
}

static void handle_echo(struct http_stream *s, struct metrics *metrics UNUSED)
{
	http_stream_body_timeout(s, 30 * 1000, 0);
	http_stream_collect(s, echo_whole);
}

/* --- both ways at once ------------------------------------------------------------------- */

/* Data are consumed only when they have been queued. */
static void pipe_body(struct http_stream *s, struct str piece)
{
	(void)http_stream_send_copy(s, piece);
	if (http_stream_room(s) > 0 && s->unconsumed)
		http_stream_consume(s, s->unconsumed);
}

static void pipe_writable(struct http_stream *s)
{
	http_stream_consume(s, s->unconsumed);
}

static void pipe_end(struct http_stream *s)
{
	(void)http_stream_end(s, NULL, 0);
}

static const struct http_stream_ops pipe_ops = {
	.on_body = pipe_body,
	.on_end = pipe_end,
	.on_writable = pipe_writable,
};

static void handle_pipe(struct http_stream *s, struct metrics *metrics UNUSED)
{
	http_stream_limit_body(s, -1);
	s->ops = &pipe_ops;
	(void)http_stream_respond(s, 200, NULL, 0, -1);
}

/* --- bodies out --------------------------------------------------------------------------- */

struct producer {
	uint64_t left;
	struct gzip *gzip; /* NULL: uncompressed */
};

static const char filler[PIECE] = { 0 };

static void produce_plain(struct http_stream *s, struct producer *p)
{
	size_t n;

	while (p->left && http_stream_room(s) > 0) {
		n = (size_t)MIN(p->left, (uint64_t)sizeof(filler));
		(void)http_stream_send(s, slice_static(str_of(filler, n)));
		p->left -= n;
	}
	if (!p->left)
		(void)http_stream_end(s, NULL, 0);
}

static void produce_gzip(struct http_stream *s, struct producer *p)
{
	CLEANUP(buf_release) struct buf out = BUF_INIT(PIECE);
	struct str in;
	int r = 0;

	while (r == 0 && http_stream_room(s) > 0) {
		in = str_of(filler, (size_t)MIN(p->left, (uint64_t)sizeof(filler)));
		buf_clear(&out);
		p->left -= in.n;
		r = gzip_step(p->gzip, &in, p->left == 0, &out, PIECE, NULL);
		p->left += in.n; /* the part it did not accept */
		if (r >= 0)
			(void)http_stream_send_copy(s, buf_str(&out));
	}
	if (r == 1)
		(void)http_stream_end(s, NULL, 0);
	else if (r < 0)
		http_stream_reset(s, NULL);
}

static void produce(struct http_stream *s)
{
	struct producer *p = s->data;

	if (p->gzip)
		produce_gzip(s, p);
	else
		produce_plain(s, p);
}

static void producer_close(struct http_stream *s, const struct error *err UNUSED)
{
	gzip_free(((struct producer *)s->data)->gzip);
}

static const struct http_stream_ops producer_ops = {
	.on_writable = produce,
	.on_close = producer_close,
};

static void handle_bytes(struct http_stream *s, struct metrics *metrics UNUSED)
{
	struct http_field fields[] = {
		HTTP_FIELD("content-type", STR("application/octet-stream")),
		HTTP_FIELD("content-encoding", STR("gzip")),
	};
	struct producer *p = ARENA_NEW(&s->arena, struct producer);
	bool zip;

	if (!query_number(&s->in, STR("n"), KIB, &p->left) || p->left > INT64_MAX) {
		bad_query(s, "n must be a number of bytes");
		return;
	}
	zip = p->left > GZIP_ABOVE &&
	      http_fields_has_token(&s->in.fields, STR("accept-encoding"), STR("gzip"));
	if (zip)
		p->gzip = gzip_deflate_new(1);
	s->ops = &producer_ops;
	s->data = p;
	if (http_stream_respond(s, 200, fields, zip ? 2 : 1, zip ? -1 : (int64_t)p->left) == 0)
		produce(s);
}

/* --- later ---------------------------------------------------------------------------------- */

struct sleeper {
	struct loop_timer timer;
	struct http_stream *stream;
};

static void on_awake(struct loop_timer *t)
{
	handle_ok(CONTAINER_OF(t, struct sleeper, timer)->stream, NULL);
}

static void sleeper_close(struct http_stream *s, const struct error *err UNUSED)
{
	loop_timer_stop(&((struct sleeper *)s->data)->timer);
}

static const struct http_stream_ops sleeper_ops = { .on_close = sleeper_close };

static void handle_sleep(struct http_stream *s, struct metrics *metrics UNUSED)
{
	struct sleeper *z = ARENA_NEW(&s->arena, struct sleeper);
	uint64_t ms;

	if (!query_number(&s->in, STR("ms"), 1000, &ms) || ms > SLEEP_MAX_MS) {
		bad_query(s, "ms must be a number of milliseconds, at most 60000");
		return;
	}
	z->stream = s;
	s->data = z;
	s->ops = &sleeper_ops;
	loop_timer_init(&z->timer, http_stream_loop(s), on_awake);
	loop_timer_start(&z->timer, (int64_t)ms);
}

/* --- the table -------------------------------------------------------------------------------- */

static void handle_index(struct http_stream *s, struct metrics *metrics);

struct row {
	const char *path;
	bool post; /* otherwise GET and HEAD */
	void (*handle)(struct http_stream *s, struct metrics *metrics);
	const char *help;
};

static const struct row rows[] = {
	{ "/", false, handle_index, "this list" },
	{ "/healthz", false, handle_ok, "ok" },
	{ "/livez", false, handle_ok, "ok" },
	{ "/readyz", false, handle_ok, "ok" },
	{ "/metrics", false, handle_metrics, "figures, for Prometheus" },
	{ "/request", false, handle_request, "the request as it arrived here" },
	{ "/status", false, handle_status, "?code=404: an answer with that status" },
	{ "/bytes", false, handle_bytes, "?n=1048576: that many bytes" },
	{ "/sleep", false, handle_sleep, "?ms=1000: ok, after that time" },
	{ "/echo", true, handle_echo, "the body, once it is complete" },
	{ "/pipe", true, handle_pipe, "the body, while it comes" },
	{ "/count", true, handle_count, "how long the body was" },
};

static void handle_index(struct http_stream *s, struct metrics *metrics UNUSED)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(4 * KIB);

	(void)buf_addz(&text, "devplane probe\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		(void)buf_printf(&text, "%-5s %-10s %s\n", rows[i].post ? "POST" : "GET",
				 rows[i].path, rows[i].help);
	(void)buf_addz(&text, "gRPC  devplane.probe.v1.Probe, grpc.health.v1.Health\n");
	reply_buf(s, plain, &text);
}

static const struct row *find_row(struct str path)
{
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (str_eqz(path, rows[i].path))
			return &rows[i];
	return NULL;
}

static bool method_fits(const struct row *r, struct str method)
{
	if (r->post)
		return str_eq(method, STR("POST")) || str_eq(method, STR("PUT"));
	return str_eq(method, STR("GET")) || str_eq(method, STR("HEAD"));
}

void probe_http_handle(struct http_stream *s, struct metrics *metrics)
{
	const struct row *r = find_row(s->in.path);
	struct error err;

	s->ops = &quiet_ops;
	if (!r) {
		(void)error_set(&err, ERR_NOT_FOUND, "unknown path %.*s; GET / lists all paths",
				STR_ARG(s->in.path));
		http_stream_fail(s, &err);
		return;
	}
	if (!method_fits(r, s->in.method)) {
		(void)error_set(&err, ERR_METHOD_NOT_ALLOWED, "%s wants %s", r->path,
				r->post ? "POST" : "GET");
		http_stream_fail(s, &err);
		return;
	}
	r->handle(s, metrics);
}
