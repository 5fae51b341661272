/*
 * nonresource - paths that are not about objects: health, version, metrics, discovery, OpenAPI.
 */
#ifndef SERVER_FRONT_NONRESOURCE_H
#define SERVER_FRONT_NONRESOURCE_H

#include <stdbool.h>

struct exchange;

/* Replies if the path is one of these; otherwise returns false. */
bool nonresource_handle(struct exchange *x);

#endif
