/*
 * http - messages and streams, the same for HTTP/1.1 and HTTP/2.
 *
 * A `struct http_stream` is one request and its response, seen from the server
 * or from the client. Its owner gets callbacks (struct http_stream_ops) and
 * sends with http_stream_*(). Bodies stream in both directions with
 * backpressure: what arrives must be consumed before more is let in, and what
 * is queued to go out is asked for (on_writable) as there is room.
 *
 * Life: a stream lives until on_close has returned and the last reference is
 * dropped. on_close comes exactly once, last. Whoever waits for another thread
 * holds a reference (http_stream_ref); sending on a closed stream is a harmless
 * -ERR_CANCELED.
 * Threads: belongs to its connection's loop.
 */
#ifndef NET_HTTP_HTTP_H
#define NET_HTTP_HTTP_H

#include "base/core/arena.h"
#include "base/core/bytes.h"
#include "base/core/error.h"
#include "base/core/list.h"
#include "base/core/str.h"

struct conn;
struct http_session;
struct http_stream;
struct loop;

enum http_version { HTTP_1_0 = 10, HTTP_1_1 = 11, HTTP_2 = 20 };

struct http_field {
	struct str name; /* lower case */
	struct str value;
	bool unique; /* of no other message: compression (HPACK) need not remember it */
	bool lasting; /* of an answer: both texts live as long as the stream, and are not copied */
};

#define HTTP_FIELD(literal, v) ((struct http_field){ .name = STR(literal), .value = (v) })

struct http_fields {
	struct http_field *v;
	size_t n, cap;
	size_t bytes; /* names and values together, for the limit */
};

/* First value of a field, or an empty str with p == NULL. */
struct str http_fields_get(const struct http_fields *f, struct str name);

/* True when a comma-separated field has the token (case-insensitive). */
bool http_fields_has_token(const struct http_fields *f, struct str name, struct str token);

/* Whether a field is of this hop alone and is not handed on (RFC 9110, 7.6.1). */
bool http_fields_is_of_hop(const struct http_fields *f, struct str name);

/* Appends, both copied into the arena. -ERR_HEADERS_TOO_LARGE beyond the limits. */
int http_fields_add(struct http_fields *f, struct arena *a, struct str name, struct str value);
/* The same of a field as it is: only what is not lasting is copied. */
int http_fields_add_field(struct http_fields *f, struct arena *a, const struct http_field *field);

/* What arrived: a request at a server, a response at a client. */
struct http_head {
	enum http_version version;
	struct str method; /* request */
	struct str scheme; /* request: "http" or "https" */
	struct str authority; /* request: host[:port], from :authority or Host */
	struct str target; /* request: path and query, as sent */
	struct str path; /* request: target before '?' */
	struct str query; /* request: target after '?' */
	int status; /* response */
	int64_t length; /* Content-Length, or -1 */
	struct http_fields fields;
};

struct http_stream_ops {
	/* Client: the response's head is in s->in. Servers are called by their handler. */
	void (*on_head)(struct http_stream *s);
	/* A piece of the body, borrowed until return. Give it back: http_stream_consume(). */
	void (*on_body)(struct http_stream *s, struct str piece);
	/* The body is complete; s->trailers is filled. */
	void (*on_end)(struct http_stream *s);
	/* The queue fell to a quarter of its bound after http_stream_room() had been 0. */
	void (*on_writable)(struct http_stream *s);
	/* Over. err is NULL when both directions ended in order. */
	void (*on_close)(struct http_stream *s, const struct error *err);
};

struct http_stream {
	/* For the owner, to read. */
	struct http_head in;
	struct http_fields trailers;
	struct arena arena; /* lives as long as the stream */
	size_t unconsumed; /* given to on_body, not yet given back */
	int64_t received; /* bytes of the body; once it is dropped, of what was dropped */
	/* For the owner, to set. */
	const struct http_stream_ops *ops;
	void *data;

	/* Private to the http files. */
	struct http_session *session; /* NULL once closed */
	struct loop *loop; /* whose block this is, or NULL */
	struct list link; /* session's streams */
	unsigned refs;
	int32_t id; /* HTTP/2 stream id */
	struct list writable_link; /* session's streams to which on_writable is owed */
	struct {
		struct str method, scheme, authority, target;
	} request; /* client: what is asked, in the arena */
	struct http_fields out_fields;
	struct http_fields out_trailers;
	int out_status;
	int64_t out_length; /* of our body, -1 unknown */
	struct slice *out; /* ring of queued pieces */
	unsigned out_first, out_n, out_cap;
	size_t out_bytes; /* queued */
	int64_t body_max; /* beyond it: 413; negative: no limit */
	int64_t deadline; /* ms: next body piece is due; INT64_MAX: none */
	int64_t body_timeout_ms;
	int64_t body_since; /* ms: the body is waited for */
	int64_t body_rate; /* bytes per second that it must come at beside; 0: any */
	int64_t out_due; /* ms: the peer must have taken some of the queue; INT64_MAX: none */
	bool server;
	bool head_done; /* the incoming head was delivered */
	bool in_ended; /* on_end was called or is not to come */
	bool out_head; /* our head was given */
	bool out_ended; /* no more will be queued */
	bool out_sent; /* everything has gone to the wire buffer */
	bool out_deferred; /* HTTP/2: waits for more to be queued */
	bool too_many_fields; /* HTTP/2: answer 431 at the end of the head */
	bool out_blocked; /* room was 0: on_writable is owed */
	bool closed;
	bool stop_early; /* answered before the request is complete: ask for no more of it */
	bool discard; /* incoming body is dropped */
	bool wants_continue; /* peer waits for 100 Continue */
	bool head_request; /* HEAD: the response has no body */
	bool raw; /* after a 101: bytes as they are, both ways */
	bool patient; /* out_due does not count */
	struct str upgrade; /* client: asked for; server: granted; in the arena */
	const struct error *refusal; /* answer, once the request is complete */
	void *collector; /* http_stream_collect's state */
	struct slice out_inline[2];
	char block[]; /* the arena's first room: the rest of STREAM_BLOCK bytes */
};

/* --- lifetime ------------------------------------------------------------ */

struct http_stream *http_stream_ref(struct http_stream *s);
void http_stream_unref(struct http_stream *s);

/* Below what it runs; NULL once closed. */
struct conn *http_stream_conn(const struct http_stream *s);
struct loop *http_stream_loop(const struct http_stream *s);

/*
 * Server: the client has shown who it is. From now on its connection does not count among those of
 * unknown clients (struct http_server_opts).
 */
void http_stream_vouch(struct http_stream *s);

/* --- receiving --------------------------------------------------------------- */

/* Gives back n bytes of what on_body delivered: the peer may send that many more. */
void http_stream_consume(struct http_stream *s, size_t n);

/* Longer bodies are answered 413 (server) or fail with -ERR_TOO_LARGE. -1: no limit. */
void http_stream_limit_body(struct http_stream *s, int64_t max);

/*
 * Server: when the response is complete before the request is, tell the client
 * at once to send no more. Without it the rest is let come and thrown away for
 * a second, or a window's worth.
 */
void http_stream_stop_early(struct http_stream *s);

/*
 * Each next piece of the body must come within this time, else 408. 0: no limit. With `rate`, the
 * whole must also come within this time and as long as so many bytes per second take.
 */
void http_stream_body_timeout(struct http_stream *s, int64_t ms, int64_t rate);

/*
 * Server: gathers the whole body, then calls back once with it (in the
 * stream's arena). Limits as above must be set before. If the stream fails
 * first, only on_close comes. Replaces the stream's on_body and on_end.
 */
void http_stream_collect(struct http_stream *s, void (*fn)(struct http_stream *s, struct str body));

/* --- sending ------------------------------------------------------------------- */

/*
 * Server: the response's head; fields that are not lasting are copied. `length` is the body's size
 * when known, else -1; with 0 the message ends here, without trailers. Interim
 * responses (1xx) are not sent this way.
 */
int http_stream_respond(struct http_stream *s, int status, const struct http_field *fields,
			size_t n, int64_t length);

/* Queues a piece of the body, always; its reference is taken over, also on failure. */
int http_stream_send(struct http_stream *s, struct slice piece);
int http_stream_send_copy(struct http_stream *s, struct str piece);

/* Bytes that a polite producer may queue now; 0 means wait for on_writable. */
size_t http_stream_room(struct http_stream *s);

/*
 * Server: a person may read this and stop for hours, so from now on output of the stream and of
 * the connection may wait without limit. A peer that is gone is the transport's matter (TCP
 * keep-alive).
 */
void http_stream_patient(struct http_stream *s);

/* The body is complete. Trailers may be NULL. */
int http_stream_end(struct http_stream *s, const struct http_field *trailers, size_t n);

/* True when all that was queued, and its end, has gone to the connection. */
static inline bool http_stream_flushed(const struct http_stream *s)
{
	return s->out_sent;
}

/* Of an upgraded connection: true when the socket has taken all of that. */
bool http_stream_was_shut(const struct http_stream *s);

/* respond, send and end in one. `body` is taken over. */
int http_stream_reply(struct http_stream *s, int status, struct str content_type,
		      struct slice body);

/*
 * Server: an error's status with its message as text, when no head went out;
 * else a reset. While the request's body still comes the answer waits for its
 * end, for a second or 64 KiB: most clients send all before they look, and the
 * connection stays of use.
 */
void http_stream_fail(struct http_stream *s, const struct error *err);

/* --- upgrades (RFC 9110, 7.8) ------------------------------------------------------- */

/* Server: the client asks for another protocol, as only HTTP/1.1 lets it. */
bool http_stream_wants_upgrade(const struct http_stream *s);

/*
 * Server: answers 101 and the fields; Connection and Upgrade (`protocol`) are
 * added. From then on the stream is the connection: on_body has its bytes as
 * they come, on_end its end, http_stream_send() and http_stream_end() are for
 * the other way, and on_close comes when both have ended. Windows work as for
 * bodies, and no time-out remains. on_end of the request itself comes only if it
 * was before this call.
 * A client that gave http_request an `upgrade` has the same from on_head on when
 * s->in.status is 101; any other status is an ordinary response.
 * -ERR_BAD_REQUEST where nothing was asked for, or a body is still to come.
 */
int http_stream_upgrade(struct http_stream *s, struct str protocol, const struct http_field *fields,
			size_t n);

/* Gives up: HTTP/2 resets the stream, HTTP/1.1 closes the connection. on_close follows. */
void http_stream_reset(struct http_stream *s, const struct error *why);

/* "Not Found" for 404; "" when unknown. */
const char *http_status_text(int status);

/* "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7), for times since 1970. */
enum { HTTP_DATE_LEN = 29 };
void http_date(char ret_text[HTTP_DATE_LEN + 1], int64_t wall_ns);

#endif
