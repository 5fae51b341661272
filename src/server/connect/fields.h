/*
 * connect_fields - which fields of a message that leads on are handed on.
 *
 * Pure: the fields that came in, those to send out; text is borrowed or lives in the arena.
 */
#ifndef SERVER_CONNECT_FIELDS_H
#define SERVER_CONNECT_FIELDS_H

#include <stddef.h>

struct arena;
struct http_field;
struct http_fields;

/*
 * Of a request, for who is asked: without what is of this hop alone, what says who asks us or for
 * whom, and what we say ourselves of how it was forwarded. There is room for `more` behind them.
 */
size_t connect_fields_request(const struct http_fields *in, struct arena *a, size_t more,
			      struct http_field **ret_fields);

/*
 * Of an answer, for who asked: without what only this server says of its answers, its session
 * cookie, and whom browsers may let read them. Room as above.
 */
size_t connect_fields_answer(const struct http_fields *in, struct arena *a, size_t more,
			     struct http_field **ret_fields);

#endif
