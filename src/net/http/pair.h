/*
 * http_pair - for tests: a client's and a server's session joined in memory.
 *
 * Bytes cross in pieces of random size from a seeded generator, time moves only by hand, and there
 * is no I/O. Pausing a side keeps its bytes on the wire, like a full socket.
 */
#ifndef NET_HTTP_PAIR_H
#define NET_HTTP_PAIR_H

#include "base/core/buf.h"
#include "base/core/random.h"
#include "net/http/session.h"

struct http_pair;

struct http_pair_side {
	struct http_pair *pair;
	struct http_session *session;
	struct buf wire; /* bytes in flight to this side */
	bool paused;
	bool failed; /* input() returned an error */
	bool over; /* done, and all its output is on the wire */
	struct error err;
};

struct http_pair {
	struct http_config config;
	struct http_pair_side client, server;
	struct outbuf *out;
	struct prng prng;
	int64_t now;
	size_t piece_max; /* largest piece that crosses at once; 0: all */
	size_t wire_max; /* nothing is written while this much is in flight; 0: no limit */
	void (*handler)(struct http_pair *p, struct http_stream *s);
	void *data; /* the test's */
	size_t wire_peak;
};

/* `config` may be NULL. */
void http_pair_init(struct http_pair *p, enum http_version version,
		    const struct http_config *config,
		    void (*handler)(struct http_pair *p, struct http_stream *s), uint64_t seed);
void http_pair_release(struct http_pair *p);

/* One move in each direction; false when nothing moved. */
bool http_pair_step(struct http_pair *p);

/* Steps until nothing moves. */
void http_pair_run(struct http_pair *p);

/* Moves time, calls tick() when due, then runs. */
void http_pair_advance(struct http_pair *p, int64_t ms);

/* A GET, or a POST if it has a body. */
struct http_stream *http_pair_request(struct http_pair *p, struct str method, struct str target,
				      bool end, const struct http_stream_ops *ops, void *data);

#endif
