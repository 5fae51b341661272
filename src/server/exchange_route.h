/*
 * exchange_route - from a parsed request to the verb that serves it.
 */
#ifndef SERVER_EXCHANGE_ROUTE_H
#define SERVER_EXCHANGE_ROUTE_H

#include "server/exchange.h"

/*
 * Finds kind, subresource and verb, and the form of the answer. False when the
 * request was refused and answered.
 */
bool exchange_route(struct exchange *x);

/* Sets x->accept from the request's fields. Where nothing of it is served: plain JSON, and err. */
int exchange_negotiate(struct exchange *x, unsigned forms, struct error *err);

#endif
