/*
 * Certificates first, as upstream: a connection that showed one is that user's,
 * whatever header comes with a request.
 */
#include "server/auth.h"

#include "net/http.h"
#include "net/tls.h"
#include "server/server_impl.h"
#include "server/tokens.h"
#include "server/user.h"

#define AUTH_AUTHENTICATED STR("system:authenticated")

static const struct str anonymous_groups[] = { { "system:unauthenticated", 22 } };

static int from_certificate(struct http_stream *stream, struct arena *a, struct user *ret_user)
{
	struct tls_peer peer;
	struct str *groups;
	int r;

	r = tls_peer(http_stream_conn(stream), a, &peer, NULL);
	if (r < 0)
		return r;
	groups = ARENA_ARRAY(a, struct str, peer.norganizations + 1);
	for (size_t i = 0; i < peer.norganizations; i++)
		groups[i] = peer.organizations[i];
	groups[peer.norganizations] = AUTH_AUTHENTICATED;
	*ret_user = (struct user){ .name = peer.common_name,
				   .groups = groups,
				   .ngroups = peer.norganizations + 1,
				   .authenticated = true };
	return 0;
}

/* What follows "Bearer " in the Authorization header; p NULL when there is none. */
static struct str bearer_token(const struct http_stream *stream)
{
	struct str value = str_trim(http_fields_get(&stream->in.fields, STR("authorization")));

	if (value.n < 7 || !str_ieq(str_of(value.p, 7), STR("bearer ")))
		return STR_NULL;
	return str_trim(str_skip(value, 7));
}

int auth_user(struct server *s, struct http_stream *stream, struct arena *a, struct user *ret_user,
	      struct error *err)
{
	struct str token;
	const struct user *u;

	if (from_certificate(stream, a, ret_user) == 0)
		return 0;
	token = bearer_token(stream);
	if (!token.n) {
		*ret_user = (struct user){ .name = STR("system:anonymous"),
					   .groups = anonymous_groups,
					   .ngroups = ARRAY_SIZE(anonymous_groups) };
		return 0;
	}
	u = s->tokens ? tokens_find(s->tokens, token) : NULL;
	if (!u)
		return error_set(err, ERR_UNAUTHORIZED, "Unauthorized");
	*ret_user = *u;
	return 0;
}

static bool is_below(struct str path, struct str root)
{
	return str_eq(path, root) || (str_starts(path, root) && path.p[root.n] == '/');
}

int auth_allows(const struct user *user, struct str path, struct error *err)
{
	static const struct str open[] = {
		{ "/healthz", 8 }, { "/livez", 6 }, { "/readyz", 7 }, { "/version", 8 }
	};

	if (user->authenticated)
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(open); i++) {
		if (is_below(path, open[i]))
			return 0;
	}
	return error_set(err, ERR_UNAUTHORIZED, "Unauthorized");
}
