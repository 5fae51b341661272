/*
 * http_relay - forwards a request to another server, and its response back.
 *
 * Here the client is the sender of the request, and the server is the one that it is forwarded to.
 * Each request uses its own HTTP/1.1 connection to the server. Bodies stream both ways, and a slow
 * side slows down the other: at most a window and a queue are buffered per direction. If the
 * request asks for an upgrade and the server grants it (101), the two connections become one: bytes
 * pass unchanged, the end of one direction is forwarded as such, and when both have ended the relay
 * is over.
 *
 * If the client asks for a WebSocket and the server does not know WebSockets, the response's body
 * is sent as messages (`websocket`): an empty one at once, then the data, then a close.
 *
 * A response has no write timeout, since a person may read it slowly. Once one direction of an
 * upgraded connection has ended, the other may pause for at most half a minute between two pieces.
 * The same holds if the client has left while its last bytes wait for room, since they may never be
 * read. The last messages of a WebSocket wait for their reader, like all before.
 * Threads: the stream's loop.
 */
#ifndef NET_RELAY_HTTP_RELAY_H
#define NET_RELAY_HTTP_RELAY_H

#include "net/http/http.h"
#include "net/loop/addr.h"

struct tls;
struct websocket_protocol;

struct http_relay_opts {
	struct addr to;
	struct tls *tls; /* NULL: plain text. A reference is taken. */
	const char *server_name; /* for TLS; NULL: the address's host */
	struct str method, authority, target;
	/* Copied, except for framing, Host, Connection and Upgrade, which the relay sets. */
	const struct http_field *fields;
	size_t nfields;
	struct str upgrade; /* the protocol to request; empty: none */
	/*
	 * If set, the client asks for a WebSocket (websocket_is_asked()). A response that is
	 * forwarded is sent as one, in one of these protocols; an invalid handshake gets an error.
	 * They must outlive the relay. Not with `upgrade`; on_answer is not called.
	 */
	const struct websocket_protocol *websocket;
	size_t nwebsocket;
	struct str body; /* copied; the rest of the request's own body follows it */
	int64_t connect_timeout_ms; /* 0: 10 s */
	int64_t answer_timeout_ms; /* from the start to the response's head; 0: no limit */
	int64_t idle_ms; /* an upgraded connection that is idle this long ends; 0: never */
	int64_t refusal_max; /* > 0: responses beyond 2xx and 101 go to on_refused, cut to this */
	/*
	 * There is no response to forward. `err` says why (-ERR_PROTOCOL: an unexpected response,
	 * such as 200 to an upgrade). Or err is NULL, with refusal_max, and the status and body
	 * (borrowed) are those of a response that is not forwarded. The stream has its earlier ops
	 * and data back: respond to it. No other callback follows. NULL: http_stream_fail().
	 */
	void (*on_refused)(void *arg, struct http_stream *s, int status, struct str body,
			   const struct error *err);
	/* The response's head has arrived; chooses the fields to send. NULL: sends its own. */
	size_t (*on_answer)(void *arg, const struct http_head *answer,
			    const struct http_field **ret_fields);
	/* The response to the client has begun, with this status. Not if on_refused responds. */
	void (*on_started)(void *arg, int status);
	/* The stream is over. The last callback; may be NULL. */
	void (*on_over)(void *arg, struct http_stream *s, const struct error *err);
	void *arg;
};

/*
 * Takes over the ops and data of a stream without a response. If it fails, nothing was changed, and
 * no callback is called.
 */
int http_relay(struct http_stream *s, const struct http_relay_opts *opts, struct error *err);

#endif
