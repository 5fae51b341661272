/*
 * endpoints - one of those behind a service that are ready, found by its EndpointSlices.
 *
 * Any of them, as upstream picks: slices come in random order, and within a slice the search
 * begins anywhere. From what is committed. Threads: the state's loop.
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
	struct str port; /* the name of the service's port; may be empty, as that may */
	struct str family; /* "IPv4" or "IPv6" goes before the other; empty: no matter */
	/* Whether an endpoint that is ready will do, which is reached at `to`; NULL: each does. */
	bool (*accepts)(void *arg, const struct json *endpoint, const struct addr *to);
	void *arg;
};

/* -ERR_UNAVAILABLE, in upstream's words, when there is none. */
int endpoints_pick(struct state *st, const struct endpoints_query *q, struct prng *prng,
		   struct arena *a, struct addr *ret_to, struct error *err);

#endif
