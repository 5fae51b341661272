/*
 * podres_clients - identifies PodResources clients and enforces their limits. Pure.
 *
 * Upstream has one token bucket for all clients, so one eager poller locks out the others. Here
 * each client has its own bucket, and each call takes a token. Open calls and watches are counted.
 * Opening a watch takes a token from a second bucket, which is as large as the number of watches
 * that a client may have. A client is a process, as identified by the kernel. Callers whose process
 * is unknown are one client per user; callers about which nothing is known are one client together.
 *
 * A client with nothing open and a full bucket is forgotten. Up to PODRES_CLIENTS_MAX other clients
 * with nothing open are remembered, the most recent ones, so a process that forks for each call
 * costs little.
 * Threads: one at a time. Time is a parameter.
 */
#ifndef NODE_PODRESOURCES_CLIENTS_H
#define NODE_PODRESOURCES_CLIENTS_H

#include "base/core/error.h"
#include "base/core/list.h"
#include "base/core/map.h"

/* In each field 0 means no limit. */
struct podres_limits {
	double calls_per_s; /* per client */
	unsigned burst; /* per client; at least 1 if calls are limited */
	unsigned client_streams; /* watches per client */
	unsigned streams; /* watches of all clients */
};

/* 500 calls/s with a burst of 100, 2048 watches each, 8192 in all. */
extern const struct podres_limits podres_limits_default;

struct podres_client;

struct podres_clients {
	struct podres_limits limits;
	struct map by_owner;
	struct list idle; /* clients with nothing open; the most recent caller last */
	size_t nidle;
	unsigned streams;
};

void podres_clients_init(struct podres_clients *t, const struct podres_limits *limits);
/* No call or watch may be open. */
void podres_clients_release(struct podres_clients *t);

struct conn_owner;

enum podres_refusal {
	PODRES_TAKEN, /* not rejected */
	PODRES_REFUSED_RATE,
	PODRES_REFUSED_CALLS, /* too many open calls besides watches */
	PODRES_REFUSED_CLIENT_STREAMS,
	PODRES_REFUSED_STREAMS,
	PODRES_REFUSALS,
};

/*
 * A call or a watch begins; `owner` may be NULL (unknown). If it is allowed, returns the client, to
 * be passed to podres_clients_end(). Otherwise returns NULL, sets *ret_why to the limit, and *err
 * to ERR_TOO_MANY_REQUESTS with a message. A rejected call uses up its token, too.
 */
struct podres_client *podres_clients_begin(struct podres_clients *t, const struct conn_owner *owner,
					   bool watch, int64_t now_ms, enum podres_refusal *ret_why,
					   struct error *err);
void podres_clients_end(struct podres_clients *t, struct podres_client *c, bool watch);

#endif
