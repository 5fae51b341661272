/*
 * http_session - the protocol of one connection, without I/O.
 *
 * http1.c and http2.c implement it for servers and clients; http/conn.c joins it to a conn and a
 * loop. A session takes bytes and a time, makes streams and calls their owners, and fills an
 * outbuf. It is tested and fuzzed by feeding it bytes.
 */
#ifndef NET_HTTP_SESSION_H
#define NET_HTTP_SESSION_H

#include "net/http/http.h"
#include "net/loop/outbuf.h"

/* Limits and times; zero means the default. Shared, immutable. */
struct http_config {
	size_t headers_max; /* HTTP_HEADERS_MAX */
	int64_t body_max; /* request bodies; HTTP_BODY_MAX; -1: no limit */
	uint32_t streams_max; /* HTTP_STREAMS_MAX */
	uint32_t out_max; /* HTTP_OUT_HIGH: bytes queued for one stream before producers wait */
	uint32_t window; /* HTTP_WINDOW: body bytes received and not consumed, per stream */
	int64_t head_timeout_ms; /* connection or first byte to complete head: 408; 10 s */
	int64_t idle_timeout_ms; /* no stream open; 90 s; clients: -1 */
	int64_t write_timeout_ms; /* pending output and no progress; 120 s; -1: never */
	int64_t stall_timeout_ms; /* HTTP/2 server: the same for one stream; 60 s; -1: never */
	bool eof_cancels; /* HTTP/1.1 server: a client that closes its side cancels its request */
	bool lax_messaging; /* HTTP/2: no checks of header fields, for unix sockets */
};

struct http_session_ops {
	/*
	 * Takes all of `data`. An error is fatal: flush the output (it may hold an error response
	 * or GOAWAY), then close.
	 */
	int (*input)(struct http_session *h, char *data, size_t n, struct error *err);
	/* The peer has ended its side. */
	int (*eof)(struct http_session *h, struct error *err);
	/* Collects output while there is room. Returns true if more is left. */
	bool (*output)(struct http_session *h, struct outbuf *o);
	/* Accept no new streams; end when the present ones have (GOAWAY, Connection: close). */
	void (*drain)(struct http_session *h);
	/* Time passed (h->now): checks timeouts of heads and bodies. */
	int (*tick)(struct http_session *h, struct error *err);
	/* Only frees itself: the streams are closed already. */
	void (*free)(struct http_session *h);

	/* Client: sends the request whose head is in `s` (see http_session_request). */
	int (*request)(struct http_session *h, struct http_stream *s, struct error *err);
	/* Server: out_status and out_fields are set. */
	void (*respond)(struct http_session *h, struct http_stream *s);
	/* The queue grew or ended. */
	void (*wake)(struct http_session *h, struct http_stream *s);
	/* n bytes were consumed; s->unconsumed is already updated. */
	void (*consume)(struct http_session *h, struct http_stream *s, size_t n);
	/* Aborts the stream; the caller then calls http_stream_close(). */
	void (*reset)(struct http_session *h, struct http_stream *s, int code);
	/* The stream is being closed: drop all pointers to it. May be NULL. */
	void (*forget)(struct http_session *h, struct http_stream *s);
	/* Server: the response is sent and the rest of the request is not needed. May be NULL. */
	void (*stop)(struct http_session *h, struct http_stream *s);
	/* Asks the peer for a sign of life; NULL if the protocol has no ping. */
	void (*ping)(struct http_session *h);
};

/* Implemented by the connection for its session. */
struct http_session_events {
	/* Server: a request's head is complete. Must set s->ops. */
	void (*on_stream)(void *owner, struct http_stream *s);
	/*
	 * There is output, or `done` may have become true. Called freely; the owner merges the
	 * calls.
	 */
	void (*on_output)(void *owner);
	/* Stop or resume reading from the peer. */
	void (*on_pause)(void *owner, bool pause);
	/* A stream is about to be reset, because its peer reads nothing. May be NULL. */
	void (*on_stalled)(void *owner);
};

struct http_session {
	const struct http_session_ops *ops;
	const struct http_session_events *events;
	void *owner;
	const struct http_config *config; /* defaults filled in */
	struct conn *conn; /* for http_stream_conn(); NULL in tests */
	struct loop *loop;
	struct list streams;
	struct list writable; /* streams that are due an on_writable */
	unsigned nstreams;
	int64_t now; /* ms; set by the owner before each call */
	int64_t deadline; /* ms: when to call tick(); INT64_MAX: never */
	const char *date; /* HTTP_DATE_LEN bytes: the Date of responses; NULL: none */
	bool server;
	bool tls; /* scheme of incoming requests: https */
	bool draining; /* no new streams */
	bool done; /* close when the output is flushed */
	bool raw; /* the connection was upgraded: it may be idle for hours */
	bool vouched; /* the client is authenticated: see http_stream_vouch() */
	bool patient; /* no write timeout: see http_stream_patient() */
	bool shut; /* output has ended, input has not: shut down our side when flushed */
	bool was_shut; /* and that was done */
};

struct http_session *http1_new(bool server, const struct http_config *config,
			       const struct http_session_events *events, void *owner);
struct http_session *http2_new(bool server, const struct http_config *config,
			       const struct http_session_events *events, void *owner);

/* The common initialisation of both protocols. */
void http_session_init(struct http_session *h, const struct http_session_ops *ops, bool server,
		       const struct http_config *config, const struct http_session_events *events,
		       void *owner);

/*
 * After output(): calls on_writable of streams whose queue ran low. Returns true if any was called.
 */
bool http_session_call_writable(struct http_session *h);

/* Closes open streams with `err`, and frees the session. */
void http_session_free(struct http_session *h, const struct error *err);

/* Copies config with the defaults in place of zeroes. */
struct http_config http_config_fill(const struct http_config *config);

/*
 * Client: makes a stream for a request. Fields are copied. `end`: no body. `length`: of the body,
 * -1 if unknown. `upgrade`: the requested protocol (http_stream_upgrade), with `end` and on
 * HTTP/1.1 only.
 */
struct http_request {
	struct str method, scheme, authority, target;
	struct str upgrade;
	const struct http_field *fields;
	size_t nfields;
	int64_t length;
	bool end;
	const struct http_stream_ops *ops;
	void *data;
};
int http_session_request(struct http_session *h, const struct http_request *r,
			 struct http_stream **ret_stream, struct error *err);

/* --- for the protocols ------------------------------------------------------ */

/* A new stream in h's list, one reference held by the session. */
struct http_stream *http_stream_new(struct http_session *h);

/* The received head is complete: splits the target, calls the owner. */
void http_stream_in_head(struct http_stream *s);
/* A piece of the body: checks the limit, counts it as unconsumed, calls on_body. */
void http_stream_in_body(struct http_stream *s, struct str piece);
/* The received message is complete. */
void http_stream_in_end(struct http_stream *s);
/* The message is over and its stream raw: both directions start over. */
void http_stream_begin_raw(struct http_stream *s);
/* Calls on_close, leaves the session, drops its reference. Further calls do nothing. */
void http_stream_close(struct http_stream *s, const struct error *err);

/*
 * Moves up to `max` (at most 16 KiB) queued bytes into the outbuf, which must have room, and
 * returns how many. May make an on_writable due, which http_session_call_writable() calls.
 */
size_t http_stream_out_move(struct http_stream *s, struct outbuf *o, size_t max);
/*
 * Server: the response is sent, the request is incomplete. Discards the rest; calls stop() if it
 * exceeds a window's worth. The protocol does so in tick() at s->deadline.
 */
void http_stream_discard(struct http_stream *s);

#endif
