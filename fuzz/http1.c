/*
 * HTTP/1.1 sessions. The first byte chooses the role and into what pieces the rest is cut. A
 * server's handler echoes, answers early or resets, by the request's path, or grants an upgrade; a
 * client has three requests under way, the first of which may ask for one. A client must understand
 * the server's output: the output is fed to one, and an invalid response is a crash.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "net/http/session.h"
#include "target.h"

struct side {
	struct http_config config;
	struct http_session *session;
	struct outbuf *gather;
	struct buf out;
	struct buf heads; /* one byte per request: '1' for HEAD, '2' for an upgrade */
	unsigned open; /* streams */
};

static void on_body(struct http_stream *s, struct str piece)
{
	if (s->raw || str_starts(s->in.path, STR("/copy")))
		(void)http_stream_send_copy(s, piece);
	http_stream_consume(s, piece.n);
}

static void on_end(struct http_stream *s)
{
	if (s->raw || str_starts(s->in.path, STR("/copy")))
		(void)http_stream_end(s, NULL, 0);
	else if (s->server && !s->out_head)
		(void)http_stream_reply(s, 200, STR("text/plain"), slice_static(STR("done")));
}

static void on_close(struct http_stream *s, const struct error *err)
{
	(void)err;
	((struct side *)s->data)->open--;
}

static const struct http_stream_ops ops = {
	.on_body = on_body,
	.on_end = on_end,
	.on_close = on_close,
};

static void echo(struct http_stream *s, struct str body)
{
	struct bytes *b = bytes_copy(body);

	(void)http_stream_reply(s, 200, STR_NULL, (struct slice){ b->data, b->n, b });
}

static void on_stream(void *owner, struct http_stream *s)
{
	struct side *side = owner;

	if (side->session->done)
		abort();
	side->open++;
	s->ops = &ops;
	s->data = side;
	if (str_starts(s->in.path, STR("/raw")) && http_stream_upgrade(s, STR("x"), NULL, 0) == 0) {
		(void)buf_addc(&side->heads, '2');
		return;
	}
	(void)buf_addc(&side->heads, s->head_request ? '1' : '0');
	if (str_starts(s->in.path, STR("/echo")))
		http_stream_collect(s, echo);
	else if (str_starts(s->in.path, STR("/now")))
		(void)http_stream_reply(s, 404, STR_NULL, slice_static(STR("no")));
	else if (str_starts(s->in.path, STR("/copy")))
		(void)http_stream_respond(s, 200, s->in.fields.v, MIN(s->in.fields.n, 100), -1);
	else if (str_starts(s->in.path, STR("/reset")))
		http_stream_reset(s, NULL);
}

static void on_output(void *owner)
{
	(void)owner;
}

static void on_pause(void *owner, bool pause)
{
	(void)owner;
	(void)pause;
}

static const struct http_session_events events = {
	.on_stream = on_stream,
	.on_output = on_output,
	.on_pause = on_pause,
};

static void side_init(struct side *side, bool server)
{
	struct http_config small = { .body_max = 1000, .headers_max = 4096 };

	*side = (struct side){ .gather = outbuf_new() };
	buf_init(&side->out, 16 * MIB);
	buf_init(&side->heads, MIB);
	side->config = http_config_fill(server ? &small : NULL);
	side->session = http1_new(server, &side->config, &events, side);
	side->session->now = 1;
}

static void side_release(struct side *side)
{
	http_session_free(side->session, NULL);
	if (side->open)
		abort();
	outbuf_free(side->gather);
	buf_release(&side->out);
	buf_release(&side->heads);
}

static void flush(struct side *side)
{
	struct outbuf *o = side->gather;
	bool more = true;

	while (more) {
		more = side->session->ops->output(side->session, o);
		for (int i = 0; i < o->n; i++)
			(void)buf_add(&side->out, o->iov[i].iov_base, o->iov[i].iov_len);
		outbuf_clear(o);
		more |= http_session_call_writable(side->session);
	}
}

/* False when the session has failed. */
static bool feed(struct side *side, struct str in, size_t piece)
{
	int r = 0;

	while (in.n && r == 0) {
		size_t n = MIN(piece, in.n);
		char *copy = str_dup(str_of(in.p, n));
		size_t opened = side->heads.n;
		bool done = side->session->done;

		r = side->session->ops->input(side->session, copy, n, NULL);
		free(copy);
		flush(side);
		if (done && side->heads.n != opened)
			abort();
		in = str_skip(in, n);
	}
	if (r < 0 && !side->session->done)
		abort();
	return r == 0;
}

static void ask(struct side *side, struct str method, bool upgrade)
{
	struct http_request r = { .method = method,
				  .authority = STR("a"),
				  .target = STR("/"),
				  .upgrade = upgrade ? STR("x") : STR_NULL,
				  .length = -1,
				  .end = true,
				  .ops = &ops,
				  .data = side };
	struct http_stream *s;

	if (http_session_request(side->session, &r, &s, NULL) == 0)
		side->open++;
}

/*
 * Asks as the server was asked, and once more for a request that was refused.
 * Byte by byte, so that each request goes out before its response comes.
 */
static void check_output(const struct side *server)
{
	struct side client;

	side_init(&client, false);
	for (size_t i = 0; i < server->heads.n; i++)
		ask(&client, server->heads.p[i] == '1' ? STR("HEAD") : STR("GET"),
		    server->heads.p[i] == '2');
	ask(&client, STR("GET"), false);
	flush(&client);
	if (!feed(&client, buf_str(&server->out), 1))
		abort();
	side_release(&client);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t pieces[] = { 255, 1, 2, 3, 7, 16, 61, 200 };
	struct str in = str_of(data, size);
	struct side side;
	bool server;

	if (size == 0)
		return 0;
	server = data[0] & 1;
	side_init(&side, server);
	if (!server) {
		ask(&side, data[0] & 2 ? STR("HEAD") : STR("GET"), data[0] & 64);
		ask(&side, STR("GET"), false);
		ask(&side, STR("POST"), false);
		flush(&side);
	}
	if (feed(&side, str_skip(in, 1), pieces[data[0] >> 2 & 7])) {
		(void)side.session->ops->eof(side.session, NULL);
		flush(&side);
	}
	if (server)
		check_output(&side);
	side_release(&side);
	return 0;
}
