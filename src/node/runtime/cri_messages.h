/*
 * cri_messages - converts specs of runtime.h to CRI messages.
 *
 * Messages and everything they point to live in the arena; specs need not outlive the call.
 */
#ifndef NODE_RUNTIME_CRI_MESSAGES_H
#define NODE_RUNTIME_CRI_MESSAGES_H

#include "cri.pb-c.h"
#include "node/runtime/runtime.h"

Cri__PodSandboxConfig *cri_sandbox_config(struct arena *a, const struct sandbox_spec *spec);
Cri__ContainerConfig *cri_container_config(struct arena *a, const struct container_spec *spec);
Cri__LinuxContainerResources *cri_resources(struct arena *a, const struct runtime_limits *l);
/* Returns NULL for NULL: no credentials for the registry. */
Cri__AuthConfig *cri_auth(struct arena *a, const struct runtime_auth *auth);
Cri__ImageSpec *cri_image_spec(struct arena *a, struct str image);

/* NUL-terminated text for protobuf-c; never NULL. */
char *cri_text(struct arena *a, struct str s);
char **cri_texts(struct arena *a, const struct runtime_strs *strs);

/* Returns the value of the entry, or STR_NULL. */
struct str cri_pair(Cri__Pair *const *pairs, size_t n, const char *key);

#endif
