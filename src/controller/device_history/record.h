/*
 * device_record - the object in which the changes of a pool's devices are kept.
 *
 * docs/history.md shows its format. The functions work on trees: no I/O, no clock.
 */
#ifndef CONTROLLER_DEVICE_HISTORY_RECORD_H
#define CONTROLLER_DEVICE_HISTORY_RECORD_H

#include "base/core/arena.h"
#include "base/core/str.h"

struct json;

enum {
	DEVICE_RECORD_CHANGES_MAX = 32, /* of a device */
	DEVICE_RECORD_DEVICES_MAX = 2048, /* of a pool; the definition has the same number */
};

/* Returns the name of the object for a pool, "driver/pool". */
struct str device_record_name(struct str pool, struct arena *a);

/*
 * Adds a change: an object with time, field, from, to and so on, which becomes part of the tree. A
 * change that the record has already is not added: its device's last change of that field led to
 * the same state.
 */
void device_record_add(struct json *object, struct str device, struct json *change,
		       struct arena *a);

/*
 * Drops changes until the printed object has at most `max` bytes: the oldest of the devices that
 * have most.
 */
void device_record_trim(struct json *object, size_t max, struct arena *a);

/* The newest value of a field ("state", "health") of an item of status.devices; empty: unknown. */
struct str device_record_last(const struct json *device, const char *field);

#endif
