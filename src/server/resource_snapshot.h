/*
 * resource_snapshot - an array of references to objects, shared by all who list the same.
 *
 * Immutable once handed out, and counted. A list of thousands costs one
 * reference to it as long as nothing has changed.
 * Threads: any may hold and drop references.
 */
#ifndef SERVER_RESOURCE_SNAPSHOT_H
#define SERVER_RESOURCE_SNAPSHOT_H

#include <stdatomic.h>

#include "api/object.h"

struct arena;

struct resource_snapshot {
	atomic_uint refs;
	size_t n, cap;
	struct object *items[]; /* a reference to each */
};

/* Empty, with room for `cap` objects. */
struct resource_snapshot *resource_snapshot_new(size_t cap);

/* Appends a new reference; may move the snapshot. Only before it is handed out. */
void resource_snapshot_add(struct resource_snapshot **s, struct object *o);

/* Of objects in order of keys: the place of the first behind `key`; empty: 0. */
size_t resource_snapshot_after(const struct resource_snapshot *s, struct str key);

struct resource_snapshot *resource_snapshot_ref(struct resource_snapshot *s);
void resource_snapshot_unref(struct resource_snapshot *s); /* NULL allowed */

/* The reference lives as long as the arena. */
void resource_snapshot_hold(struct arena *a, struct resource_snapshot *s);

#endif
