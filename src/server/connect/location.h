/*
 * connect_location - where a redirection of somebody behind a proxy leads to.
 *
 * Pure. What names a path of theirs must lead through the proxy again; what names others stays.
 */
#ifndef SERVER_CONNECT_LOCATION_H
#define SERVER_CONNECT_LOCATION_H

#include "base/core/str.h"

struct arena;

/* Whose redirection it is. Borrowed. */
struct connect_place {
	struct str proxy; /* path of the proxy itself, without a slash at its end */
	struct str asked; /* host and port that the client asked */
	struct str backend; /* host and port that answered */
};

/* The field's value for the client: as it is, or made in the arena. */
struct str connect_location(struct arena *a, struct str location, const struct connect_place *at);

#endif
