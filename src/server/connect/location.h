/*
 * connect_location - rewrites the Location of a redirect from a proxied server.
 *
 * A path on the proxied server must lead through the proxy again; other locations stay. No side
 * effects.
 */
#ifndef SERVER_CONNECT_LOCATION_H
#define SERVER_CONNECT_LOCATION_H

#include "base/core/str.h"

struct arena;

/* The context of the redirect. Borrowed. */
struct connect_place {
	struct str proxy; /* path of the proxy itself, without a trailing slash */
	struct str asked; /* host and port in the client's request */
	struct str backend; /* host and port of the proxied server */
};

/* The field's value for the client: unchanged, or made in the arena. */
struct str connect_location(struct arena *a, struct str location, const struct connect_place *at);

#endif
