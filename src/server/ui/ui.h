/*
 * ui - the device page: its files, and logging in and out.
 *
 * - GET /ui/, /ui/FILE: the page (src/web), open to all: nothing in it is secret.
 * - POST /ui/link: a one-time code for a caller with a token or certificate.
 * - POST /ui/login: exchanges a code, or a token, for a session: a cookie.
 * - GET /ui/session: the user of the cookie's session.
 * - POST /ui/logout: ends the session and its watches.
 * - GET /ui/explain: why a pod or claim does not get its devices (web/explain).
 * - GET /ui/clusters: whether there are explanations.
 *
 * These paths need no RBAC rule: a session has the rights of its user, which are checked for each
 * request (access.h), and a code grants no more than the credentials that it was requested with.
 * If sessions are disabled (--ui=false), all paths are 404.
 */
#ifndef SERVER_UI_UI_H
#define SERVER_UI_UI_H

#include <stdbool.h>

#include "base/core/str.h"
#include "server/engine/state.h"

struct exchange;
struct http_head;
struct server;
struct ui_session;

/* Whether it is one of these paths, served or not. */
bool ui_is_path(struct str path);

/* Whether a browser asks for "/", which leads to the page. Other clients get the list of paths. */
bool ui_wants_page(const struct server *s, const struct http_head *in);

/* The request's head is complete: sets the header fields that every reply has. */
void ui_begin(struct exchange *x);

/* The request is complete: replies. */
void ui_handle(struct exchange *x);

/*
 * The object that a session's token was bound to is gone: ends the session and its watches. On
 * the state's loop.
 */
void ui_end_session(struct exchange *x, struct state *st, struct ui_session *e);

enum { UI_OBSERVERS = 4 };

/* Observers that end sessions when an object is deleted that their tokens are bound to. */
void ui_observe(struct server *s, struct state_observer ret_v[static UI_OBSERVERS]);

#endif
