/*
 * patch - JSON Patch (RFC 6902) and JSON Merge Patch (RFC 7386) on trees.
 *
 * Pure: trees in, a tree out, in one arena. As upstream, a malformed patch is -ERR_BAD_REQUEST, and
 * a patch that does not fit the object is -ERR_INVALID. Strategic merge and apply are in other
 * files.
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

/* Change *doc in place, or replace it. On failure *doc must no longer be used. */
int patch_json(struct arena *a, struct json **doc, const struct json *patch, struct error *err);

/* The same, and says which operation failed, and whether only because a test was not met. */
struct patch_failure {
	const struct json *operation; /* NULL: none; the patch is malformed or too large */
	bool untrue; /* a test compared with another value */
};
int patch_json_explained(struct arena *a, struct json **doc, const struct json *patch,
			 struct patch_failure *ret_failure, struct error *err);

int patch_merge(struct arena *a, struct json **doc, const struct json *patch, struct error *err);

#endif
