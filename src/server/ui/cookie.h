/*
 * ui_cookie - whether a request claims a session of the device page.
 *
 * The cookie counts only beside a header that no form and no foreign page can send, and only when
 * the browser does not say that somebody else's page made the request. So a foreign page that
 * makes a browser ask us gains nothing by the cookie, whatever the browser thinks of SameSite.
 *
 * Pure: reads a request's head, borrows from it.
 */
#ifndef SERVER_UI_COOKIE_H
#define SERVER_UI_COOKIE_H

#include "base/core/error.h"
#include "base/core/str.h"

struct http_fields;
struct http_head;

/* The prefix makes browsers insist on Secure, on Path=/ and on no Domain. */
#define UI_COOKIE_NAME "__Host-devplane"

enum ui_cookie {
	UI_COOKIE_NONE,
	UI_COOKIE_ONE,
	UI_COOKIE_MANY, /* several of that name: whose is which cannot be told */
};

/* The cookie of that name in all Cookie fields; HTTP/2 may send each in one of its own. */
enum ui_cookie ui_cookie_read(const struct http_fields *fields, struct str *ret_value);

/* -ERR_FORBIDDEN, which says why, unless the page itself can have made the request. */
int ui_cookie_check_page(const struct http_head *in, struct error *err);

/*
 * 1: the request claims the session *ret_id. 0: it claims none, or says by an Authorization header
 * who it is. -ERR_FORBIDDEN: a write that has the cookie and not the header, or any request that
 * a foreign page made. -ERR_UNAUTHORIZED: a claim that cannot be.
 */
int ui_cookie_claim(const struct http_head *in, struct str *ret_id, struct error *err);

#endif
