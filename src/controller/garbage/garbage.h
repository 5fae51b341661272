/*
 * garbage - deletes what has lost its owners.
 *
 * Upstream's garbage collector: objects whose ownerReferences all point to
 * nothing are deleted; references to nothing beside others that hold are taken out;
 * an owner deleted in the foreground (finalizer foregroundDeletion) goes when its
 * blocking dependents are gone; one that orphans (finalizer orphan) is taken out
 * of its dependents first. All resources that can be listed, watched and deleted
 * are watched, metadata only; what discovery adds or loses is noticed within
 * seconds where a CustomResourceDefinition changed, else within the sync period.
 *
 * Nothing is deleted on the word of a watch: the object and its owners are read
 * first, and a delete carries uid and resourceVersion as preconditions.
 */
#ifndef CONTROLLER_GARBAGE_GARBAGE_H
#define CONTROLLER_GARBAGE_GARBAGE_H

#include <stdbool.h>
#include <stdint.h>

struct context;
struct garbage;

/* Zero means the default. */
struct garbage_opts {
	unsigned workers; /* objects looked at at once; 20 */
	int64_t sync_period_ms; /* between looks at what is served; 30 s */
	int64_t initial_sync_ms; /* for how long to wait for the first states; 60 s */
};

struct garbage *garbage_new(const struct context *ctx, const struct garbage_opts *opts);

/* Gives up what is under way; the next controller begins anew. NULL allowed. */
void garbage_free(struct garbage *g);

/* All resources that are known have told their state. */
bool garbage_synced(const struct garbage *g);

#endif
