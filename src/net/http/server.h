/*
 * http_server - serves HTTP/1.1 and HTTP/2 on any number of sockets and loops.
 *
 * TLS sockets use the protocol agreed by ALPN. Plain sockets use HTTP/1.1, or HTTP/2 if the client
 * begins with its preface (prior knowledge). The handler is called on the connection's loop with a
 * complete request head. It sets s->ops, and responds now or later.
 */
#ifndef NET_HTTP_SERVER_H
#define NET_HTTP_SERVER_H

#include "net/http/http.h"
#include "net/http/session.h"
#include "net/loop/addr.h"

struct http_server;
struct tls;

struct http_server_opts {
	struct loop *const *loops; /* I/O loops; the first one also accepts */
	size_t nloops;
	/* The first loop only accepts: connections go to the others, if there are any. */
	bool spare_first;
	struct http_config config;
	/*
	 * Limits on all connections, and on those from one address whose client is not
	 * authenticated yet (http_stream_vouch()); 0: no limit. Connections beyond them are closed
	 * immediately.
	 */
	size_t max_conns, max_strangers;
	/* `lane` is the index of its loop. */
	void (*handler)(void *arg, struct http_stream *s, size_t lane);
	void *arg;
};

struct http_server_stats {
	uint64_t accepted;
	uint64_t conns; /* open now */
	uint64_t requests;
	uint64_t refused_all, refused_strangers; /* connections closed because of either limit */
	uint64_t stalled; /* HTTP/2 streams reset because the peer did not read them */
};

/* The loops must outlive it. */
struct http_server *http_server_new(const struct http_server_opts *opts);

/*
 * Adds a socket. Call it on the first loop. `tls` NULL: plain text. All TLS sockets share the last
 * given `tls`. `unix_mode` is for unix sockets; 0: 0600.
 */
int http_server_listen(struct http_server *s, const struct addr *at, struct tls *tls,
		       unsigned unix_mode, struct addr *ret_at, struct error *err);

/* New connections use this from now on (renewed certificates). Any thread. */
void http_server_set_tls(struct http_server *s, struct tls *tls);

/*
 * Stops accepting, and lets connections end: GOAWAY, Connection: close. Closes those still open
 * after `grace_ms`. Calls `done` once, on the first loop, when no connection is left.
 */
void http_server_drain(struct http_server *s, int64_t grace_ms, void (*done)(void *arg), void *arg);

/* Only after `done`, or before any loop ran. */
void http_server_free(struct http_server *s);

void http_server_stats(const struct http_server *s, struct http_server_stats *ret_stats);

#endif
