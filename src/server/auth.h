/*
 * auth - who a request comes from.
 *
 * A verified client certificate (user: common name, groups: organisations) or
 * a bearer token of the token file. Whoever says nothing is
 * system:anonymous; whoever says something wrong is refused. There is no
 * authorization yet: who is authenticated may do all, anonymous may read
 * health, version and nothing else.
 */
#ifndef SERVER_AUTH_H
#define SERVER_AUTH_H

#include "base/error.h"
#include "base/str.h"

struct arena;
struct http_stream;
struct server;
struct user;

/*
 * Fills *ret_user; text lives as long as the stream. -ERR_UNAUTHORIZED for a
 * token that nobody has.
 */
int auth_user(struct server *s, struct http_stream *stream, struct arena *a, struct user *ret_user,
	      struct error *err);

/* Whether a user may ask for this path at all. -ERR_UNAUTHORIZED. */
int auth_allows(const struct user *user, struct str path, struct error *err);

#endif
