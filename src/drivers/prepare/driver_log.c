/* A vendor that sets no log function chooses stderr. */
#include "drivers/prepare/driver_log.h"

#include <stdarg.h>
#include <stdio.h>

void driver_log(const struct driver_log *l, uint32_t level, const char *fmt, ...)
{
	static const char *const names[] = { "error", "warning", "info", "debug" };
	char line[1024];
	va_list ap;

	if (!l->fn && level >= DP_LOG_DEBUG)
		return;
	va_start(ap, fmt);
	(void)vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (l->fn)
		l->fn(l->arg, level, line);
	else
		(void)fprintf(stderr, "%s: %s\n", names[level], line);
}
