/*
 * device_sight - what the published status of a slice says about one device, and the difference of
 * two of them.
 *
 * Pure. Texts are borrowed from the status, or are in the arena.
 */
#ifndef CONTROLLER_DEVICE_HISTORY_SIGHT_H
#define CONTROLLER_DEVICE_HISTORY_SIGHT_H

#include "base/core/arena.h"
#include "base/core/str.h"

struct json;

/* State of a device that is in no slice. */
#define DEVICE_SIGHT_GONE STR("Gone")

enum { DEVICE_SIGHT_TEXT_MAX = 256 }; /* bytes of a message or reason; longer ones are cut */

struct device_sight {
	struct str name, state, reason;
	struct str health; /* "NotReported" if the status has none */
	struct str message, holder; /* or empty */
	/* NotReported is recorded as the end of an illness, so that the next report is a change. */
	bool unsettled;
};

struct device_change {
	struct str device;
	const char *field; /* "state" or "health" */
	struct str from, to;
	struct str reason, message, holder; /* or empty */
};

enum { DEVICE_SIGHT_CHANGES_MAX = 2 };

/* `device` is an item of status.devices. */
struct device_sight device_sight_read(const struct json *device, struct arena *a);

/*
 * Returns the number of changes between two sights of a device. The state counts as changed if the
 * reason changed, or if another claim holds the device. Healthy and NotReported count as equal
 * unless `before` is unsettled: some sources report health only while a pod holds the device. An
 * empty state or health of `before` is unknown, and then equals every other.
 */
size_t device_sight_compare(const struct device_sight *before, const struct device_sight *after,
			    struct device_change ret_changes[static DEVICE_SIGHT_CHANGES_MAX]);

#endif
