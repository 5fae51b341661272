/*
 * podres_clients - who calls PodResources, and what each may still do. Pure: time is a parameter.
 *
 * Upstream has one bucket of tokens for all, so that one eager poller locks everybody out. Here
 * each client has its own: each call takes a token, and open calls and watches are counted. To open
 * a watch takes one of another bucket, which has room for all the watches that a client may have.
 * A client is a process, as the kernel tells of it; those whose process is not known are one by
 * user, and those of whom nothing is known are one together.
 *
 * Whoever has nothing open and a full bucket is forgotten; of the others without anything open the
 * last PODRES_CLIENTS_MAX are remembered, so that a process that forks for each call costs little.
 * Threads: one at a time.
 */
#ifndef NODE_PODRESOURCES_CLIENTS_H
#define NODE_PODRESOURCES_CLIENTS_H

#include "base/core/error.h"
#include "base/core/list.h"
#include "base/core/map.h"

/* 0 in a field: no limit. */
struct podres_limits {
	double calls_per_s; /* of one client, with a burst of its own */
	unsigned burst; /* at least 1 where calls are limited */
	unsigned client_streams; /* watches of one client */
	unsigned streams; /* of all */
};

/* 500 calls/s with a burst of 100, 2048 watches each, 8192 in all. */
extern const struct podres_limits podres_limits_default;

struct podres_client;

struct podres_clients {
	struct podres_limits limits;
	struct map by_owner;
	struct list idle; /* have nothing open; those that called last at the end */
	size_t nidle;
	unsigned streams;
};

void podres_clients_init(struct podres_clients *t, const struct podres_limits *limits);
/* Nothing may be open. */
void podres_clients_release(struct podres_clients *t);

struct conn_owner;

enum podres_refusal {
	PODRES_TAKEN, /* not refused */
	PODRES_REFUSED_RATE,
	PODRES_REFUSED_CALLS, /* too many open calls besides watches */
	PODRES_REFUSED_CLIENT_STREAMS,
	PODRES_REFUSED_STREAMS,
	PODRES_REFUSALS,
};

/*
 * One call begins, or one watch; `owner` NULL: not known. When it may, the client is returned
 * that podres_clients_end() wants at the end; else NULL, *ret_why says which limit and *err is
 * -ERR_TOO_MANY_REQUESTS in words. A refused call has taken its token all the same.
 */
struct podres_client *podres_clients_begin(struct podres_clients *t, const struct conn_owner *owner,
					   bool watch, int64_t now_ms, enum podres_refusal *ret_why,
					   struct error *err);
void podres_clients_end(struct podres_clients *t, struct podres_client *c, bool watch);

#endif
