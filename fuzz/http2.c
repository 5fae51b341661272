/*
 * Arbitrary bytes into an HTTP/2 session. The first byte chooses the side, lax
 * messaging, and whether a valid preface is put in front; then pieces of
 * changing size are fed, with output gathered in between. Handlers answer in
 * several ways, so that resets, limits and half-closed streams are met.
 */
#include <stdint.h>

#include "base/core/limits.h"
#include "net/http/session.h"
#include "target.h"

struct fuzz {
	unsigned n;
};

static void on_body(struct http_stream *s, struct str piece)
{
	http_stream_consume(s, piece.n);
}

static void on_end(struct http_stream *s)
{
	if (s->server && !s->out_head)
		(void)http_stream_reply(s, 200, STR("text/plain"), slice_static(STR("hello")));
}

static void on_close(struct http_stream *s, const struct error *err)
{
	if (!s->closed || (err && err->code == ERR_OK))
		abort();
}

static const struct http_stream_ops ops = {
	.on_body = on_body,
	.on_end = on_end,
	.on_close = on_close,
};

static void echo(struct http_stream *s, struct str body)
{
	(void)http_stream_respond(s, 200, NULL, 0, -1);
	(void)http_stream_send_copy(s, body);
	(void)http_stream_end(s, &HTTP_FIELD("x-trailer", STR("t")), 1);
}

static void on_stream(void *owner, struct http_stream *s)
{
	struct fuzz *f = owner;

	s->ops = &ops;
	switch (f->n++ % 4) {
	case 0:
		http_stream_collect(s, echo);
		break;
	case 1:
		(void)http_stream_reply(s, 404, STR("text/plain"), slice_static(STR("no")));
		break;
	case 2:
		http_stream_limit_body(s, 10);
		break;
	default:
		if (f->n % 8 == 0)
			http_stream_reset(s, NULL);
		break;
	}
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

static void gather(struct http_session *h, struct outbuf *o)
{
	bool more = true;

	while (more) {
		more = h->ops->output(h, o);
		if (o->total > OUTBUF_FULL + 64 * KIB)
			abort();
		more = more || http_session_call_writable(h);
		outbuf_clear(o);
	}
}

/* False when the session is over. */
static bool feed(struct http_session *h, struct outbuf *o, const void *p, size_t n)
{
	char *copy = str_dup(str_of(p, n)); /* exact, so that overreads show */
	struct error err;
	int r;

	h->now += 10;
	r = h->ops->input(h, copy, n, &err);
	free(copy);
	if (h->deadline <= h->now && r == 0)
		r = h->ops->tick(h, &err);
	gather(h, o);
	return r == 0 && !h->done;
}

static void ask(struct http_session *h)
{
	struct http_request r = { .method = STR("GET"),
				  .scheme = STR("http"),
				  .authority = STR("a"),
				  .target = STR("/"),
				  .end = true,
				  .ops = &ops };
	struct http_stream *s;

	for (int i = 0; i < 3; i++)
		(void)http_session_request(h, &r, &s, NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char preface[] = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0";
	uint8_t how = size ? data[0] : 0;
	struct http_config config = http_config_fill(
		&(struct http_config){ .lax_messaging = how & 2, .body_max = 1000 });
	struct fuzz f = { 0 };
	struct http_session *h = http2_new(how & 1, &config, &events, &f);
	struct outbuf *o = outbuf_new();
	bool going = true;
	size_t n;

	if (!(how & 1))
		ask(h);
	if ((how & 4) && (how & 1))
		going = feed(h, o, preface, sizeof(preface) - 1);
	for (size_t at = 1; going && at < size; at += n) {
		n = MIN(size - at, (size_t)1 + (how >> 3) * 5);
		going = feed(h, o, data + at, n);
	}
	if (going && (how & 0x80))
		h->ops->drain(h);
	gather(h, o);
	http_session_free(h, NULL);
	outbuf_free(o);
	return 0;
}
