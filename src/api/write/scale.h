/*
 * scale - autoscaling/v1 Scale: the replica count of any object that has one.
 *
 * The functions are pure: they make a Scale from an object, and a changed object from a changed
 * Scale. Paths say where the counts are, so custom resources work like built-in kinds. Only the
 * count is copied back to the object. From the Scale's metadata, uid and resourceVersion are
 * preconditions.
 */
#ifndef API_WRITE_SCALE_H
#define API_WRITE_SCALE_H

#include "api/write/write.h"

/*
 * Returns the paths of a kind: those of its subresource "scale", or the ones that all built-in
 * kinds use.
 */
const struct scale_paths *scale_paths(const struct schema_kind *kind);

/* The kind autoscaling/v1 Scale. */
const struct schema_kind *scale_kind(void);

/*
 * Makes the Scale of `object`, a tree with its resourceVersion. The Scale shares only text with it.
 * -ERR_INTERNAL, with upstream's message, if the object has no count.
 */
int scale_get(struct arena *a, const struct scale_paths *paths, const struct json *object,
	      struct json **ret_scale, struct error *err);

/*
 * Applies a patch to the Scale of the stored object. `w` is the request's; w->kind is the kind of
 * the object. Fails as write_patch() does.
 */
int scale_patch(struct write *w, const struct json *old, enum patch_type type,
		const struct json *patch, struct json **ret_scale, struct error *err);

/*
 * Server-side apply of a Scale: applies its count to the object, through the subresource. `config`
 * is a parsed tree. Fails as write_apply() does, or with -ERR_INVALID about kind Scale.
 */
int scale_apply(struct write *w, const struct json *old, const struct json *config,
		struct json **ret_object, struct error *err);

/*
 * Checks a Scale that fits its type. Its name and namespace must be those of the path
 * (-ERR_BAD_REQUEST), and the count must not be negative (-ERR_INVALID, about kind Scale).
 */
int scale_check(struct write *w, struct json *scale, struct error *err);

/*
 * Updates `old`, of the storage version, to the count of `scale`. Fails as write_update() does, or
 * with -ERR_BAD_REQUEST if the object has no place for a count.
 */
int scale_update(struct write *w, const struct json *old, const struct json *scale,
		 struct json **ret_object, struct error *err);

/* Sets the object's count to that of the Scale. Returns false if the object has no place for it. */
bool scale_set(struct arena *a, const struct scale_paths *paths, struct json *object,
	       const struct json *scale);

#endif
