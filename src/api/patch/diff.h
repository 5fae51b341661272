/*
 * patch_diff - the patch that brings an object to what a manifest wants.
 *
 * Three trees decide, as for `kubectl apply`: what was last applied, what is wanted now, and what
 * the server has. What is wanted and is not so is set; what was applied last and is not wanted any
 * more is removed; what neither says is somebody else's, and stays.
 *
 * With a type it is a strategic merge patch (patch/strategic.h): lists with a merge key are
 * compared element by element, so that elements of others stay, and get $setElementOrder where
 * their order is not the wanted one; lists of scalars that merge are compared as sets;
 * $retainKeys is given where the type has it. A list whose elements have no key, or the same
 * one twice, is replaced as a whole. Without a type it is a JSON merge patch, which replaces
 * lists.
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
 * The patch, an object without members when nothing is to change. `type` may be NULL. The
 * sides are not changed, and must outlive it: it has their names. -ERR_TOO_LARGE for trees
 * that are nested too deeply, or too large for the arena.
 */
int patch_diff(struct arena *a, const struct schema_type *type, const struct patch_sides *sides,
	       struct json **ret_patch, struct error *err);

#endif
