/*
 * request_impl - shared by the files of the request parser.
 */
#ifndef SERVER_REQUEST_REQUEST_IMPL_H
#define SERVER_REQUEST_REQUEST_IMPL_H

#include "server/request/request.h"

/* The path is parsed: verb and name are set. Errors as request_parse(). */
int request_parse_query(struct request *r, struct arena *a, struct str query,
			struct field_errors *errs, struct error *err);

#endif
