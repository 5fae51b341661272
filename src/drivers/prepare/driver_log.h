/* driver_log - log lines for the operator of a driver, passed to the vendor's log function. */
#ifndef DRIVERS_PREPARE_DRIVER_LOG_H
#define DRIVERS_PREPARE_DRIVER_LOG_H

#include "base/core/compiler.h"
#include "devplane/driver.h"

struct driver_log {
	void (*fn)(void *arg, uint32_t level, const char *line); /* NULL: stderr */
	void *arg;
};

/* `level` is DP_LOG_*. Lines are cut at 1 KiB. */
void driver_log(const struct driver_log *l, uint32_t level, const char *fmt, ...) PRINTF_LIKE(3, 4);

#endif
