/*
 * last_applied - the configuration that was last applied to an object, in its annotation
 * kubectl.kubernetes.io/last-applied-configuration. The text equals kubectl's byte for byte, so
 * that you can switch between the two without a change.
 */
#ifndef API_PATCH_LAST_APPLIED_H
#define API_PATCH_LAST_APPLIED_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct json;

#define LAST_APPLIED_ANNOTATION "kubectl.kubernetes.io/last-applied-configuration"

/*
 * Makes the annotation's text for a manifest, without the manifest's own annotation.
 * -ERR_TOO_LARGE.
 */
int last_applied_print(struct arena *a, const struct json *tree, struct str *ret_text,
		       struct error *err);

/* Adds the annotation to the manifest, or replaces the one that it has. */
int last_applied_put(struct arena *a, struct json *tree, struct error *err);

/* Returns the configuration in the annotation; NULL if it is missing or cannot be parsed. */
struct json *last_applied_get(struct arena *a, const struct json *live);

#endif
