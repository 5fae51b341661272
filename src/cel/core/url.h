/*
 * url - absolute URLs and absolute paths, as Go's net/url reads them.
 */
#ifndef CEL_CORE_URL_H
#define CEL_CORE_URL_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct cel_url {
	struct str scheme; /* in lower case; "" of a path */
	struct str host; /* with its port, unescaped */
	struct str path; /* escaped, as one writes it in a URL */
	struct str query; /* behind '?', as written */
	struct str text; /* all of it, in the canonical form that equality compares */
};

/*
 * Memory is the arena's, some of it the text's. -ERR_INVALID with Go's words: `parse "a":
 * invalid URI for request`; -ERR_TOO_LARGE when the arena has no room.
 */
int cel_url_parse(struct arena *a, struct str text, struct cel_url *ret_url, struct error *err);

/* Whether it would be read, as the format "uri" asks it: with a fragment as part of the path. */
int cel_url_check(struct str text, struct error *err);

/* Without and behind the colon; brackets around IPv6 are taken off. */
struct str cel_url_hostname(const struct cel_url *url);
struct str cel_url_port(const struct cel_url *url);

/* Parts of a URL that allow other characters unescaped. */
enum cel_url_part {
	CEL_URL_PATH = 1,
	CEL_URL_USER = 2,
	CEL_URL_HOST = 4, /* also a zone */
	CEL_URL_FRAGMENT = 8,
	CEL_URL_QUERY = 16, /* a key or value; '+' is a space */
};

/*
 * Writes what the escapes of `s` stand for to `out`, s.n bytes at most, or only checks when
 * `out` is NULL. -ERR_INVALID names the first escape that is wrong.
 */
int cel_url_unescape(struct str s, enum cel_url_part part, char *out, size_t *ret_n,
		     struct error *err);

#endif
