/*
 * The end of a token is read without verifying its signature: it only makes the session shorter,
 * and a token with a wrong end is not accepted by the API server anyway.
 */
#include "cli/ui/site_user.h"

#include "base/json/json.h"
#include "base/text/base64.h"
#include "net/net_limits.h"

static void *copy_user(struct arena *a, const void *user)
{
	const struct site_user *u = user;
	struct site_user *copy = ARENA_NEW(a, struct site_user);

	*copy = *u;
	copy->name = arena_str(a, u->name);
	copy->groups = arena_strs(a, u->groups, u->ngroups);
	copy->token = arena_str(a, u->token);
	return copy;
}

static void wipe_user(void *user)
{
	struct site_user *u = user;

	if (u->token.n)
		explicit_bzero((char *)(uintptr_t)u->token.p, u->token.n);
}

const struct ui_sessions_ops site_user_ops = { .copy = copy_user, .wipe = wipe_user };

int site_user_read(struct arena *a, const struct json *review, struct site_user *u,
		   struct error *err)
{
	const struct json *info = json_getz(json_getz(review, "status"), "userInfo");
	const struct json *groups = json_getz(info, "groups");
	struct str *v = ARENA_ARRAY(a, struct str, json_count(groups));

	u->name = json_text_at(info, "username");
	u->ngroups = 0;
	for (const struct json *g = json_first(groups); g; g = g->next)
		v[u->ngroups++] = json_str(g);
	u->groups = v;
	if (!u->name.n || str_eqz(u->name, "system:anonymous"))
		return error_set(err, ERR_UNAUTHORIZED, "the API server does not know this user");
	return 0;
}

static int64_t token_end(struct arena *a, struct str token)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(JWT_MAX);
	struct str rest = token, head, payload;
	struct json *tree;

	if (!str_split(&rest, '.', &head) || !str_split(&rest, '.', &payload) || !rest.n ||
	    base64_decode(&text, payload, BASE64_URL_RAW, NULL) < 0 ||
	    json_parse(a, arena_str(a, buf_str(&text)), NULL, &tree, NULL) < 0)
		return 0;
	return MAX(json_i64_at(tree, "exp", 0), INT64_C(0));
}

bool site_user_is_token(struct arena *a, struct str token, int64_t *ret_ends_s)
{
	if (!token.n || token.n > JWT_MAX)
		return false;
	for (size_t i = 0; i < token.n; i++)
		if (token.p[i] <= ' ' || token.p[i] > '~')
			return false;
	*ret_ends_s = token_end(a, token);
	return true;
}
