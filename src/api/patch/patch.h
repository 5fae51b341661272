/*
 * patch - JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386) on trees.
 *
 * Pure: bytes and a tree in, a tree out, in one arena. Errors are
 * -ERR_BAD_REQUEST for a malformed patch and -ERR_INVALID for one that does not
 * fit the object, as upstream answers them. Strategic merge and apply are
 * files of their own.
 */
#ifndef API_PATCH_PATCH_H
#define API_PATCH_PATCH_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/json/json.h"

#define PATCH_OPS_MAX 10000 /* operations of one JSON patch; more is 413 */

enum patch_type {
	PATCH_JSON, /* application/json-patch+json */
	PATCH_MERGE, /* application/merge-patch+json */
	PATCH_STRATEGIC, /* application/strategic-merge-patch+json */
	PATCH_APPLY, /* application/apply-patch+yaml */
};

/* Changes *doc in place, or replaces it. On failure *doc must not be used any more. */
int patch_json(struct arena *a, struct json **doc, const struct json *patch, struct error *err);
int patch_merge(struct arena *a, struct json **doc, const struct json *patch, struct error *err);

#endif
