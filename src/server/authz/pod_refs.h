/*
 * pod_refs - the objects that a pod refers to by name, from its tree.
 */
#ifndef SERVER_AUTHZ_POD_REFS_H
#define SERVER_AUTHZ_POD_REFS_H

#include "base/json/json.h"
#include "server/authz/node_pods.h"

/* Whether the pod refers to that object; if `name` is empty, to any object of that type. */
bool pod_refs_has(const struct json *pod, enum node_pods_what what, struct str name);

/*
 * The first kind of reference that a pod created by a node must not have, in upstream's wording;
 * NULL if it has none.
 */
const char *pod_refs_any(const struct json *pod);

/* The claim of a volume; empty if it has none. The claim of an ephemeral volume is POD-VOLUME. */
struct str pod_refs_volume_claim(struct arena *a, const struct json *pod,
				 const struct json *volume);

/* Whether a node created the pod to show a static pod in the API. */
bool pod_refs_is_mirror(const struct json *pod);

#endif
