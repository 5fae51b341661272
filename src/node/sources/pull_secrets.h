/*
 * pull_secrets - which credentials an image is pulled with: imagePullSecrets of the pod, in order.
 *
 * Secrets of type kubernetes.io/dockerconfigjson and dockercfg; the entry whose registry and path
 * match the image longest wins, with "*" in a host's labels, as kubelet's keyring matches.
 */
#ifndef NODE_SOURCES_PULL_SECRETS_H
#define NODE_SOURCES_PULL_SECRETS_H

#include "node/pod/pod.h"
#include "node/runtime/runtime.h"

struct sources;

/* False: none; the image is pulled without. Text in `a`. */
bool pull_secrets_find(const struct sources *s, const struct pod *pod, struct str image,
		       struct arena *a, struct runtime_auth *ret_auth);

#endif
