/*
 * exchange_route - from a parsed request to the verb that serves it.
 */
#ifndef SERVER_FRONT_ROUTE_H
#define SERVER_FRONT_ROUTE_H

#include "server/http/exchange.h"

/*
 * Finds kind, subresource and verb, and the form of the answer. False when the
 * request was refused and answered.
 */
bool exchange_route(struct exchange *x);

#endif
