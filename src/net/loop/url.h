/*
 * url - escapes and parameters of paths and queries.
 */
#ifndef NET_LOOP_URL_H
#define NET_LOOP_URL_H

#include "base/core/arena.h"

/*
 * Percent-decodes into the arena, or returns `s` itself if nothing is escaped. With `plus` a '+' is
 * a space. Returns false for a malformed escape.
 */
bool url_unescape(struct arena *a, struct str s, bool plus, struct str *ret_text);

/* The next parameter of a query, decoded into the arena; false at the end. */
bool url_param(struct str *rest, struct arena *a, struct str *ret_name, struct str *ret_value);

#endif
