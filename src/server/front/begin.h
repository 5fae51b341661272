/*
 * exchange_begin - the first steps of a request: from its head to the verb that serves it.
 */
#ifndef SERVER_FRONT_BEGIN_H
#define SERVER_FRONT_BEGIN_H

#include "server/http/exchange.h"

/* Handles a request whose head is complete, on its lane's loop. */
void exchange_begin(struct server *s, struct http_stream *stream, size_t lane);

#endif
