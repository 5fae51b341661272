/*
 * cri_image - names of images: checked, completed, compared.
 */
#ifndef NODE_RUNTIME_CRI_IMAGE_H
#define NODE_RUNTIME_CRI_IMAGE_H

#include "base/core/arena.h"
#include "base/core/error.h"

/*
 * The name as it is given to the runtime: ":latest" behind it when it has neither tag nor digest.
 * In `a`. -ERR_INVALID with upstream's text for what is no image name; the reason is then
 * InvalidImageName.
 */
int cri_image_name(struct str image, struct arena *a, struct str *ret_name, struct error *err);

/* The whole name: "busybox" is "docker.io/library/busybox:latest". To find credentials by. */
int cri_image_full(struct str image, struct arena *a, struct str *ret_name, struct error *err);

#endif
