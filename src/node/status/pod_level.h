/*
 * pod_level - detects whether the server has PodStatus.allocatedResourcesStatus (KEP-4680).
 *
 * That is the pod-level field for devices of claims that no container names. A server without it
 * rejects or drops the field, so the agent sends it only if the server's OpenAPI document has it.
 * The document is scanned as it arrives and not stored: it is about a megabyte, for one property
 * name.
 */
#ifndef NODE_STATUS_POD_LEVEL_H
#define NODE_STATUS_POD_LEVEL_H

#include "base/core/str.h"

struct client;
struct pod_level;

/*
 * Reads the document, and retries with back-off until that succeeds. `told` is called once, with
 * the result.
 */
struct pod_level *pod_level_ask(struct client *c, void (*told)(void *arg, bool known), void *arg);
void pod_level_free(struct pod_level *p); /* NULL allowed */

/*
 * The scanner alone: finds out whether the schema io.k8s.api.core.v1.PodStatus has the property.
 * Input comes in pieces of any size.
 */
struct pod_level_scan {
	unsigned matched; /* bytes of the current search word */
	int depth; /* nesting of braces within the schema; 0: outside of it */
	bool quoted, escaped, found;
};
void pod_level_scan(struct pod_level_scan *s, struct str piece);

#endif
