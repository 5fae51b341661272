/* slice_equal - whether a ResourceSlice has the devices that the driver wants. */
#ifndef DRIVERS_SDK_SLICE_EQUAL_H
#define DRIVERS_SDK_SLICE_EQUAL_H

#include "base/core/arena.h"
#include "base/json/json.h"

/*
 * Compares two lists of devices. Quantities are compared by value, attributes exactly. The
 * timeAdded of a taint is ignored if `wanted` has none. Anything extra in `there` is a difference.
 */
bool slice_equal(const struct json *wanted, const struct json *there);

/* Compares two lists of counter sets in the same way. An empty list equals a missing one. */
bool slice_equal_counters(const struct json *wanted, const struct json *there);

/* Copies the timeAdded of each taint of a device from `there` to the same taint in `wanted`. */
void slice_keep_times(struct arena *a, struct json *wanted, const struct json *there);

#endif
