/*
 * cri_messages - specs of runtime.h as CRI's messages.
 *
 * Messages and all they point to are in the arena; the specs may go.
 */
#ifndef NODE_RUNTIME_CRI_MESSAGES_H
#define NODE_RUNTIME_CRI_MESSAGES_H

#include "cri.pb-c.h"
#include "node/runtime/runtime.h"

Cri__PodSandboxConfig *cri_sandbox_config(struct arena *a, const struct sandbox_spec *spec);
Cri__ContainerConfig *cri_container_config(struct arena *a, const struct container_spec *spec);
Cri__LinuxContainerResources *cri_resources(struct arena *a, const struct runtime_limits *l);
/* NULL for NULL: nothing is known of the registry. */
Cri__AuthConfig *cri_auth(struct arena *a, const struct runtime_auth *auth);
Cri__ImageSpec *cri_image_spec(struct arena *a, struct str image);

/* Terminated text, as protobuf-c wants it: never NULL. */
char *cri_text(struct arena *a, struct str s);
char **cri_texts(struct arena *a, const struct runtime_strs *strs);

/* The value of the entry; STR_NULL when there is none. */
struct str cri_pair(Cri__Pair *const *pairs, size_t n, const char *key);

#endif
