/*
 * pod_level - whether the server knows PodStatus.allocatedResourcesStatus, the pod's own field of
 * KEP-4680.
 *
 * A server without it refuses or drops the field, so it is sent only where the server's OpenAPI has
 * it. The document is read as it comes and not kept: it is a megabyte of which one word matters.
 */
#ifndef NODE_STATUS_POD_LEVEL_H
#define NODE_STATUS_POD_LEVEL_H

#include "base/core/str.h"

struct client;
struct pod_level;

/* Asks, again with back-off until there is an answer; `told` is called once, with yes or no. */
struct pod_level *pod_level_ask(struct client *c, void (*told)(void *arg, bool known), void *arg);
void pod_level_free(struct pod_level *p); /* NULL allowed */

/*
 * The reader alone: finds out whether the schema io.k8s.api.core.v1.PodStatus has the property, in
 * pieces of any size.
 */
struct pod_level_scan {
	unsigned matched; /* bytes of the word that is looked for */
	int depth; /* of braces within the schema; 0: not in it */
	bool quoted, escaped, found;
};
void pod_level_scan(struct pod_level_scan *s, struct str piece);

#endif
