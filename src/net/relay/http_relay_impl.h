/*
 * http_relay_impl - shared by http_relay.c and http_relay_websocket.c, which sends responses as
 * messages of a WebSocket.
 */
#ifndef NET_RELAY_HTTP_RELAY_IMPL_H
#define NET_RELAY_HTTP_RELAY_IMPL_H

#include "base/core/buf.h"
#include "net/loop/loop.h"
#include "net/relay/http_relay.h"
#include "net/relay/websocket.h"

struct http_client;

struct http_relay {
	struct http_relay_opts opts; /* borrowed fields are only valid at the start */
	struct loop *loop;
	struct http_stream *front; /* client's stream, referenced; NULL: closed or handed back */
	const struct http_stream_ops *front_ops; /* its earlier ops, and data */
	void *front_data;
	struct http_client *client; /* NULL if no longer needed */
	struct http_stream *back; /* the server's stream, referenced; NULL: closed */
	size_t front_held, back_held; /* received from it and not consumed yet */
	struct loop_timer timer; /* checks timeouts */
	int64_t answer_due; /* ms */
	int64_t moved_at; /* ms: when bytes last came */
	struct buf refusal; /* body of a response that is not forwarded */
	bool refusing;
	bool answered;
	bool half; /* one direction of an upgraded connection has ended */
	/* For a WebSocket. */
	const struct websocket_protocol *protocol;
	struct websocket_reader reader;
	bool said_all; /* the close was sent, or an error: nothing else goes to the client */
	bool complete; /* the close marks the response's end */
};

/* Frees a relay that has no streams left. */
void http_relay_put(struct http_relay *r);

/* Drops the connection to the server. May free the relay. */
void http_relay_cut_back(struct http_relay *r);

/* `back` was closed. `err` is NULL if it ended in order. */
void http_relay_lose_back(struct http_relay *r, const struct error *err);

/* One direction of an upgraded connection has ended: limits pauses of the other. */
void http_relay_half(struct http_relay *r);

/* Consumes the bytes held of a stream, which may be NULL, so that more can come. */
void http_relay_give_back(struct http_relay *r, struct http_stream *from, size_t *held);

/* on_close of the client's stream. */
void http_relay_front_close(struct http_stream *s, const struct error *err);

/* The response to the client has begun. */
void http_relay_started(struct http_relay *r);

/* A response has begun: turns it into a WebSocket. Must be the last call of a callback. */
void http_relay_websocket(struct http_relay *r);

#endif
