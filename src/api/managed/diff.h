/*
 * managed_diff - which fields differ between two objects, as sets.
 *
 * As structured-merge-diff compares them: a field that came is in `changed`
 * with everything below it, one that went in `removed` likewise, one whose value
 * differs in `changed`. What is owned as a whole (scalars, atomic lists and maps)
 * is one field. Fields that nobody owns are left out: apiVersion, kind, the
 * metadata that the server sets. Layer-private, for managed_*.c.
 */
#ifndef API_MANAGED_DIFF_H
#define API_MANAGED_DIFF_H

#include "api/schema/schema.h"
#include "base/json/json.h"

struct managed_diff {
	struct json *changed, *removed; /* sets in order (managed/set.h); NULL when empty */
};

/*
 * `old` is NULL for a create. `resets` (may be NULL; ends with p NULL) is what the request
 * cannot write and is left out: members of the root, and "metadata.x".
 */
struct managed_diff managed_diff(struct arena *a, const struct schema_type *type,
				 const struct json *old, const struct json *object,
				 const struct str *resets);

#endif
