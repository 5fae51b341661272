/*
 * The connection after a 101: the exchange's stream stays, and carries the connection's bytes in
 * both directions until each has ended. Windows, queue and the order of callbacks are those of
 * bodies.
 *
 * A server switches when its 101 is in the outbuf, not when the owner grants it. So bytes that the
 * client sent early are read in output(), like a pipelined request, and no owner is called from
 * inside its own call.
 */
#include "net/http/http1.h"

void http1_begin_raw(struct http1 *c)
{
	struct http_stream *s = c->current;
	struct list *it = c->h.streams.next;
	struct error err;

	c->h.raw = c->h.draining = true;
	c->keep_alive = false;
	c->deadline = INT64_MAX;
	c->delimiter = HTTP1_RAW;
	c->reading = HTTP1_READ_RAW;
	http_stream_begin_raw(s);
	/* Requests of the client that wait in the queue can no longer be sent. */
	(void)error_set(&err, ERR_UNAVAILABLE, "the connection was upgraded");
	while (it != &c->h.streams) {
		struct http_stream *other = LIST_ENTRY(it, struct http_stream, link);

		it = it->next;
		if (other == s)
			continue;
		http_stream_close(other, &err);
		it = c->h.streams.next;
	}
}

/* Both directions have ended. */
static void http1_raw_finish(struct http1 *c)
{
	http1_close_current(c, NULL);
	http1_end_session(c);
}

void http1_raw_sent(struct http1 *c)
{
	struct http_stream *s = http1_current(c);

	if (!s)
		return;
	if (s->in_ended)
		http1_raw_finish(c);
	else
		c->h.shut = true;
}

void http1_raw_eof(struct http1 *c)
{
	struct http_stream *s = http1_current(c);

	if (!s)
		return;
	http_stream_in_end(s);
	if (http1_current(c) && s->out_sent)
		http1_raw_finish(c);
}

void http1_raw_switch(struct http1 *c)
{
	if (c->reading == HTTP1_READ_RAW)
		return;
	http1_begin_raw(c);
	http1_feed_held(c);
	if (c->peer_closed)
		http1_raw_eof(c);
}
