/*
 * request_impl - what the files of the request parser share.
 */
#ifndef SERVER_REQUEST_IMPL_H
#define SERVER_REQUEST_IMPL_H

#include "server/request.h"

/* Percent-decodes; with `plus` a '+' is a space. False for a malformed escape. */
bool request_unescape(struct arena *a, struct str s, bool plus, struct str *ret_text);

/* The path is parsed: verb and name are set. Errors as request_parse(). */
int request_parse_query(struct request *r, struct arena *a, struct str query,
			struct field_errors *errs, struct error *err);

#endif
