/*
 * driver_log - what a driver's operator should read, as lines for the vendor's own log.
 */
#ifndef DRIVERS_PREPARE_DRIVER_LOG_H
#define DRIVERS_PREPARE_DRIVER_LOG_H

#include "base/core/compiler.h"
#include "devplane/driver.h"

struct driver_log {
	void (*fn)(void *arg, uint32_t level, const char *line); /* NULL: standard error */
	void *arg;
};

/* `level` is DP_LOG_*. Lines are cut at a kilobyte. */
void driver_log(const struct driver_log *l, uint32_t level, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
