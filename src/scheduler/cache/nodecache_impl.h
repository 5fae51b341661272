/*
 * nodecache_impl - the cache's entries and its snapshot; for nodecache*.c and snapshot.c only.
 */
#ifndef SCHEDULER_CACHE_NODECACHE_IMPL_H
#define SCHEDULER_CACHE_NODECACHE_IMPL_H

#include "base/core/list.h"
#include "base/core/map.h"
#include "scheduler/cache/nodecache.h"

struct zone;

struct nodecache_item {
	struct nodeinfo *info; /* live; shared with the snapshot until it changes */
	struct nodeinfo *shown; /* in the snapshot; NULL: not in it */
	struct list link; /* most recently changed first */
	struct zone *zone; /* NULL: a ghost */
	size_t at; /* in snapshot.nodes */
	size_t at_affinity, at_anti; /* index in the other two lists; SIZE_MAX: not in the list */
};

struct zone {
	struct str name; /* behind the struct */
	VEC(struct nodecache_item *) items; /* in the order in which they came */
};

struct snapshot_owner {
	struct snapshot s;
	struct map by_name; /* nodeinfo */
	struct map images; /* struct snapshot_count */
	struct map pvcs; /* the same */
};

struct nodecache {
	struct map items; /* by name */
	struct map pods; /* podinfo by uid; a reference each */
	struct map assumed; /* the same, without a reference */
	struct list changed; /* all items */
	VEC(struct zone *) zones; /* in the order in which they came */
	size_t nodes;
	uint64_t generation;
	/* For the snapshot: */
	bool relist; /* nodes were added or removed */
	VEC(struct nodeinfo *) gone; /* in the snapshot, but no longer nodes; a reference each */
	struct snapshot_owner snapshot;
};

void snapshot_init(struct snapshot_owner *o);
void snapshot_release(struct nodecache *c);

#endif
