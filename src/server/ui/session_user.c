/*
 * A copy owns all text, because a user's text is borrowed from a request or a cache of tokens.
 */
#include "server/ui/session_user.h"

static const struct user_extra *copy_extras(struct arena *a, const struct user *u)
{
	struct user_extra *v = ARENA_ARRAY(a, struct user_extra, u->nextras);

	for (size_t i = 0; i < u->nextras; i++)
		v[i] = (struct user_extra){ .key = arena_str(a, u->extras[i].key),
					    .values = arena_strs(a, u->extras[i].values,
								 u->extras[i].nvalues),
					    .nvalues = u->extras[i].nvalues };
	return v;
}

static const struct user_binding *copy_binding(struct arena *a, const struct user_binding *b)
{
	struct user_binding *copy;

	if (!b)
		return NULL;
	copy = ARENA_NEW(a, struct user_binding);
	*copy = (struct user_binding){
		.ns = arena_str(a, b->ns),
		.account = arena_str(a, b->account),
		.account_uid = arena_str(a, b->account_uid),
		.pod = arena_str(a, b->pod),
		.pod_uid = arena_str(a, b->pod_uid),
		.node = arena_str(a, b->node),
		.node_uid = arena_str(a, b->node_uid),
		.secret = arena_str(a, b->secret),
		.secret_uid = arena_str(a, b->secret_uid),
	};
	return copy;
}

static void *copy_user(struct arena *a, const void *user)
{
	const struct user *u = user;
	struct user *copy = ARENA_NEW(a, struct user);

	*copy = *u;
	copy->name = arena_str(a, u->name);
	copy->uid = arena_str(a, u->uid);
	copy->groups = arena_strs(a, u->groups, u->ngroups);
	copy->extras = copy_extras(a, u);
	copy->binding = copy_binding(a, u->binding);
	return copy;
}

const struct ui_sessions_ops session_user_ops = { .copy = copy_user };

struct ui_login session_user_login(const struct user *u)
{
	return (struct ui_login){ .name = u->name, .ends_s = u->ends_s, .user = u };
}

/* A pod's token also names the pod's node, but does not depend on it. */
static bool is_bound(const struct user_binding *b, struct str uid)
{
	return b && (str_eq(b->account_uid, uid) || (b->secret.n && str_eq(b->secret_uid, uid)) ||
		     (b->pod.n && str_eq(b->pod_uid, uid)) ||
		     (b->node.n && !b->pod.n && str_eq(b->node_uid, uid)));
}

static bool user_is_bound(const void *user, const void *uid)
{
	return is_bound(((const struct user *)user)->binding, *(const struct str *)uid);
}

void session_user_unbind(struct ui_sessions *s, struct str uid)
{
	ui_sessions_end_if(s, user_is_bound, &uid);
}
