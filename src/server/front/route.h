/*
 * exchange_route - finds the verb that serves a parsed request.
 */
#ifndef SERVER_FRONT_ROUTE_H
#define SERVER_FRONT_ROUTE_H

#include "server/http/exchange.h"

/*
 * Finds kind, subresource and verb, and negotiates the form of the reply. Returns false if the
 * request was rejected; the reply has been sent.
 */
bool exchange_route(struct exchange *x);

#endif
