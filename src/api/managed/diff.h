/*
 * managed_diff - the fields that differ between two objects, as sets.
 *
 * Compares as structured-merge-diff does. An added field is in `changed`, with everything below it;
 * a removed field is in `removed` likewise; a field with another value is in `changed`. A value
 * that is owned as a whole (a scalar, an atomic list or map) is one field. Fields without an owner
 * are left out: apiVersion, kind, and the metadata that the server sets. Layer-private, for
 * managed/.
 */
#ifndef API_MANAGED_DIFF_H
#define API_MANAGED_DIFF_H

#include "api/schema/schema.h"
#include "base/json/json.h"

struct managed_diff {
	struct json *changed, *removed; /* sorted sets (managed/set.h); NULL if empty */
};

/*
 * `old` is NULL for a create. `resets` (may be NULL; ends with p NULL) names the fields that the
 * request cannot write; they are left out. They are members of the root, or "metadata.x".
 */
struct managed_diff managed_diff(struct arena *a, const struct schema_type *type,
				 const struct json *old, const struct json *object,
				 const struct str *resets);

#endif
