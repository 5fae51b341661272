/*
 * endpoints - picks a ready endpoint of a service from its EndpointSlices.
 *
 * Picks at random, as upstream: slices in random order, and within a slice from a random start.
 * Reads committed objects.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_REACH_ENDPOINTS_H
#define SERVER_REACH_ENDPOINTS_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "net/loop/addr.h"

struct json;
struct prng;
struct state;

struct endpoints_query {
	struct str ns, service;
	struct str port; /* name of the service's port; may be empty */
	struct str family; /* prefer "IPv4" or "IPv6"; empty: no preference */
	/* Whether to accept a ready endpoint, which is reached at `to`; NULL: accept all. */
	bool (*accepts)(void *arg, const struct json *endpoint, const struct addr *to);
	void *arg;
};

/* -ERR_UNAVAILABLE, in upstream's wording, if no endpoint is found. */
int endpoints_pick(struct state *st, const struct endpoints_query *q, struct prng *prng,
		   struct arena *a, struct addr *ret_to, struct error *err);

#endif
