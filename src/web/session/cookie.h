/*
 * ui_cookie - whether a request presents a session of the device page.
 *
 * The cookie counts only together with a header that no form and no page of another origin can
 * send, and only if the browser does not report that another site's page made the request. So
 * such a page gains nothing from the cookie, however the browser handles SameSite.
 *
 * No side effects: reads a request's head and borrows from it.
 */
#ifndef WEB_SESSION_COOKIE_H
#define WEB_SESSION_COOKIE_H

#include "base/core/error.h"
#include "base/core/str.h"

struct arena;
struct http_fields;
struct http_head;

/* The prefix makes browsers require Secure, Path=/ and no Domain. */
#define UI_COOKIE_NAME "__Host-devplane"

/* The cookie of a server of the page. */
struct ui_cookie_kind {
	const char *name;
	/*
	 * The server speaks plain HTTP, on loopback only. Its origin is http://, and the cookie is
	 * not Secure. Browsers send it to every port of the host, so its name should have the port.
	 */
	bool plain;
};

/* With TLS. */
extern const struct ui_cookie_kind ui_cookie_host;

enum ui_cookie {
	UI_COOKIE_NONE,
	UI_COOKIE_ONE,
	UI_COOKIE_MANY, /* several of that name: ambiguous */
};

/*
 * The cookie of that name in all Cookie fields; HTTP/2 may send each cookie in a field of its
 * own.
 */
enum ui_cookie ui_cookie_read(const struct ui_cookie_kind *k, const struct http_fields *fields,
			      struct str *ret_value);

/* -ERR_FORBIDDEN with the reason, unless the device page itself can have made the request. */
int ui_cookie_check_page(const struct ui_cookie_kind *k, const struct http_head *in,
			 struct error *err);

/*
 * Returns 1 if the request presents the session *ret_id. Returns 0 if it presents none, or if it
 * has an Authorization header. -ERR_FORBIDDEN: a write that has the cookie but not the header, or
 * any request that another site's page made. -ERR_UNAUTHORIZED: the cookie is invalid.
 */
int ui_cookie_claim(const struct ui_cookie_kind *k, const struct http_head *in, struct str *ret_id,
		    struct error *err);

/* The value of Set-Cookie for a session of that id; `id` NULL: removes the cookie. */
const char *ui_cookie_text(struct arena *a, const struct ui_cookie_kind *k, const char *id);

#endif
