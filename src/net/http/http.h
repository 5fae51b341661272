/*
 * http - messages and streams, the same for HTTP/1.1 and HTTP/2.
 *
 * A `struct http_stream` is one request and its response, seen from the server or from the client.
 * Its owner gets callbacks (struct http_stream_ops) and sends with http_stream_*(). Bodies stream
 * in both directions with backpressure: more input is accepted only after the owner has consumed
 * it, and on_writable asks for more output when there is room.
 *
 * Lifetime: a stream lives until on_close has returned and the last reference is dropped. on_close
 * comes exactly once, last. Code that waits for another thread holds a reference (http_stream_ref).
 * Sending on a closed stream is harmless, and returns -ERR_CANCELED.
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
struct outbuf;

enum http_version { HTTP_1_0 = 10, HTTP_1_1 = 11, HTTP_2 = 20 };

struct http_field {
	struct str name; /* lower case */
	struct str value;
	bool unique; /* specific to this message: not added to the HPACK table */
	bool lasting; /* response: both texts live as long as the stream, and are not copied */
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

/* Whether a field is hop-by-hop and must not be forwarded (RFC 9110, 7.6.1). */
bool http_fields_is_of_hop(const struct http_fields *f, struct str name);

/* Appends, both copied into the arena. -ERR_HEADERS_TOO_LARGE beyond the limits. */
int http_fields_add(struct http_fields *f, struct arena *a, struct str name, struct str value);
/* The same for a whole field; texts marked `lasting` are not copied. */
int http_fields_add_field(struct http_fields *f, struct arena *a, const struct http_field *field);

/* The received head: a request at a server, a response at a client. */
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
	/*
	 * A piece of the body, borrowed until return. Return its bytes with http_stream_consume().
	 */
	void (*on_body)(struct http_stream *s, struct str piece);
	/* The body is complete; s->trailers is filled. */
	void (*on_end)(struct http_stream *s);
	/* The queue fell to a quarter of its limit, after http_stream_room() was 0. */
	void (*on_writable)(struct http_stream *s);
	/* The end. err is NULL if both directions ended in order. */
	void (*on_close)(struct http_stream *s, const struct error *err);
};

struct http_stream {
	/* For the owner, to read. */
	struct http_head in;
	struct http_fields trailers;
	struct arena arena; /* lives as long as the stream */
	size_t unconsumed; /* bytes passed to on_body and not consumed yet */
	int64_t received; /* bytes of the body; if it is discarded, the discarded bytes */
	/* For the owner, to set. */
	const struct http_stream_ops *ops;
	void *data;

	/* Private to the http files. */
	struct http_session *session; /* NULL once closed */
	struct loop *loop; /* the loop whose recycler owns this block, or NULL */
	struct list link; /* session's streams */
	unsigned refs;
	int32_t id; /* HTTP/2 stream id */
	struct list writable_link; /* session's streams to which on_writable is owed */
	struct {
		struct str method, scheme, authority, target;
	} request; /* client: the request, in the arena */
	struct http_fields out_fields;
	struct http_fields out_trailers;
	int out_status;
	int64_t out_length; /* of our body; -1: unknown */
	struct slice *out; /* ring of queued pieces */
	unsigned out_first, out_n, out_cap;
	size_t out_bytes; /* queued, or still to be made by `supply` */
	struct http_supply *supply; /* makes the rest, after what is queued; or NULL */
	int64_t body_max; /* beyond it: 413; negative: no limit */
	int64_t deadline; /* ms: when the next piece of the body is due; INT64_MAX: never */
	int64_t body_timeout_ms;
	int64_t body_since; /* ms: since when the body is awaited */
	int64_t body_rate; /* minimal bytes per second of the body; 0: any */
	int64_t out_due; /* ms: when the peer must have read some of the queue; INT64_MAX: never */
	bool server;
	bool head_done; /* the incoming head was delivered */
	bool in_ended; /* on_end was called, or will not be */
	bool out_head; /* our head was set */
	bool out_ended; /* nothing will be added to the queue */
	bool out_sent; /* everything has gone to the wire buffer */
	bool out_deferred; /* HTTP/2: waits for more to be queued */
	bool too_many_fields; /* HTTP/2: answer 431 at the end of the head */
	bool out_blocked; /* room was 0: on_writable is owed */
	bool closed;
	bool stop_early; /* if responded before the request is complete: stop the peer */
	bool discard; /* incoming body is dropped */
	bool wants_continue; /* the peer waits for 100 Continue */
	bool head_request; /* HEAD: the response has no body */
	bool raw; /* after a 101: raw bytes in both directions */
	bool patient; /* out_due does not apply */
	struct str upgrade; /* client: requested; server: granted; in the arena */
	const struct error *refusal; /* error to reply with, once the request is complete */
	void *collector; /* http_stream_collect's state */
	struct slice out_inline[2];
	char block[]; /* the arena's first memory: the rest of STREAM_BLOCK bytes */
};

/* --- lifetime ------------------------------------------------------------ */

struct http_stream *http_stream_ref(struct http_stream *s);
void http_stream_unref(struct http_stream *s);

/* The conn that it runs on; NULL once closed. */
struct conn *http_stream_conn(const struct http_stream *s);
struct loop *http_stream_loop(const struct http_stream *s);

/*
 * Server: the client has authenticated. From now on its connection does not count against the limit
 * for unknown clients (struct http_server_opts).
 */
void http_stream_vouch(struct http_stream *s);

/* --- receiving --------------------------------------------------------------- */

/* Consumes n bytes delivered by on_body: the peer may send that many more. */
void http_stream_consume(struct http_stream *s, size_t n);

/* Longer bodies get 413 (server) or fail with -ERR_TOO_LARGE. -1: no limit. */
void http_stream_limit_body(struct http_stream *s, int64_t max);

/*
 * Server: if the response is complete before the request, asks the client at once to stop sending.
 * Without it, the rest is received and discarded, for up to a second or a window's worth.
 */
void http_stream_stop_early(struct http_stream *s);

/*
 * Each piece of the body must come within this time after the last one, else 408. 0: no limit. With
 * `rate`, the whole body must also come within this time plus its size divided by `rate` bytes per
 * second.
 */
void http_stream_body_timeout(struct http_stream *s, int64_t ms, int64_t rate);

/*
 * Server: collects the whole body in the stream's arena, then calls `fn` once. Set limits before.
 * If the stream fails first, only on_close comes. Replaces the stream's on_body and on_end.
 */
void http_stream_collect(struct http_stream *s, void (*fn)(struct http_stream *s, struct str body));

/* --- sending ------------------------------------------------------------------- */

/*
 * Server: sends the response's head. Fields that are not `lasting` are copied. `length` is the
 * body's size, or -1 if unknown; with 0 the message ends here, without trailers. Not for interim
 * responses (1xx).
 */
int http_stream_respond(struct http_stream *s, int status, const struct http_field *fields,
			size_t n, int64_t length);

/* Queues a piece of the body, regardless of room. Takes over its reference, also on failure. */
int http_stream_send(struct http_stream *s, struct slice piece);
int http_stream_send_copy(struct http_stream *s, struct str piece);

/*
 * Makes the rest of a body when it is sent. `put` adds exactly the next n bytes, at most 16 KiB, to
 * the connection's output, which has room for them in pieces of any size. It calls no function of
 * the stream. The supply lives until it was asked for all, or the stream is closed.
 */
struct http_supply {
	void (*put)(struct http_supply *u, struct outbuf *o, size_t n);
};

/*
 * Sends the rest of the body, of n bytes, and ends it. Nothing of it is queued, however slowly the
 * peer reads. `put` is not called for a HEAD request.
 */
int http_stream_supply(struct http_stream *s, struct http_supply *u, size_t n);

/* The number of bytes that a producer should queue at most; 0: wait for on_writable. */
size_t http_stream_room(struct http_stream *s);

/*
 * Server: a person may read this and stop for hours, so from now on output of the stream and of the
 * connection may wait without limit. The transport detects a dead peer (TCP keep-alive).
 */
void http_stream_patient(struct http_stream *s);

/* Ends the body. Trailers may be NULL. */
int http_stream_end(struct http_stream *s, const struct http_field *trailers, size_t n);

/* True if everything queued, and its end, was passed to the connection. */
static inline bool http_stream_flushed(const struct http_stream *s)
{
	return s->out_sent;
}

/* For an upgraded connection: true if the socket has also taken all of that. */
bool http_stream_was_shut(const struct http_stream *s);

/* Responds, sends and ends in one call. Takes over `body`. */
int http_stream_reply(struct http_stream *s, int status, struct str content_type,
		      struct slice body);

/*
 * Server: replies with the error's status, and its message as text. If the head was already sent,
 * resets the stream. While the request's body is still being received, the reply waits for its end,
 * for up to a second or 64 KiB: most clients send everything before they read, and this keeps the
 * connection usable.
 */
void http_stream_fail(struct http_stream *s, const struct error *err);

/* --- upgrades (RFC 9110, 7.8) ------------------------------------------------------- */

/* Server: whether the client asks for another protocol; possible on HTTP/1.1 only. */
bool http_stream_wants_upgrade(const struct http_stream *s);

/*
 * Server: replies with 101 and the fields; Connection and Upgrade (`protocol`) are added. From then
 * on the stream is the connection: on_body gets its bytes, on_end its end, http_stream_send() and
 * http_stream_end() are for the other direction, and on_close comes when both have ended. Windows
 * work as for bodies, and no timeouts apply. on_end of the request itself only comes if it was
 * before this call. A client that set `upgrade` in http_request gets the same from on_head on, if
 * s->in.status is 101; any other status is an ordinary response. Returns -ERR_BAD_REQUEST if no
 * upgrade was requested, or a body is still to come.
 */
int http_stream_upgrade(struct http_stream *s, struct str protocol, const struct http_field *fields,
			size_t n);

/* Aborts: HTTP/2 resets the stream, HTTP/1.1 closes the connection. on_close follows. */
void http_stream_reset(struct http_stream *s, const struct error *why);

/* "Not Found" for 404; "" when unknown. */
const char *http_status_text(int status);

/* "Sun, 06 Nov 1994 08:49:37 GMT" (RFC 9110, 5.6.7), for times since 1970. */
enum { HTTP_DATE_LEN = 29 };
void http_date(char ret_text[HTTP_DATE_LEN + 1], int64_t wall_ns);

#endif
