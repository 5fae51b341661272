/*
 * expectations - the pods that a controller has created or deleted and not yet seen in its cache.
 *
 * Without them a controller would create a pod twice, because its cache does not show the first one
 * yet. The rules are upstream's: while expectations of a key are open, the controller creates and
 * deletes nothing for it. Expectations end after five minutes, in case an event was lost. Threads:
 * one loop's.
 */
#ifndef CONTROLLER_PODS_EXPECTATIONS_H
#define CONTROLLER_PODS_EXPECTATIONS_H

#include "base/core/map.h"
#include "base/core/str.h"

enum { EXPECTATIONS_MS = 5 * 60 * 1000 };

struct expectations {
	struct map by_key; /* key of the owner to struct expected */
};

void expectations_init(struct expectations *e);
void expectations_release(struct expectations *e);

/* Whether the cache shows all that was expected, or the time is over, or nothing was expected. */
bool expectations_met(const struct expectations *e, struct str key, int64_t now_ms);

/* Before the requests are sent: replaces what was expected. `deleted` are uids; copied. */
void expectations_set(struct expectations *e, struct str key, size_t created,
		      const struct str *deleted, size_t n, int64_t now_ms);

/* Expects one more deletion, and keeps the others. */
void expectations_add_deleted(struct expectations *e, struct str key, struct str uid);

/* Whether this deletion is expected, so that the cache shows a pod that is gone. */
bool expectations_deleting(const struct expectations *e, struct str key, struct str uid);

/* The cache shows a new pod of this owner, or a creation has certainly failed. */
void expectations_created(struct expectations *e, struct str key);

/* The cache shows that the pod is gone or is being deleted, or the deletion has failed. */
void expectations_deleted(struct expectations *e, struct str key, struct str uid);

/* The owner is gone. */
void expectations_forget(struct expectations *e, struct str key);

#endif
