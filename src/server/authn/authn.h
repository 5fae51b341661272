/*
 * authn - who a request comes from.
 *
 * A verified client certificate (user: common name, groups: organisations), a
 * bearer token of the token file, or a service account's JWT; a token may also be
 * a subprotocol of a WebSocket. Whoever says nothing is system:anonymous; whoever
 * says something wrong is refused.
 *
 * A JWT whose signature was verified is remembered by its hash until it
 * expires, for at most 10 s, by the lane that saw it. Whether what it is bound
 * to still exists is looked up on every request, at the state.
 * Threads: a lane's loop for its own number; authn_check_binding() the state's.
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
	const struct tokens *tokens; /* of the token file; or NULL */
	const struct service_accounts *accounts; /* keys, issuers, audiences; borrowed */
	size_t nlanes;
	const struct clock *clock;
	bool no_anonymous; /* who says nothing is refused, too */
};

struct authn *authn_new(const struct authn_opts *opts);
void authn_free(struct authn *n);

/* Before the token in a subprotocol: browsers can send no Authorization with WebSockets. */
#define AUTHN_TOKEN_PROTOCOL "base64url.bearer.authorization.k8s.io."

/*
 * Fills *ret_user; text lives as long as the stream's arena. -ERR_UNAUTHORIZED for a
 * certificate or token that nobody has, in upstream's one word.
 */
int authn_user(struct authn *n, size_t lane, struct http_stream *stream, struct arena *a,
	       struct user *ret_user, struct error *err);

/*
 * A bearer token alone, for TokenReview: nothing is remembered, so any thread may ask.
 * `audiences` (none: the API's own) are those one of which it must have; *ret_audiences are the
 * common ones. -ERR_UNAUTHORIZED says why. What it is bound to is not looked at.
 */
#define AUTHN_NO_TOKEN "invalid bearer token" /* what nobody here made */
struct authn_audiences {
	const struct str *v;
	size_t n;
};
int authn_token(const struct authn *n, struct str token, struct authn_audiences audiences,
		struct arena *a, struct user *ret_user, struct authn_audiences *ret_audiences,
		struct error *err);

/*
 * At the state: what the user's token is bound to is still there. -ERR_UNAUTHORIZED: the first
 * says no more than that, as clients are told; the second why, for TokenReview.
 */
int authn_check_binding(struct state *st, const struct user *u, int64_t now_ns, struct error *err);
int authn_explain_binding(struct state *st, const struct user *u, int64_t now_ns,
			  struct error *err);

/*
 * Impersonate-User, -Uid, -Group and -Extra-*: who the request wants to be taken for, in
 * *ret_user; name.p NULL when it does not. Groups are as asked for, plus what upstream adds
 * (service accounts' groups, system:authenticated). -ERR_BAD_REQUEST, or as upstream answers.
 */
int authn_impersonated(const struct http_fields *fields, struct arena *a, struct user *ret_user,
		       struct error *err);

/* What the asking user must be allowed for that: queries in the arena, without their user. */
size_t authn_impersonation_checks(const struct user *wanted, struct arena *a,
				  struct authz_query **ret_queries);

#endif
