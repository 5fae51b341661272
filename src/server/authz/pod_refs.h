/*
 * pod_refs - the objects that a pod refers to by name, from its tree.
 */
#ifndef SERVER_AUTHZ_POD_REFS_H
#define SERVER_AUTHZ_POD_REFS_H

#include "base/json/json.h"
#include "server/authz/node_pods.h"

/* Whether the pod refers to that object; with `name` empty, to any of the sort. */
bool pod_refs_has(const struct json *pod, enum node_pods_what what, struct str name);

/* What a pod must not have when a node made it, as upstream names it; NULL when all is well. */
const char *pod_refs_any(const struct json *pod);

/* The claim of a volume, empty when it has none; that of an ephemeral one is POD-VOLUME. */
struct str pod_refs_volume_claim(struct arena *a, const struct json *pod,
				 const struct json *volume);

/* Made by a node for what it runs without the API. */
bool pod_refs_is_mirror(const struct json *pod);

#endif
