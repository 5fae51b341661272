/*
 * Two sessions in one process. Each keeps the protocol's own rules; the pair
 * only carries bytes.
 */
#include "net/http/pair.h"

#include <assert.h>

#include "base/core/limits.h"

static void pair_stream(void *owner, struct http_stream *s)
{
	struct http_pair_side *side = owner;

	side->pair->handler(side->pair, s);
}

static void pair_output(void *owner UNUSED)
{
}

static void pair_pause(void *owner, bool pause)
{
	((struct http_pair_side *)owner)->paused = pause;
}

static const struct http_session_events pair_events = {
	.on_stream = pair_stream,
	.on_output = pair_output,
	.on_pause = pair_pause,
};

static void side_init(struct http_pair *p, struct http_pair_side *side, enum http_version version,
		      bool server)
{
	side->pair = p;
	buf_init(&side->wire, 256 * MIB);
	side->session = (version == HTTP_2 ? http2_new : http1_new)(server, &p->config,
								    &pair_events, side);
}

void http_pair_init(struct http_pair *p, enum http_version version,
		    const struct http_config *config,
		    void (*handler)(struct http_pair *p, struct http_stream *s), uint64_t seed)
{
	*p = (struct http_pair){ .handler = handler, .out = outbuf_new(), .now = 1000 };
	p->config = http_config_fill(config);
	prng_init(&p->prng, seed);
	side_init(p, &p->client, version, false);
	side_init(p, &p->server, version, true);
}

void http_pair_release(struct http_pair *p)
{
	struct error err;

	(void)error_set(&err, ERR_CANCELED, "the pair is released");
	http_session_free(p->client.session, &err);
	http_session_free(p->server.session, &err);
	buf_release(&p->client.wire);
	buf_release(&p->server.wire);
	outbuf_free(p->out);
}

static bool move_output(struct http_pair *p, struct http_pair_side *from, struct http_pair_side *to)
{
	bool moved;

	if (from->over || (p->wire_max && to->wire.n >= p->wire_max))
		return false;
	from->session->now = p->now;
	(void)from->session->ops->output(from->session, p->out);
	moved = p->out->n > 0;
	for (int i = 0; i < p->out->n; i++)
		(void)buf_add(&to->wire, p->out->iov[i].iov_base, p->out->iov[i].iov_len);
	outbuf_clear(p->out);
	p->wire_peak = MAX(p->wire_peak, to->wire.n);
	if (http_session_call_writable(from->session))
		moved = true;
	if (!moved && (from->session->done || from->failed))
		from->over = true;
	return moved;
}

static bool move_input(struct http_pair *p, struct http_pair_side *to)
{
	size_t n = to->wire.n;
	char *piece;

	if (n == 0 || to->paused || to->failed || to->over)
		return false;
	if (p->piece_max)
		n = 1 + (size_t)prng_below(&p->prng, MIN(n, p->piece_max));
	piece = str_dup(str_of(to->wire.p, n)); /* of its own, so that overreads show */
	buf_consume(&to->wire, n);
	to->session->now = p->now;
	to->failed = to->session->ops->input(to->session, piece, n, &to->err) < 0;
	free(piece);
	return true;
}

bool http_pair_step(struct http_pair *p)
{
	bool moved = move_output(p, &p->client, &p->server);

	moved |= move_output(p, &p->server, &p->client);
	moved |= move_input(p, &p->server);
	moved |= move_input(p, &p->client);
	return moved;
}

void http_pair_run(struct http_pair *p)
{
	while (http_pair_step(p))
		;
}

static void pair_tick(struct http_pair *p, struct http_pair_side *side)
{
	side->session->now = p->now;
	if (side->session->deadline <= p->now && !side->failed)
		side->failed = side->session->ops->tick(side->session, &side->err) < 0;
}

void http_pair_advance(struct http_pair *p, int64_t ms)
{
	p->now += ms;
	pair_tick(p, &p->client);
	pair_tick(p, &p->server);
	http_pair_run(p);
}

struct http_stream *http_pair_request(struct http_pair *p, struct str method, struct str target,
				      bool end, const struct http_stream_ops *ops, void *data)
{
	struct http_request r = {
		.method = method,
		.scheme = STR("http"),
		.authority = STR("localhost"),
		.target = target,
		.length = -1,
		.end = end,
		.ops = ops,
		.data = data,
	};
	struct http_stream *s = NULL;
	struct error err;
	int ret;

	p->client.session->now = p->now;
	ret = http_session_request(p->client.session, &r, &s, &err);
	assert(ret == 0);
	(void)ret;
	return s;
}
