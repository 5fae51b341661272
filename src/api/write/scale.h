/*
 * scale - autoscaling/v1 Scale: the replica count of any object that has one.
 *
 * Pure: an object gives its Scale, and a changed Scale a changed object. Where
 * the counts lie is told by paths, so that custom resources have it as built-in
 * kinds do. Only the count goes back; of a Scale's metadata, uid and resourceVersion
 * are preconditions.
 */
#ifndef API_WRITE_SCALE_H
#define API_WRITE_SCALE_H

#include "api/write/write.h"

/* Those of a kind: of its subresource "scale", or where all built-in kinds have them. */
const struct scale_paths *scale_paths(const struct schema_kind *kind);

/* The kind autoscaling/v1 Scale. */
const struct schema_kind *scale_kind(void);

/*
 * The Scale of `object`, a tree with its resourceVersion. Shares nothing with it
 * but text. -ERR_INTERNAL, in upstream's words, when there is no count.
 */
int scale_get(struct arena *a, const struct scale_paths *paths, const struct json *object,
	      struct json **ret_scale, struct error *err);

/*
 * A Scale from a patch of the stored object's. `w` is of the request, its kind that of the
 * object. Fails as write_patch() does.
 */
int scale_patch(struct write *w, const struct json *old, enum patch_type type,
		const struct json *patch, struct json **ret_scale, struct error *err);

/*
 * Server-side apply of a Scale: the object's own apply of its count, by the subresource. `config`
 * is a tree as it was parsed. Fails as write_apply() does, or -ERR_INVALID about kind Scale.
 */
int scale_apply(struct write *w, const struct json *old, const struct json *config,
		struct json **ret_object, struct error *err);

/*
 * Whether a Scale that fits its type may be written: its name and namespace are
 * those of the path (-ERR_BAD_REQUEST), and the count is not below zero
 * (-ERR_INVALID, about kind Scale).
 */
int scale_check(struct write *w, struct json *scale, struct error *err);

/*
 * An update of `old`, of the storage version, to the count of `scale`. As write_update().
 * -ERR_BAD_REQUEST, too, when the object has no place for a count.
 */
int scale_update(struct write *w, const struct json *old, const struct json *scale,
		 struct json **ret_object, struct error *err);

/* Puts the count of a Scale into the object; false when that has no place for it. */
bool scale_set(struct arena *a, const struct scale_paths *paths, struct json *object,
	       const struct json *scale);

#endif
