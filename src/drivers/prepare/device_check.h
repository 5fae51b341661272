/*
 * device_check - checks parts of a ResourceSlice with the rules of the API server.
 *
 * The server would reject a whole slice because of one device, long after the vendor's call has
 * returned. So each part is checked in a slice of its own when the vendor gives it.
 */
#ifndef DRIVERS_PREPARE_DEVICE_CHECK_H
#define DRIVERS_PREPARE_DEVICE_CHECK_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/json/json.h"

/*
 * Checks the spec of a slice, which has everything except driver and pool, in a pool of that name.
 * Returns -ERR_INVALID with the first fault.
 */
int device_check_slice(struct str pool, const struct json *spec, struct error *err);

#endif
