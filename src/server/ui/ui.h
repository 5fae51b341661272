/*
 * ui - the device page: its files, and logging in and out.
 *
 *	GET  /ui/, /ui/FILE  the page (src/web); open to all: nothing in it is secret
 *	POST /ui/link        a one-time code for whoever asks with a token or certificate
 *	POST /ui/login       a code, or a token, for a session: a cookie
 *	GET  /ui/session     whose session the cookie is of
 *	POST /ui/logout      ends it, and its watches
 *
 * None of it needs a rule of RBAC: a session has the rights of its user, which are asked for with
 * each request (access.h), and a code is worth no more than what it was asked for with. Where
 * sessions are not kept (--ui=false) all paths are 404.
 */
#ifndef SERVER_UI_UI_H
#define SERVER_UI_UI_H

#include <stdbool.h>

#include "base/core/str.h"
#include "server/engine/state.h"

struct exchange;
struct server;
struct ui_session;

/* Whether it is one of these paths, served or not. */
bool ui_is_path(struct str path);

/* The request's head is there: sets what every answer has in its own. */
void ui_begin(struct exchange *x);

/* The request is complete: answers it. */
void ui_handle(struct exchange *x);

/* A session has lost what its token was bound to: it ends, with its watches. At the state. */
void ui_end_session(struct exchange *x, struct state *st, struct ui_session *e);

enum { UI_OBSERVERS = 4 };

/* Those who end sessions when an object goes that their tokens are bound to. */
void ui_observe(struct server *s, struct state_observer ret_v[static UI_OBSERVERS]);

#endif
