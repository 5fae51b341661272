/*
 * http1 - private to the http1 files: an HTTP/1.1 session.
 *
 * http1_parse.c reads heads and trailers with llhttp, http1_body.c unwraps
 * bodies; both are strict about RFC 9112 and know nothing of streams.
 * http1_read.c makes requests and responses of what they find, http1_send.c
 * writes messages, and http1.c is the session: one exchange after the other,
 * their ends and their times. http1_raw.c is what follows a 101.
 *
 * A head is parsed only when it is complete and in one piece; so how the
 * network cuts a message cannot change what we make of it.
 */
#ifndef NET_HTTP_HTTP1_H
#define NET_HTTP_HTTP1_H

#include <sys/types.h>

#include "base/core/buf.h"
#include "base/core/limits.h"
#include "net/http/session.h"

/* --- parsing -------------------------------------------------------------- */

/* What is wrong with a message, as a server answers it. `what` is a literal. */
struct http1_fault {
	int status; /* 0: nothing */
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

/* `to_head`: the response will be to HEAD. The fields' 4 KiB are not touched. */
static inline void http1_head_init(struct http1_head *head, bool to_head)
{
	memset(head, 0, offsetof(struct http1_head, fields));
	head->length = -1;
	head->bodiless = to_head;
}

/* How far the lines of a head or of trailers have been looked at. */
struct http1_scan {
	size_t fields_max;
	size_t at; /* bytes seen */
	size_t line; /* where the present line begins */
	size_t fields; /* where the field lines begin */
	unsigned lines; /* of fields */
	bool request; /* else a response */
	bool started; /* the start line is over; trailers have none */
};

/* Before each head, and before trailers. */
void http1_scan_head(struct http1_scan *sc);
void http1_scan_trailers(struct http1_scan *sc);

/*
 * Looks for the end of a head, or of trailers, in bytes that begin with it.
 * 1: complete, sc->at long; 0: more is needed, then call again with the same
 * bytes and more; or a failure.
 */
int http1_scan(struct http1_scan *sc, struct str in, struct http1_fault *ret_fault);

/* Parses what http1_scan() found complete, overwriting some of it, into an initialised head. */
int http1_parse_head(const struct http1_scan *sc, char *in, struct http1_head *head,
		     struct http1_fault *ret_fault);
int http1_parse_trailers(const struct http1_scan *sc, char *in, struct http1_head *head,
			 struct http1_fault *ret_fault);

/* Always a failure. */
int http1_blame(struct http1_fault *ret_fault, int status, const char *what);

/* RFC 9110: token (5.6.2), and what may stand in a field's value (5.5). */
bool http1_is_token(struct str s);
bool http1_is_value(struct str s);

/* What comes next of a body. */
enum http1_body_state {
	HTTP1_BODY_PLAIN, /* `left` bytes */
	HTTP1_BODY_ENDLESS, /* all until the connection ends */
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
	uint64_t left; /* of the body, or of the chunk */
	uint64_t size; /* of the pieces so far */
	uint64_t framing; /* bytes that were not the body's */
};

/* As the head says. */
void http1_body_begin(struct http1_body *b, const struct http1_head *head);

/*
 * Returns how many bytes were used up, and in *ret_piece what of them is the
 * body's: some at the end, or none. Call again for the rest, until b->state is
 * HTTP1_BODY_TRAILERS or HTTP1_BODY_END.
 */
ssize_t http1_body_next(struct http1_body *b, struct str in, struct str *ret_piece,
			struct http1_fault *ret_fault);

/* --- the session ------------------------------------------------------------ */

/* What the next byte of input is. */
enum http1_reading {
	HTTP1_READ_HEAD, /* of a head, or the first one of a message */
	HTTP1_READ_BODY,
	HTTP1_READ_TRAILERS,
	HTTP1_READ_HOLD, /* of the next message; it has to wait for the present exchange */
	HTTP1_READ_RAW, /* of what follows a 101 */
	HTTP1_READ_DROP, /* of nothing that we want: after our answer the connection ends */
};

/* How the end of the message that we send is told. */
enum http1_delimiter {
	HTTP1_NO_BODY,
	HTTP1_LENGTH,
	HTTP1_CHUNKED,
	HTTP1_CLOSE,
	HTTP1_RAW, /* a 101: what follows is no message any more */
};

struct http1 {
	struct http_session h;
	struct http1_scan scan;
	struct http1_body body;
	enum http1_reading reading;
	struct buf held; /* input that waits: part of a head, or later requests */
	size_t held_at; /* before it, `held` is used up */
	struct http_stream *current; /* the exchange under way, referenced; see http1_current() */
	struct http1_fault fault; /* server: to be answered; client: why the session failed */
	int64_t deadline; /* ms: a head, or the rest of a body, is due; INT64_MAX: none */
	int64_t out_left; /* HTTP1_LENGTH: bytes to come; HTTP1_CHUNKED: of this chunk */
	enum http1_delimiter delimiter;
	bool head_sent;
	bool keep_alive; /* the connection may serve another exchange */
	bool send_continue; /* "100 Continue" is to be sent */
	bool bodiless_fault; /* the request that is at fault was HEAD */
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

/* Closes the current stream, which there is, and is without one. */
void http1_close_current(struct http1 *c, const struct error *err);

/* The exchange's stream, or NULL. One that others have closed ends the session. */
struct http_stream *http1_current(struct http1 *c);

/* The incoming message is complete. */
void http1_end_message(struct http1 *c);

/* The next byte begins a message. */
void http1_expect_head(struct http1 *c);

/* When a head that begins now has to be complete. */
int64_t http1_head_due(const struct http1 *c);

/* c->fault was found. Returns n: what follows is not looked at. */
size_t http1_fail(struct http1 *c, size_t n);

/* --- http1_raw.c: after a 101 --- */

/* The current exchange is over and its stream is the connection from now on. */
void http1_begin_raw(struct http1 *c);

/* Server: its 101 is in the outbuf: reads what came before it. */
void http1_raw_switch(struct http1 *c);

/* The current stream has said all; the peer has. */
void http1_raw_sent(struct http1 *c);
void http1_raw_eof(struct http1 *c);

/* --- http1_read.c --- */

/* Reads what can be read now; returns how much of it. */
size_t http1_feed(struct http1 *c, char *in, size_t n);

/* Keeps what could not be read, and tries again. */
int http1_hold(struct http1 *c, const char *in, size_t n, struct error *err);
void http1_feed_held(struct http1 *c);

/* --- http1_send.c --- */

/*
 * Writes what there is of the current message. 1: it is complete; 0: more will
 * come, or the outbuf is full; -ERR_INTERNAL: its owner gave more or less than
 * the length it had promised.
 */
int http1_send(struct http1 *c, struct outbuf *o);

/* Writes the answer to c->fault. */
void http1_send_fault(struct http1 *c, struct outbuf *o);

/* Refuses requests that would break the framing. */
int http1_check_request(const struct http_stream *s, struct error *err);

/* What is left of a request's body is so little that dropping it beats a new connection. */
bool http1_rest_is_small(const struct http1 *c);

#endif
