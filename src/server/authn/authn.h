/*
 * authn - authenticates requests.
 *
 * A user is identified by a verified client certificate (user: common name, groups:
 * organisations), a bearer token from the token file, or a service account's JWT. A WebSocket may
 * carry the token as a subprotocol. Requests without credentials are system:anonymous; requests
 * with wrong credentials are rejected.
 *
 * A lane caches a JWT whose signature it has verified, by its hash, until the token expires, for
 * at most 10 s. Whether the objects that the token is bound to still exist is checked for every
 * request.
 *
 * Threads: a lane's loop, with its own lane number; authn_check_binding() and
 * authn_explain_binding() on the state's loop.
 */
#ifndef SERVER_AUTHN_AUTHN_H
#define SERVER_AUTHN_AUTHN_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "server/core/user.h"

struct arena;
struct authn;
struct authz_query;
struct clock;
struct http_fields;
struct http_stream;
struct service_accounts;
struct state;
struct tokens;

struct authn_opts {
	const struct tokens *tokens; /* from the token file; or NULL */
	const struct service_accounts *accounts; /* keys, issuers, audiences; borrowed */
	size_t nlanes;
	const struct clock *clock;
	bool no_anonymous; /* also reject requests without credentials */
};

struct authn *authn_new(const struct authn_opts *opts);
void authn_free(struct authn *n);

/* Precedes the token in a subprotocol: browsers cannot send Authorization with WebSockets. */
#define AUTHN_TOKEN_PROTOCOL "base64url.bearer.authorization.k8s.io."

/*
 * Sets *ret_user; text lives as long as the stream's arena. -ERR_UNAUTHORIZED for an unknown
 * certificate or token, with upstream's one-word message.
 */
int authn_user(struct authn *n, size_t lane, struct http_stream *stream, struct arena *a,
	       struct user *ret_user, struct error *err);

/*
 * Checks only a bearer token, for TokenReview. Caches nothing, so any thread may call it. The
 * token must have one of `audiences` (empty: the API's own); *ret_audiences are the common ones.
 * -ERR_UNAUTHORIZED with the reason. Does not check the objects that the token is bound to.
 */
#define AUTHN_NO_TOKEN "invalid bearer token" /* for a token that no part of authn recognizes */
struct authn_audiences {
	const struct str *v;
	size_t n;
};
int authn_token(const struct authn *n, struct str token, struct authn_audiences audiences,
		struct arena *a, struct user *ret_user, struct authn_audiences *ret_audiences,
		struct error *err);

/*
 * On the state's loop: checks that the objects exist to which the user's token is bound.
 * -ERR_UNAUTHORIZED: the first function gives no reason, as clients must not learn it; the second
 * one does, for TokenReview.
 */
int authn_check_binding(struct state *st, const struct user *u, int64_t now_ns, struct error *err);
int authn_explain_binding(struct state *st, const struct user *u, int64_t now_ns,
			  struct error *err);

/* The same check on a lane, while state_lets_look(). */
bool authn_binding_holds(struct state *st, size_t lane, const struct user *u, int64_t now_ns);

/*
 * Reads Impersonate-User, -Uid, -Group and -Extra-* into *ret_user; name.p is NULL if the request
 * does not impersonate. Groups are the requested ones plus those that upstream adds (service
 * accounts' groups, system:authenticated). -ERR_BAD_REQUEST, or upstream's error.
 */
int authn_impersonated(const struct http_fields *fields, struct arena *a, struct user *ret_user,
		       struct error *err);

/* The rights that the real user needs for that: queries in the arena, without their user. */
size_t authn_impersonation_checks(const struct user *wanted, struct arena *a,
				  struct authz_query **ret_queries);

#endif
