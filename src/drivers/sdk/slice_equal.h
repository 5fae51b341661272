/*
 * slice_equal - whether a ResourceSlice's devices are those that the driver wants there.
 */
#ifndef DRIVERS_SDK_SLICE_EQUAL_H
#define DRIVERS_SDK_SLICE_EQUAL_H

#include "base/core/arena.h"
#include "base/json/json.h"

/*
 * Compares two lists of devices: quantities by value, attributes exactly, taints but for the time
 * at which they were added when `wanted` has none. Anything else that `there` has is a difference.
 */
bool slice_equal(const struct json *wanted, const struct json *there);

/* Gives taints of `wanted` the time that the same taint of the same device has in `there`. */
void slice_keep_times(struct arena *a, struct json *wanted, const struct json *there);

#endif
