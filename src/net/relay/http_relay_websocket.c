/*
 * A response as a WebSocket: bytes from the server become messages to the client, and the client's
 * frames are read for pings and its close.
 *
 * If a client sends pings and does not read the pongs, we stop reading it until the queue to it has
 * run low, like the server. So at most a queue, a window and a piece of each are kept.
 *
 * Like upstream, the connection ends with our close, whatever the client replies. Until the client
 * has ended its side as well, it gets as much time as any half of an upgraded connection.
 */
#include "net/relay/http_relay_impl.h"

/* --- to who asks ------------------------------------------------------------------ */

static void say_close(struct http_relay *r, enum websocket_code code)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(WEBSOCKET_CONTROL_FRAME_MAX);

	if (r->said_all || !r->front)
		return;
	r->said_all = true;
	websocket_close(&b, code);
	(void)http_stream_send_copy(r->front, buf_str(&b));
	(void)http_stream_end(r->front, NULL, 0);
	http_relay_half(r);
}

static void http_relay_websocket_say(struct http_relay *r, struct str piece)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(websocket_messages_max(piece.n));

	websocket_messages(&b, r->protocol, piece);
	(void)http_stream_send_copy(r->front, buf_str(&b));
}

/* --- who asks --------------------------------------------------------------------- */

/* Replies to pings. Returns the code to close with, or 0. */
static int obey(struct http_relay *r, struct str in)
{
	CLEANUP(buf_release) struct buf pongs = BUF_INIT(in.n + WEBSOCKET_CONTROL_FRAME_MAX);
	struct str payload;
	int ret;

	while ((ret = websocket_read(&r->reader, &in, &payload, NULL)) == WEBSOCKET_PING)
		websocket_frame(&pongs, WEBSOCKET_PONG, payload);
	(void)http_stream_send_copy(r->front, buf_str(&pongs));
	switch (ret) {
	case 0:
		return 0;
	case WEBSOCKET_CLOSE:
		return WEBSOCKET_NORMAL;
	case -ERR_TOO_LARGE:
		return WEBSOCKET_TOO_LARGE;
	default:
		return WEBSOCKET_PROTOCOL_ERROR;
	}
}

static void front_body(struct http_stream *s, struct str piece)
{
	struct http_relay *r = s->data;
	int code = 0;

	r->front_held += piece.n;
	if (!r->said_all) {
		r->moved_at = loop_now(r->loop);
		code = obey(r, piece);
	}
	if (code) {
		say_close(r, (enum websocket_code)code);
		http_relay_cut_back(r);
	}
	if (!r->said_all && http_stream_room(s) == 0)
		return;
	http_stream_consume(s, r->front_held);
	r->front_held = 0;
}

static void front_end(struct http_stream *s)
{
	struct http_relay *r = s->data;

	say_close(r, WEBSOCKET_NORMAL);
	http_relay_cut_back(r);
}

static void front_writable(struct http_stream *s)
{
	struct http_relay *r = s->data;

	http_relay_give_back(r, r->back, &r->back_held);
	http_relay_give_back(r, s, &r->front_held);
}

static const struct http_stream_ops front_ops = {
	.on_body = front_body,
	.on_end = front_end,
	.on_writable = front_writable,
	.on_close = http_relay_front_close,
};

/* --- who is asked ----------------------------------------------------------------- */

static void back_body(struct http_stream *s, struct str piece)
{
	struct http_relay *r = s->data;

	r->back_held += piece.n;
	if (r->front && !r->said_all) {
		r->moved_at = loop_now(r->loop);
		http_relay_websocket_say(r, piece);
		if (http_stream_room(r->front) == 0)
			return;
	}
	http_stream_consume(s, r->back_held);
	r->back_held = 0;
}

static void back_end(struct http_stream *s)
{
	struct http_relay *r = s->data;

	r->complete = !r->said_all;
	say_close(r, WEBSOCKET_NORMAL);
}

static void back_close(struct http_stream *s, const struct error *err)
{
	struct http_relay *r = s->data;

	http_relay_lose_back(r, err);
	if (r->front)
		say_close(r, WEBSOCKET_FAILED);
	else
		http_relay_put(r);
}

static const struct http_stream_ops back_ops = {
	.on_body = back_body,
	.on_end = back_end,
	.on_close = back_close,
};

/* --- beginning -------------------------------------------------------------------- */

static int upgrade(struct http_relay *r, struct error *err)
{
	struct http_stream *s = r->front;
	char accept[WEBSOCKET_ACCEPT_LEN + 1];
	struct http_field v[2];
	size_t n = 0;
	int ret;

	ret = websocket_handshake(&s->in.fields, r->opts.websocket, r->opts.nwebsocket, accept,
				  &r->protocol, err);
	if (ret < 0)
		return ret;
	v[n++] = HTTP_FIELD("sec-websocket-accept", str_of(accept, WEBSOCKET_ACCEPT_LEN));
	/*
	 * RFC 6455, 4.1: a client that offered no protocol fails if the reply has one, even if
	 * empty.
	 */
	if (r->protocol->name[0])
		v[n++] = HTTP_FIELD("sec-websocket-protocol", str_from(r->protocol->name));
	ret = http_stream_upgrade(s, STR("websocket"), v, n);
	return ret < 0 ? error_set(err, ERR_BAD_REQUEST, "the handshake has a body") : 0;
}

static void decline(struct http_relay *r, const struct error *err)
{
	struct http_stream *s = r->front;
	struct http_field version = HTTP_FIELD("sec-websocket-version", STR(WEBSOCKET_VERSION));
	bool other = !str_eq(http_fields_get(&s->in.fields, version.name), version.value);
	struct str why = str_from(err->msg);

	r->said_all = true;
	(void)http_stream_respond(s, error_http_status((int)err->code), &version, other,
				  (int64_t)why.n);
	http_relay_started(r);
	(void)http_stream_send_copy(s, why);
	(void)http_stream_end(s, NULL, 0);
	http_relay_cut_back(r);
}

void http_relay_websocket(struct http_relay *r)
{
	struct error err;

	r->front->ops = &front_ops;
	r->back->ops = &back_ops;
	if (upgrade(r, &err) < 0) {
		decline(r, &err);
		return;
	}
	http_relay_started(r);
	http_stream_patient(r->front);
	http_relay_websocket_say(r, STR_NULL);
	r->moved_at = loop_now(r->loop);
}
