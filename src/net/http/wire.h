/*
 * http_wire - for tests: one HTTP/1.1 session, fed by hand.
 *
 * The session's output is collected in `out`. The callbacks of its streams are recorded in `log`,
 * with body pieces joined, so that two runs with the same bytes, split differently, must give the
 * same text:
 *
 *	request GET /path?query host=a
 *	body=hello
 *	end
 *	close
 *
 * A client's log has "response 200" instead, and "close: <message>" for a failure.
 */
#ifndef NET_HTTP_WIRE_H
#define NET_HTTP_WIRE_H

#include "base/core/buf.h"
#include "net/http/session.h"

struct http_wire {
	struct http_config config;
	struct http_session *session;
	struct outbuf *gather;
	struct buf out; /* all output */
	struct buf log; /* all callbacks */
	void (*handler)(struct http_wire *w, struct http_stream *s); /* NULL: http_wire_serve */
	struct http_stream *stream; /* the newest one; referenced */
	int64_t now;
	int result; /* of the last input(), eof() or tick() */
	struct error err;
	unsigned pauses; /* how often reading was paused */
	unsigned requests; /* number of calls of the handler */
	bool paused;
	bool keep; /* owners do not consume */
	bool in_body; /* `log` ends with a piece of a body */
};

/* `config` may be NULL. */
void http_wire_init(struct http_wire *w, bool server, const struct http_config *config);
void http_wire_release(struct http_wire *w);

/* Logs all later callbacks of the stream. */
extern const struct http_stream_ops http_wire_ops;

/*
 * The usual handler, by path: "/echo" sends the body back; "/now" replies "ok" at once; "/wait"
 * leaves the reply to the test; "/trailers" replies with trailers; all others reply "done" at the
 * end of the body.
 */
void http_wire_serve(struct http_wire *w, struct http_stream *s);

/*
 * Client: sends a request and logs the callbacks. `body` NULL: none; empty: one of unknown length.
 */
struct http_stream *http_wire_ask(struct http_wire *w, const char *method, const char *target,
				  const char *body);

/* Feeds bytes in pieces of at most `piece` (0: whole), and writes after each. */
void http_wire_feed(struct http_wire *w, struct str in, size_t piece);

/* The same, then the end of input. */
void http_wire_eof(struct http_wire *w);

/* Writes all available output. */
void http_wire_flush(struct http_wire *w);

/* Moves time, and ticks when due. */
void http_wire_advance(struct http_wire *w, int64_t ms);

#endif
