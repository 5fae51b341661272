/*
 * last_applied - what an object was last applied as, kept in its annotation
 * kubectl.kubernetes.io/last-applied-configuration. The text is kubectl's to the byte, so that
 * either can go on where the other left off without a change.
 */
#ifndef API_PATCH_LAST_APPLIED_H
#define API_PATCH_LAST_APPLIED_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct json;

#define LAST_APPLIED_ANNOTATION "kubectl.kubernetes.io/last-applied-configuration"

/* The annotation's text for a manifest, whose own annotation is left out. -ERR_TOO_LARGE. */
int last_applied_print(struct arena *a, const struct json *tree, struct str *ret_text,
		       struct error *err);

/* Gives the manifest the annotation of itself; one that it has already is replaced. */
int last_applied_put(struct arena *a, struct json *tree, struct error *err);

/* What the object was last applied as; NULL when it was not, or nobody can read it. */
struct json *last_applied_get(struct arena *a, const struct json *live);

#endif
