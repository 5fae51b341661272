/*
 * device_history - keeps the last changes of every device in objects of kind DeviceHistory, one
 * for each pool. docs/history.md describes them.
 *
 * It compares what is published: the status of ResourceSlices or, on clusters whose slices have
 * none, ResourceSliceStatus objects. An event costs as much as its slice has devices. A device
 * that is in no slice of its pool for DEVICE_HISTORY_GONE_MS is gone.
 *
 * The first change of a pool is written at once, and the next write of the same pool follows
 * DEVICE_HISTORY_PACE_MS later. All pools together have DEVICE_HISTORY_WRITES_PER_S. After a
 * restart it compares the records with what is published now. A repeated write adds nothing.
 *
 * Size is bounded. All objects share DEVICE_HISTORY_BYTES_MAX, and each has between
 * DEVICE_HISTORY_OBJECT_MIN and DEVICE_HISTORY_OBJECT_MAX bytes, so the more pools there are, the
 * fewer changes each keeps. The object of a pool without slices is deleted DEVICE_HISTORY_KEEP_MS
 * after its last change. Threads: the client's loop.
 */
#ifndef CONTROLLER_DEVICE_HISTORY_DEVICE_HISTORY_H
#define CONTROLLER_DEVICE_HISTORY_DEVICE_HISTORY_H

struct context;
struct device_history;
struct resource;

enum {
	DEVICE_HISTORY_GONE_MS = 10 * 1000,
	DEVICE_HISTORY_PACE_MS = 5 * 1000,
	DEVICE_HISTORY_WRITES_PER_S = 10,
	DEVICE_HISTORY_BYTES_MAX = 64 << 20,
	DEVICE_HISTORY_OBJECT_MIN = 4 << 10,
	DEVICE_HISTORY_OBJECT_MAX = 64 << 10,
	DEVICE_HISTORY_OBJECTS_MAX = DEVICE_HISTORY_BYTES_MAX / DEVICE_HISTORY_OBJECT_MIN,
	DEVICE_HISTORY_KEEP_MS = 72 * 3600 * 1000,
};

/* `published` is the resource whose objects have a status and spec.pool; it must be served. */
struct device_history *device_history_new(const struct context *ctx,
					  const struct resource *published);
void device_history_free(struct device_history *h); /* NULL allowed */

#endif
