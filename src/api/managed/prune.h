/*
 * managed_prune - what an applier gives up. Layer-private, for managed_apply.c.
 */
#ifndef API_MANAGED_PRUNE_H
#define API_MANAGED_PRUNE_H

#include "api/managed/entry.h"
#include "api/schema/schema.h"

/*
 * Takes out of `object`, which has the new configuration merged in, what the set `last` has (the
 * manager's last configuration, of version `last_version`) and no entry owns any more.
 * Entries have the new set already. Returns the object, or another.
 */
struct json *managed_prune(struct arena *a, const struct schema_kind *kind, struct json *object,
			   const struct managed_entries *entries, const struct json *last,
			   struct str last_version);

#endif
