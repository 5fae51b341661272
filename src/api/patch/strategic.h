/*
 * patch_strategic - strategic merge patch: a merge patch that can merge lists.
 *
 * Applies it as upstream's strategicpatch package does. As in RFC 7386, objects are merged member
 * by member and null removes. A list whose field has a merge key, or is a set of scalars that
 * merges, is merged element by element. Any other list is replaced. Directives: $patch (replace,
 * delete), $retainKeys, $setElementOrder/<field>, $deleteFromPrimitiveList/<field>.
 */
#ifndef API_PATCH_STRATEGIC_H
#define API_PATCH_STRATEGIC_H

#include "api/schema/schema.h"
#include "base/json/json.h"

/*
 * Changes *doc, an object of `type`, in place, or replaces it. On failure it must no longer be
 * used. The patch is not changed. -ERR_BAD_REQUEST for a malformed patch, -ERR_INVALID for one that
 * does not fit the object, -ERR_TOO_LARGE if comparing its elements would take too long.
 */
int patch_strategic(struct arena *a, struct json **doc, const struct schema_type *type,
		    const struct json *patch, struct error *err);

/* Appends the patch as upstream shows it when its result is rejected: as Go prints a map. */
void patch_strategic_text(struct arena *a, const struct json *patch, struct buf *out);

#endif
