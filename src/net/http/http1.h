/*
 * http1 - private to the http1 files: an HTTP/1.1 session.
 *
 * http1_parse.c parses heads and trailers with llhttp, http1_body.c decodes bodies. Both are strict
 * about RFC 9112 and don't know streams. http1_read.c turns the results into requests and
 * responses, http1_send.c writes messages. http1.c is the session: it runs one exchange after the
 * other, with their ends and timeouts. http1_raw.c handles the bytes after a 101.
 *
 * A head is parsed only when it is complete and in one piece, so the way in which the network
 * splits a message cannot change its meaning.
 */
#ifndef NET_HTTP_HTTP1_H
#define NET_HTTP_HTTP1_H

#include <sys/types.h>

#include "base/core/buf.h"
#include "net/http/session.h"
#include "net/net_limits.h"

/* --- parsing -------------------------------------------------------------- */

/* A fault in a message, as the server replies to it. `what` is a literal. */
struct http1_fault {
	int status; /* 0: no fault */
	const char *what;
};

/* A message's head, borrowed from the bytes that it was parsed from. */
struct http1_head {
	char *base;
	size_t size;
	enum http_version version;
	struct str method, target; /* request */
	struct str authority; /* request: the target's host, or Host */
	int status; /* response */
	unsigned hosts; /* Host fields: a request has one */
	int64_t length; /* Content-Length, -1 without */
	struct str host;
	struct str coding; /* Transfer-Encoding; p is NULL without */
	struct str expect; /* Expect; p is NULL without */
	bool chunked;
	bool keep_alive; /* by version and Connection */
	bool may_switch; /* a response may be 101 */
	bool bodiless; /* a response without body: to HEAD, or 1xx, 204, 304 */
	bool complete; /* llhttp has seen the end of the head ... */
	bool ended; /* ... and of the message: there is no body */
	size_t n;
	struct http_field fields[HTTP_HEADER_COUNT_MAX]; /* names in lower case, values trimmed */
};

/* `to_head`: for a response to HEAD. Does not touch the 4 KiB of fields. */
static inline void http1_head_init(struct http1_head *head, bool to_head)
{
	memset(head, 0, offsetof(struct http1_head, fields));
	head->length = -1;
	head->bodiless = to_head;
}

/* The progress of scanning the lines of a head or of trailers. */
struct http1_scan {
	size_t fields_max;
	size_t at; /* bytes seen */
	size_t line; /* start of the current line */
	size_t fields; /* start of the field lines */
	unsigned lines; /* of fields */
	bool request; /* else a response */
	bool started; /* the start line is over; trailers have none */
};

/* Before each head, and before trailers. */
void http1_scan_head(struct http1_scan *sc);
void http1_scan_trailers(struct http1_scan *sc);

/*
 * Searches the end of a head, or of trailers, in bytes that begin with it. Returns 1 if complete,
 * with its length in sc->at. Returns 0 if it needs more: call again with the same bytes and more.
 * Else an error.
 */
int http1_scan(struct http1_scan *sc, struct str in, struct http1_fault *ret_fault);

/*
 * Parses a head that http1_scan() found complete, into an initialised head. Overwrites some bytes.
 */
int http1_parse_head(const struct http1_scan *sc, char *in, struct http1_head *head,
		     struct http1_fault *ret_fault);
int http1_parse_trailers(const struct http1_scan *sc, char *in, struct http1_head *head,
			 struct http1_fault *ret_fault);

/* Sets the fault. Always returns an error. */
int http1_blame(struct http1_fault *ret_fault, int status, const char *what);

/* RFC 9110: whether it is a token (5.6.2), or valid as a field's value (5.5). */
bool http1_is_token(struct str s);
bool http1_is_value(struct str s);

/* The next part of a body. */
enum http1_body_state {
	HTTP1_BODY_PLAIN, /* `left` bytes */
	HTTP1_BODY_ENDLESS, /* everything until the connection ends */
	HTTP1_BODY_SIZE, /* the first digit of a chunk's size */
	HTTP1_BODY_DIGITS, /* more of it */
	HTTP1_BODY_EXTENSION,
	HTTP1_BODY_SIZE_LF,
	HTTP1_BODY_CHUNK, /* `left` bytes */
	HTTP1_BODY_CHUNK_CR,
	HTTP1_BODY_CHUNK_LF,
	HTTP1_BODY_TRAILERS, /* the last chunk is over */
	HTTP1_BODY_END,
};

struct http1_body {
	enum http1_body_state state;
	uint64_t left; /* bytes left of the body, or of the chunk */
	uint64_t size; /* of the pieces so far */
	uint64_t framing; /* bytes that are not part of the body */
};

/* Starts a body as described by the head. */
void http1_body_begin(struct http1_body *b, const struct http1_head *head);

/*
 * Returns the number of bytes consumed. *ret_piece is the part of them that belongs to the body:
 * some bytes at the end, or none. Call again for the rest, until b->state is HTTP1_BODY_TRAILERS or
 * HTTP1_BODY_END.
 */
ssize_t http1_body_next(struct http1_body *b, struct str in, struct str *ret_piece,
			struct http1_fault *ret_fault);

/* --- the session ------------------------------------------------------------ */

/* The meaning of the next byte of input. */
enum http1_reading {
	HTTP1_READ_HEAD, /* part of a head, or the start of a message */
	HTTP1_READ_BODY,
	HTTP1_READ_TRAILERS,
	HTTP1_READ_HOLD, /* of the next message, which must wait for the current exchange */
	HTTP1_READ_RAW, /* after a 101 */
	HTTP1_READ_DROP, /* ignored: the connection ends after our reply */
};

/* How the end of the message that we send is marked. */
enum http1_delimiter {
	HTTP1_NO_BODY,
	HTTP1_LENGTH,
	HTTP1_CHUNKED,
	HTTP1_CLOSE,
	HTTP1_RAW, /* a 101: raw bytes follow */
};

struct http1 {
	struct http_session h;
	struct http1_scan scan;
	struct http1_body body;
	enum http1_reading reading;
	struct buf held; /* waiting input: a partial head, or later requests */
	size_t held_at; /* bytes of `held` already used */
	struct http_stream *current; /* the current exchange, referenced; see http1_current() */
	struct http1_fault fault; /* server: to be replied; client: why the session failed */
	int64_t deadline; /* ms: when a head, or the rest of a body, is due; INT64_MAX: never */
	int64_t out_left; /* HTTP1_LENGTH: remaining bytes; HTTP1_CHUNKED: of this chunk */
	enum http1_delimiter delimiter;
	bool head_sent;
	bool keep_alive; /* the connection may serve another exchange */
	bool send_continue; /* "100 Continue" must be sent */
	bool bodiless_fault; /* the faulty request was HEAD */
	bool paused;
	bool peer_closed;
};

static inline struct http1 *http1_of(struct http_session *h)
{
	return CONTAINER_OF(h, struct http1, h);
}

/* --- http1.c: the course of an exchange --- */

/* Close when the output is flushed. */
void http1_end_session(struct http1 *c);

void http1_begin_exchange(struct http1 *c, struct http_stream *s);

/* Closes the current stream, which must exist. */
void http1_close_current(struct http1 *c, const struct error *err);

/* The current stream, or NULL. If somebody else has closed it, the session ends. */
struct http_stream *http1_current(struct http1 *c);

/* The incoming message is complete. */
void http1_end_message(struct http1 *c);

/* When a head that starts now must be complete. */
int64_t http1_head_due(const struct http1 *c);

/* Handles c->fault. Returns n: the rest of the input is ignored. */
size_t http1_fail(struct http1 *c, size_t n);

/* --- http1_raw.c: after a 101 --- */

/* The exchange is over, and its stream becomes the raw connection. */
void http1_begin_raw(struct http1 *c);

/* Server: the 101 is in the outbuf. Reads the input that came before. */
void http1_raw_switch(struct http1 *c);

/* The current stream has sent its end; the peer has. */
void http1_raw_sent(struct http1 *c);
void http1_raw_eof(struct http1 *c);

/* --- http1_read.c --- */

/* Handles as much input as possible now; returns the number of bytes. */
size_t http1_feed(struct http1 *c, char *in, size_t n);

/* Stores input that could not be handled, and retries it. */
int http1_hold(struct http1 *c, const char *in, size_t n, struct error *err);
void http1_feed_held(struct http1 *c);

/* --- http1_send.c --- */

/*
 * Writes the available part of the current message. Returns 1 if it is complete, 0 if more will
 * come or the outbuf is full, -ERR_INTERNAL if its owner sent more or less than the announced
 * length.
 */
int http1_send(struct http1 *c, struct outbuf *o);

/* Writes the reply to c->fault. */
void http1_send_fault(struct http1 *c, struct outbuf *o);

/* Rejects requests that would break the framing. */
int http1_check_request(const struct http_stream *s, struct error *err);

/* Whether the rest of a request's body is so small that discarding it beats a new connection. */
bool http1_rest_is_small(const struct http1 *c);

#endif
