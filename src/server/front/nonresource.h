/*
 * nonresource - paths that are not about objects: health, version, metrics,
 * discovery, OpenAPI.
 */
#ifndef SERVER_FRONT_NONRESOURCE_H
#define SERVER_FRONT_NONRESOURCE_H

#include <stdbool.h>

struct exchange;

/* Answers the exchange when its path is one of these; false when it is none. */
bool nonresource_handle(struct exchange *x);

#endif
