/*
 * http_relay_impl - what the files of relays share: http_relay.c, and http_relay_websocket.c
 * for answers that become messages of a WebSocket.
 */
#ifndef NET_RELAY_HTTP_RELAY_IMPL_H
#define NET_RELAY_HTTP_RELAY_IMPL_H

#include "base/core/buf.h"
#include "net/loop/loop.h"
#include "net/relay/http_relay.h"
#include "net/relay/websocket.h"

struct http_client;

struct http_relay {
	struct http_relay_opts opts; /* what is borrowed in it is used at the beginning only */
	struct loop *loop;
	struct http_stream *front; /* referenced; NULL: closed or handed back */
	const struct http_stream_ops *front_ops; /* and data: as they were */
	void *front_data;
	struct http_client *client; /* NULL once it is of no more use */
	struct http_stream *back; /* referenced; NULL: closed */
	size_t front_held, back_held; /* received from it and not given back */
	struct loop_timer timer; /* looks at whether it is still of use */
	int64_t answer_due; /* ms */
	int64_t moved_at; /* ms: when bytes came last */
	struct buf refusal; /* body of an answer that is not handed on */
	bool refusing;
	bool answered;
	bool half; /* one direction of an upgraded connection has ended */
	/* Of a WebSocket. */
	const struct websocket_protocol *protocol;
	struct websocket_reader reader;
	bool said_all; /* a close, or why there is none: nothing more is for who asks */
	bool complete; /* the close was the answer's end */
};

/* Frees a relay that has no stream any more. */
void http_relay_put(struct http_relay *r);

/* Gives up who is asked. May free the relay. */
void http_relay_cut_back(struct http_relay *r);

/* `back` was closed: by itself, or why. */
void http_relay_lose_back(struct http_relay *r, const struct error *err);

/* Of an upgraded connection one direction is over: the other one must not stand still for long. */
void http_relay_half(struct http_relay *r);

/* What was held of a stream, or NULL, may come again. */
void http_relay_give_back(struct http_relay *r, struct http_stream *from, size_t *held);

/* on_close of who asks. */
void http_relay_front_close(struct http_stream *s, const struct error *err);

/* An answer has begun: from here on it is a WebSocket. The last thing that a callback does. */
void http_relay_websocket(struct http_relay *r);

#endif
