/*
 * session_user - the API server's users in sessions of the device page (web/session/sessions.h).
 *
 * A session ends when its user's token is no longer valid, because an object that it is bound to
 * is gone.
 */
#ifndef SERVER_UI_SESSION_USER_H
#define SERVER_UI_SESSION_USER_H

#include "server/core/user.h"
#include "web/session/sessions.h"

/* For ui_sessions_new(). */
extern const struct ui_sessions_ops session_user_ops;

/* Borrows the user. */
struct ui_login session_user_login(const struct user *u);

/* The user of a session, or of a code. */
static inline const struct user *session_user(const struct ui_session *e)
{
	return e->login.user;
}

/* An object was deleted: ends the sessions of tokens that are bound to it. */
void session_user_unbind(struct ui_sessions *s, struct str uid);

#endif
