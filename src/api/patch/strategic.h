/*
 * patch_strategic - strategic merge patch: a merge patch that knows lists.
 *
 * As upstream's strategicpatch package applies it. Objects are merged member
 * by member and null removes, as in RFC 7386; a list whose field has a merge
 * key, or is a set of scalars that merges, is merged element by element, any
 * other is replaced. Directives: $patch (replace, delete), $retainKeys,
 * $setElementOrder/<field>, $deleteFromPrimitiveList/<field>.
 */
#ifndef API_PATCH_STRATEGIC_H
#define API_PATCH_STRATEGIC_H

#include "api/schema/schema.h"
#include "base/json/json.h"

/*
 * Changes *doc, an object of `type`, in place or replaces it; on failure it must
 * not be used any more. The patch is not changed. -ERR_BAD_REQUEST for a
 * malformed patch, -ERR_INVALID for one that does not fit the object,
 * -ERR_TOO_LARGE when comparing its elements would take too long.
 */
int patch_strategic(struct arena *a, struct json **doc, const struct schema_type *type,
		    const struct json *patch, struct error *err);

/* The patch as upstream shows it when its result is refused: as Go prints a map. */
void patch_strategic_text(struct arena *a, const struct json *patch, struct buf *out);

#endif
