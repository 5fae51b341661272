/*
 * history_pool - the changes of a pool's devices that are not written yet, and the devices that
 * have disappeared.
 *
 * A pool's slices may be replaced one by one, so a device that disappears from one may be in
 * another already, or soon. It is missing until device_history.c decides. Memory is bounded: if
 * too many changes wait, the oldest that are not being written are dropped. No I/O, no clock.
 */
#ifndef CONTROLLER_DEVICE_HISTORY_POOL_H
#define CONTROLLER_DEVICE_HISTORY_POOL_H

#include "base/core/map.h"
#include "base/core/vec.h"
#include "client/api/client.h"
#include "controller/device_history/sight.h"

struct device_history;
struct json;

enum { HISTORY_POOL_PENDING_MAX = 1024, HISTORY_POOL_MISSING_MAX = 1024 };

/* A change that is not written yet. */
struct history_pending {
	char *device, *text; /* heap; `text` is the change as JSON */
};

/* A device that is in no slice we have seen since. */
struct history_missing {
	int64_t since; /* ns since 1970 */
	struct device_sight last; /* text is stored after the struct */
};

struct history_pool {
	struct device_history *owner;
	struct str key; /* "driver/pool"; stored after the struct */
	char *node; /* heap; NULL: belongs to no single node */
	VEC(struct history_pending) pending; /* the oldest first */
	struct map missing; /* device -> struct history_missing */
	size_t batch; /* so many of the first are being written, or may have been; 0: none */
	uint64_t batch_id;
	int64_t next_write_at; /* loop time in ms */
	struct client_request request;
};

struct history_pool *history_pool_new(struct device_history *owner, struct str key,
				      struct str node);
void history_pool_free(struct history_pool *p); /* NULL allowed */

void history_pool_add(struct history_pool *p, const struct device_change *c, int64_t time);
/* The device's health after its changes that are not written, in the arena; empty: none. */
struct str history_pool_health(const struct history_pool *p, struct str device, struct arena *a);
/* The first `n` were written. */
void history_pool_written(struct history_pool *p, size_t n);

/* Does nothing if the device is missing already. */
void history_pool_lose(struct history_pool *p, const struct device_sight *last, int64_t now);
/* The device is back, or its loss is known. Returns NULL if it was not missing; free() it. */
struct history_missing *history_pool_find(struct history_pool *p, struct str device);

#endif
