/*
 * url - absolute URLs and absolute paths, parsed like Go's net/url.
 */
#ifndef CEL_CORE_URL_H
#define CEL_CORE_URL_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct cel_url {
	struct str scheme; /* in lower case; "" for a path */
	struct str host; /* with its port, unescaped */
	struct str path; /* escaped, as in a URL */
	struct str query; /* after '?', as written */
	struct str text; /* the whole URL in canonical form, for equality */
};

/*
 * Parts are in the arena or borrowed from the text. Returns -ERR_INVALID with Go's message (`parse
 * "a": invalid URI for request`), or -ERR_TOO_LARGE if the arena is full.
 */
int cel_url_parse(struct arena *a, struct str text, struct cel_url *ret_url, struct error *err);

/*
 * Checks a URL for the format "uri", where a fragment is part of the path. Returns 0 or an error.
 */
int cel_url_check(struct str text, struct error *err);

/* Return the host before and the port after the colon. Brackets around IPv6 are removed. */
struct str cel_url_hostname(const struct cel_url *url);
struct str cel_url_port(const struct cel_url *url);

/* Parts of a URL, which differ in the characters that need no escape. */
enum cel_url_part {
	CEL_URL_PATH = 1,
	CEL_URL_USER = 2,
	CEL_URL_HOST = 4, /* includes a zone */
	CEL_URL_FRAGMENT = 8,
	CEL_URL_QUERY = 16, /* a key or value; '+' is a space */
};

/*
 * Writes the unescaped text to `out`, at most s.n bytes. If `out` is NULL, only checks. Returns
 * -ERR_INVALID with the first invalid escape.
 */
int cel_url_unescape(struct str s, enum cel_url_part part, char *out, size_t *ret_n,
		     struct error *err);

#endif
