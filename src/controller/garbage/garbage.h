/*
 * garbage - deletes objects that have lost their owners.
 *
 * Upstream's garbage collector:
 * - An object is deleted if none of the owners in its ownerReferences exists.
 * - References to missing owners are removed if other owners exist.
 * - An owner that is deleted in the foreground (finalizer foregroundDeletion) is removed when its
 *   blocking dependents are gone.
 * - An owner with the finalizer orphan is first removed from its dependents' references.
 *
 * It watches the metadata of all resources that can be listed, watched and deleted. It notices new
 * and removed resources within seconds if a CustomResourceDefinition changed, otherwise within the
 * sync period.
 *
 * It never deletes on watch data alone: it reads the object and its owners first, and a delete
 * carries uid and resourceVersion as preconditions.
 */
#ifndef CONTROLLER_GARBAGE_GARBAGE_H
#define CONTROLLER_GARBAGE_GARBAGE_H

#include <stdbool.h>
#include <stdint.h>

struct context;
struct garbage;

/* Zero means the default. */
struct garbage_opts {
	unsigned workers; /* objects processed at once; 20 */
	int64_t sync_period_ms; /* between discovery refreshes; 30 s */
	int64_t initial_sync_ms; /* how long to wait for the initial states; 60 s */
};

struct garbage *garbage_new(const struct context *ctx, const struct garbage_opts *opts);

/* Cancels work in progress; the next controller starts from scratch. NULL allowed. */
void garbage_free(struct garbage *g);

/* All known resources have delivered their initial state. */
bool garbage_synced(const struct garbage *g);

#endif
