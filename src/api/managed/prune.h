/*
 * managed_prune - removes fields that an applier no longer has. Layer-private, for managed/apply.c.
 */
#ifndef API_MANAGED_PRUNE_H
#define API_MANAGED_PRUNE_H

#include "api/managed/entry.h"
#include "api/schema/schema.h"

/*
 * Removes from `object`, which has the new configuration merged in, the fields of the set `last`
 * that no entry owns any more. `last` is the manager's previous configuration, of version
 * `last_version`. The entries have the new set already. Returns the object, or a new one.
 */
struct json *managed_prune(struct arena *a, const struct schema_kind *kind, struct json *object,
			   const struct managed_entries *entries, const struct json *last,
			   struct str last_version);

#endif
