/*
 * device_marks - the health of each device of a slice, remembered to count its changes.
 *
 * A device that is new in its slice has not changed. A device flaps if it fails, which is to become
 * Unhealthy or Unknown, for the DEVICE_MARKS_FLAPS-th time within DEVICE_MARKS_FLAP_MS, or again
 * within that time. No I/O, no clock.
 */
#ifndef CONTROLLER_DEVICES_DEVICE_MARKS_H
#define CONTROLLER_DEVICES_DEVICE_MARKS_H

#include <stdint.h>

#include "base/core/vec.h"
#include "dra/availability/device_health.h"

struct json;

enum {
	DEVICE_MARKS_FLAPS = 3, /* failures that make a flap */
	DEVICE_MARKS_FLAP_MS = 30 * 60 * 1000,
};

struct device_mark {
	uint64_t name; /* a hash of the device's name */
	enum device_health health;
	int64_t failed_ms[DEVICE_MARKS_FLAPS - 1]; /* its last failures, the newest first */
};

struct device_marks {
	VEC(struct device_mark) v;
};

struct device_marks_changes {
	uint32_t to[DEVICE_HEALTHS]; /* changes to this health */
	uint32_t flaps;
};

/* Reads the devices of a slice's status. */
void device_marks_init(struct device_marks *m, const struct json *status);
void device_marks_release(struct device_marks *m);

/* Compares with the marks before, and takes over the times of failures from them. */
struct device_marks_changes device_marks_compare(struct device_marks *now,
						 const struct device_marks *before, int64_t now_ms);

#endif
