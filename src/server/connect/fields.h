/*
 * connect_fields - which header fields of a proxied message are passed on.
 *
 * Takes the incoming fields and returns those to send; text is borrowed or lives in the arena. No
 * side effects.
 */
#ifndef SERVER_CONNECT_FIELDS_H
#define SERVER_CONNECT_FIELDS_H

#include <stddef.h>

struct arena;
struct http_field;
struct http_fields;

/*
 * Fields of a request for the destination. Leaves out hop-by-hop fields, credentials and
 * impersonation, and the forwarding fields that the server sets itself. Reserves room for `more`
 * fields after them.
 */
size_t connect_fields_request(const struct http_fields *in, struct arena *a, size_t more,
			      struct http_field **ret_fields);

/*
 * Fields of a reply for the client. Leaves out fields that only this server sets, its session
 * cookie, and CORS fields. Reserves room as above.
 */
size_t connect_fields_answer(const struct http_fields *in, struct arena *a, size_t more,
			     struct http_field **ret_fields);

#endif
