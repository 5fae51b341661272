/*
 * TokenReview and SelfSubjectReview: the user behind a token or a request. An invalid token is a
 * result, not an error.
 */
#include "server/verbs/review.h"

#include "base/time/timestamp.h"
#include "server/authn/authn.h"
#include "server/core/parts.h"
#include "server/server_limits.h"

static int authenticate(struct review *r, struct str token, struct json *status, struct error *why)
{
	const struct json *asked = json_pointer(r->tree, STR("/spec/audiences"));
	struct str *wanted = ARENA_ARRAY(r->arena, struct str, json_count(asked));
	struct authn_audiences audiences = { wanted, 0 }, common;
	struct user user;
	int ret;

	JSON_FOREACH (v, asked)
		wanted[audiences.n++] = json_str(v);
	ret = authn_token(r->server->authn, token, audiences, r->arena, &user, &common, why);
	if (ret == 0)
		ret = authn_explain_binding(r->state, &user, r->x->wall_ns, why);
	if (ret < 0)
		return ret;
	json_put_bool(r->arena, status, "authenticated", true);
	json_setz(status, "user", user_info(r->arena, &user));
	json_setz(status, "audiences", user_texts(r->arena, common.v, common.n));
	return 0;
}

/* Upstream has two authenticators for tokens; the first one never gives a reason. */
static struct str review_user_explain(struct arena *a, const struct error *why)
{
	if (strcmp(why->msg, AUTHN_NO_TOKEN) == 0)
		return STR(AUTHN_NO_TOKEN);
	return str_from(arena_printf(a, "[" AUTHN_NO_TOKEN ", %s]", why->msg));
}

int review_token(struct review *r, struct error *err)
{
	struct str token = json_str(json_pointer(r->tree, STR("/spec/token")));
	struct json *status = json_make_object(r->arena);
	struct error why;

	if (!token.n)
		return error_set(err, ERR_BAD_REQUEST,
				 "token is required for TokenReview in authentication");
	if (json_count(json_pointer(r->tree, STR("/spec/audiences"))) > TOKEN_AUDIENCES_MAX)
		return error_set(err, ERR_BAD_REQUEST, "more than %d audiences",
				 TOKEN_AUDIENCES_MAX);
	if (authenticate(r, token, status, &why) < 0) {
		json_setz(status, "user", json_make_object(r->arena));
		json_put_str(r->arena, status, "error", review_user_explain(r->arena, &why));
	}
	json_setz(r->tree, "status", status);
	return 0;
}

/* As upstream, the reply has nothing from the request's body. */
int review_self_subject(struct review *r, struct error *err UNUSED)
{
	struct arena *a = r->arena;
	struct json *meta = json_make_object(a), *status = json_make_object(a);
	char *now = arena_alloc(a, TIMESTAMP_SIZE);

	json_put_str(a, meta, "creationTimestamp",
		     timestamp_print(r->x->wall_ns, TIMESTAMP_SECONDS, now));
	json_setz(status, "userInfo", user_info(a, &r->x->user));
	json_setz(r->tree, "metadata", meta);
	json_setz(r->tree, "status", status);
	return 0;
}
