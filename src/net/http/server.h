/*
 * http_server - serve HTTP/1.1 and HTTP/2 on any number of sockets and loops.
 *
 * TLS sockets speak what ALPN agrees on; clear ones speak HTTP/1.1, or HTTP/2
 * when the client begins with its preface (prior knowledge). The handler is
 * called on the connection's loop with a complete request head, sets s->ops
 * and answers now or later.
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
	struct http_config config;
	/*
	 * Connections in all, and from one address those whose client is not known yet
	 * (http_stream_vouch()); 0: no limit. New ones beyond are closed at once.
	 */
	size_t max_conns, max_strangers;
	/* `lane`: index of the loop that it runs on. */
	void (*handler)(void *arg, struct http_stream *s, size_t lane);
	void *arg;
};

struct http_server_stats {
	uint64_t accepted;
	uint64_t conns; /* open now */
	uint64_t requests;
	uint64_t refused_all, refused_strangers; /* connections closed because of each limit */
	uint64_t stalled; /* HTTP/2 streams that were reset: the peer took nothing of the answer */
};

/* The loops must outlive it. */
struct http_server *http_server_new(const struct http_server_opts *opts);

/*
 * Adds a socket; on the first loop. `tls` NULL: clear. All sockets with TLS share
 * what was given last. `unix_mode`: of a unix socket; 0: 0600.
 */
int http_server_listen(struct http_server *s, const struct addr *at, struct tls *tls,
		       unsigned unix_mode, struct addr *ret_at, struct error *err);

/* New connections use this from now on (certificates were renewed). Any thread. */
void http_server_set_tls(struct http_server *s, struct tls *tls);

/*
 * Stops accepting and lets the connections end: GOAWAY, Connection: close.
 * What is still open after `grace_ms` is cut. `done` is called once, on the
 * first loop, when no connection is left.
 */
void http_server_drain(struct http_server *s, int64_t grace_ms, void (*done)(void *arg), void *arg);

/* Only after `done`, or before any loop ran. */
void http_server_free(struct http_server *s);

void http_server_stats(const struct http_server *s, struct http_server_stats *ret_stats);

#endif
