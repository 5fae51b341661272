/*
 * http_conn - private to the http files: a conn and a session, joined.
 *
 * Feeds the session, writes what it wants written once per turn, keeps what the
 * socket did not take, watches the times, and closes so that the peer sees
 * everything that was sent. Embedded by a server's connection and by a client.
 */
#ifndef NET_HTTP_CONN_H
#define NET_HTTP_CONN_H

#include "net/http/session.h"
#include "net/loop/conn.h"
#include "net/loop/loop.h"

struct http_conn;

struct http_conn_events {
	/* Server: a request. Sets s->ops. */
	void (*on_stream)(struct http_conn *c, struct http_stream *s);
	/* The conn is up and has no session: call http_conn_start(). */
	void (*on_open)(struct http_conn *c);
	/* Bytes came and there is no session; as on_open. NULL if that cannot be. */
	void (*on_first)(struct http_conn *c, char *data, size_t n);
	/* A stream is about to be reset since its peer took nothing of it; or NULL. */
	void (*on_stalled)(struct http_conn *c);
	/* After a turn in which something happened; for looking at the session. */
	void (*on_turn)(struct http_conn *c);
	/* Nothing is left, NULL: in order. The streams are closed. Must free it. */
	void (*on_over)(struct http_conn *c, const struct error *err);
};

struct http_conn {
	struct loop *loop;
	struct conn *conn;
	struct http_session *session; /* NULL until the protocol is known */
	const struct http_config *config;
	const struct http_conn_events *events;
	struct loop_task task; /* writes, once a turn */
	struct loop_timer timer;
	struct slice *rest; /* what the socket did not take */
	int nrest, rest_at;
	int64_t opened_at; /* ms */
	int64_t input_at; /* ms: last input */
	int64_t progress_at; /* ms: last write that took something */
	int64_t linger_until; /* ms: the next look at it */
	int64_t linger_most; /* ms: however slowly the last bytes go */
	bool open; /* conn is up */
	bool eof; /* the peer has said all, too */
	bool large; /* had more to write than one round takes */
	bool shut; /* our side is shut down, the peer's is not */
	bool unflushed; /* at the last look, the conn still had some of it */
	bool lingering; /* all is said; waiting for the peer to close */
	bool over;
	bool freed;
	void (*release)(struct http_conn *c); /* frees the memory around it, after the turn */
};

/* `conn` may be set later. `release` is called when nothing refers to it any more. */
void http_conn_init(struct http_conn *c, struct loop *l, const struct http_config *config,
		    const struct http_conn_events *events, void (*release)(struct http_conn *c));

/* What to give conn_connect(), tls_wrap() or conn_set_events(), with the http_conn as arg. */
extern const struct conn_events http_conn_conn_events;

/* Makes the session. */
void http_conn_start(struct http_conn *c, enum http_version version, bool server);

/* Input, as if it had come from the conn. */
void http_conn_feed(struct http_conn *c, char *data, size_t n);

/* Runs the task at the end of this turn. */
void http_conn_schedule(struct http_conn *c);

/* Ends now: closes streams with `err`, the conn, and calls on_over unless it is being freed. */
void http_conn_fail(struct http_conn *c, const struct error *err);

/* Closes everything at once; streams get on_close with `err`. */
void http_conn_free(struct http_conn *c, const struct error *err);

#endif
