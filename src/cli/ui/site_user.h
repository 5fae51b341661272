/*
 * site_user - the users in the sessions of `devplane ui`: their names and credentials.
 */
#ifndef CLI_UI_SITE_USER_H
#define CLI_UI_SITE_USER_H

#include "web/session/sessions.h"

struct json;

struct site_user {
	struct str name;
	const struct str *groups;
	size_t ngroups;
	struct str token; /* bearer; empty: the kubeconfigs' own credentials */
	size_t cluster; /* that the token is for */
};

/* For ui_sessions_new(). Copies own their text, and the token is erased with them. */
extern const struct ui_sessions_ops site_user_ops;

/* The user of a session, or of a code. */
static inline const struct site_user *site_user_of(const struct ui_session *e)
{
	return e->login.user;
}

/*
 * Sets name and groups from the reply to a SelfSubjectReview, borrowed from it and the arena.
 * -ERR_UNAUTHORIZED if the API server does not know who it is.
 */
int site_user_read(struct arena *a, const struct json *review, struct site_user *u,
		   struct error *err);

/*
 * Whether the text can be a bearer token: visible ASCII characters. Sets *ret_ends_s to the end of
 * a JSON Web Token that says when it ends, else to 0. The API server decides whether it is valid.
 */
bool site_user_is_token(struct arena *a, struct str token, int64_t *ret_ends_s);

#endif
