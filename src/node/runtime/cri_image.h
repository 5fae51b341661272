/*
 * cri_image - image names: validates and completes them.
 */
#ifndef NODE_RUNTIME_CRI_IMAGE_H
#define NODE_RUNTIME_CRI_IMAGE_H

#include "base/core/arena.h"
#include "base/core/error.h"

/*
 * The name for the runtime: with ":latest" appended if it has neither tag nor digest. In `a`.
 * Returns -ERR_INVALID with upstream's message for an invalid name (reason InvalidImageName).
 */
int cri_image_name(struct str image, struct arena *a, struct str *ret_name, struct error *err);

/* The full name, to look up credentials: "busybox" is "docker.io/library/busybox:latest". */
int cri_image_full(struct str image, struct arena *a, struct str *ret_name, struct error *err);

#endif
