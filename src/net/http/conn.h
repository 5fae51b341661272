/*
 * http_conn - private to the http files: joins a conn and a session.
 *
 * Feeds the session, writes its output once per turn, keeps the bytes that the socket did not take,
 * watches timeouts, and closes so that the peer gets everything that was sent. Embedded by a
 * server's connection and by a client.
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
	/* Bytes came and there is no session; like on_open. NULL if impossible. */
	void (*on_first)(struct http_conn *c, char *data, size_t n);
	/* A stream is about to be reset, because its peer reads nothing. May be NULL. */
	void (*on_stalled)(struct http_conn *c);
	/* After a turn in which something happened, to look at the session. */
	void (*on_turn)(struct http_conn *c);
	/*
	 * Everything is closed, including the streams. `err` is NULL if it ended in order. Must
	 * free it.
	 */
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
	struct slice *rest; /* bytes that the socket did not take */
	int nrest, rest_at;
	int64_t opened_at; /* ms */
	int64_t input_at; /* ms: last input */
	int64_t progress_at; /* ms: last write that made progress */
	int64_t linger_until; /* ms: the next check of it */
	int64_t linger_most; /* ms: limit, however slowly the last bytes go */
	bool open; /* conn is up */
	bool eof; /* the peer has ended its side, too */
	bool large; /* had more to write than one round takes */
	bool shut; /* our side is shut down, the peer's is not */
	bool unflushed; /* at the last check, the conn had unwritten bytes */
	bool lingering; /* everything is sent; waiting for the peer to close */
	bool over;
	bool freed;
	void (*release)(struct http_conn *c); /* frees the memory around it, after the turn */
};

/* `conn` may be set later. `release` is called when nothing refers to it any more. */
void http_conn_init(struct http_conn *c, struct loop *l, const struct http_config *config,
		    const struct http_conn_events *events, void (*release)(struct http_conn *c));

/* For conn_connect(), tls_wrap() or conn_set_events(), with the http_conn as arg. */
extern const struct conn_events http_conn_conn_events;

/* Makes the session. */
void http_conn_start(struct http_conn *c, enum http_version version, bool server);

/* Handles input as if it came from the conn. */
void http_conn_feed(struct http_conn *c, char *data, size_t n);

/* Runs the task at the end of this turn. */
void http_conn_schedule(struct http_conn *c);

/* Ends now: closes the streams with `err`, and the conn. Calls on_over unless it is being freed. */
void http_conn_fail(struct http_conn *c, const struct error *err);

/* Closes everything at once; streams get on_close with `err`. */
void http_conn_free(struct http_conn *c, const struct error *err);

#endif
