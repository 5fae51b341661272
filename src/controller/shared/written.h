/*
 * written - the versions that a controller's own writes made, by a key.
 *
 * A controller that decides from a copy first waits until the copy shows its last write; else it
 * would decide the same again. An entry lives until the copy has caught up. Threads: the client's
 * loop.
 */
#ifndef CONTROLLER_SHARED_WRITTEN_H
#define CONTROLLER_SHARED_WRITTEN_H

#include "base/core/map.h"

struct json;

struct written {
	struct map by_key; /* private */
};

void written_init(struct written *w);
void written_release(struct written *w);

/* Remembers the version of an object as the reply to a write shows it. */
void written_note(struct written *w, struct str key, const struct json *object);

/* Whether a copy at this version does not show the key's last write yet. */
bool written_is_ahead(struct written *w, struct str key, uint64_t seen);

void written_forget(struct written *w, struct str key);

#endif
