/*
 * patch_diff - computes the patch that brings an object to the state of a manifest.
 *
 * As for `kubectl apply`, three trees decide: the configuration that was applied last, the one
 * wanted now, and the live object. Values that are wanted and differ are set. Values that were
 * applied last and are no longer wanted are removed. All other values belong to someone else and
 * stay.
 *
 * With a type the result is a strategic merge patch (patch/strategic.h). Lists with a merge key are
 * compared element by element, so that elements of others stay; they get $setElementOrder if their
 * order is not the wanted one. Lists of scalars that merge are compared as sets. $retainKeys is
 * added where the type demands it. A list whose elements have no key, or repeat one, is replaced as
 * a whole. Without a type the result is a JSON merge patch, which replaces lists.
 * Pure: trees in, a tree out, in one arena.
 */
#ifndef API_PATCH_DIFF_H
#define API_PATCH_DIFF_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct json;
struct schema_type;

struct patch_sides {
	const struct json *last; /* NULL: nothing was applied before */
	const struct json *wanted, *live;
};

/*
 * Computes the patch; it is an empty object if nothing is to change. `type` may be NULL. The sides
 * are not changed, and must outlive the patch, which borrows their names. -ERR_TOO_LARGE for trees
 * that are nested too deeply, or too large for the arena.
 */
int patch_diff(struct arena *a, const struct schema_type *type, const struct patch_sides *sides,
	       struct json **ret_patch, struct error *err);

#endif
