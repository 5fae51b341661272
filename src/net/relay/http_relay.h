/*
 * http_relay - hand a request on to another server, and its answer back.
 *
 * A connection of its own for each, HTTP/1.1. Bodies stream both ways and who is
 * slow holds up the other: no more is kept than a window and a queue per
 * direction. When the request asks for an upgrade and the server grants it (101),
 * the two connections become one: bytes go through as they come, the end of one
 * direction is handed on as such, and when both have ended all is over.
 *
 * Where who asks wants a WebSocket and who is asked knows of none, the answer's body
 * becomes its messages (`websocket`): an empty one at once, then what comes, then a close.
 *
 * An answer may be taken as slowly as somebody reads it: it has no write time-out.
 * Once one direction of an upgraded connection has ended, the other one must not
 * stand still for long: it is given half a minute between two pieces. The same holds when who
 * asks has left while its last bytes wait for room: nobody may ever take them. The last messages
 * of a WebSocket wait for whoever reads them, as those before did.
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
	struct tls *tls; /* NULL: clear. A reference is taken. */
	const char *server_name; /* for TLS; NULL: the address's host */
	struct str method, authority, target;
	/* Copied. Framing, Host, Connection and Upgrade are left out: they are ours. */
	const struct http_field *fields;
	size_t nfields;
	struct str upgrade; /* the protocol to ask for; empty: none */
	/*
	 * With any: who asks wants a WebSocket (websocket_is_asked()) and gets each answer that is
	 * handed on as one, in one of these protocols; or is told what is wrong with the handshake.
	 * They outlive the relay. Not with `upgrade`; on_answer is not called.
	 */
	const struct websocket_protocol *websocket;
	size_t nwebsocket;
	struct str body; /* copied; what still comes of the request's own follows it */
	int64_t connect_timeout_ms; /* 0: 10 s */
	int64_t answer_timeout_ms; /* from the beginning to the answer's head; 0: none */
	int64_t idle_ms; /* an upgraded connection that stands still so long ends; 0: never */
	int64_t refusal_max; /* > 0: answers beyond 2xx and 101 go to on_refused, so much of them */
	/*
	 * No answer, and err says why (-ERR_PROTOCOL: it was none to hand on, as 200 where an
	 * upgrade was asked for); or, with refusal_max, one that is not to be handed on:
	 * its status and body, borrowed, err NULL. The stream has the ops and data that it had
	 * before: answer it; nothing more is called. NULL: http_stream_fail().
	 */
	void (*on_refused)(void *arg, struct http_stream *s, int status, struct str body,
			   const struct error *err);
	/* The answer's head is there and goes out now, with these fields. NULL: with its own. */
	size_t (*on_answer)(void *arg, const struct http_head *answer,
			    const struct http_field **ret_fields);
	/* The stream is over. Last callback; may be NULL. */
	void (*on_over)(void *arg, struct http_stream *s, const struct error *err);
	void *arg;
};

/*
 * Takes over the ops and data of a stream that was not answered. When it fails,
 * nothing was changed and nothing is called.
 */
int http_relay(struct http_stream *s, const struct http_relay_opts *opts, struct error *err);

#endif
