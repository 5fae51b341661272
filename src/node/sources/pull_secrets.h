/*
 * pull_secrets - finds the credentials for an image: imagePullSecrets of the pod, in order.
 *
 * Reads Secrets of type kubernetes.io/dockerconfigjson and dockercfg. The entry with the longest
 * match of registry and path wins; "*" is allowed in a host's labels, as in kubelet's keyring.
 */
#ifndef NODE_SOURCES_PULL_SECRETS_H
#define NODE_SOURCES_PULL_SECRETS_H

#include "node/pod/pod.h"
#include "node/runtime/runtime.h"

struct sources;

/* Returns false if none match: the image is pulled without credentials. Text in `a`. */
bool pull_secrets_find(const struct sources *s, const struct pod *pod, struct str image,
		       struct arena *a, struct runtime_auth *ret_auth);

#endif
