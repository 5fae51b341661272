/*
 * A claim device is found by its id, DRIVER/POOL/DEVICE. A pool may contain slashes, a driver and a
 * device may not.
 */
#include "node/status/device_event_text.h"

#include "base/core/clock.h"
#include "base/time/timestamp.h"
#include "node/health/health.h"

enum { MINUTE_S = 60 };

const char *device_event_reason(const struct device_status_change *c)
{
	static const char *const reasons[] = { [ASSIGN_HEALTHY] = "DeviceHealthy",
					       [ASSIGN_UNHEALTHY] = "DeviceUnhealthy",
					       [ASSIGN_UNKNOWN] = "DeviceHealthUnknown" };

	return reasons[c->now];
}

static bool find_health(const struct health *h, const struct device_status_change *c,
			struct health_device *ret_device)
{
	ptrdiff_t first = str_chr(c->id, '/'), last = (ptrdiff_t)c->id.n - 1;

	if (!str_starts(c->resource, STR("claim:")) || first < 0)
		return false;
	while (c->id.p[last] != '/')
		last--;
	return last > first && health_get(h, str_of(c->id.p, (size_t)first),
					  str_of(c->id.p + first + 1, (size_t)(last - first - 1)),
					  str_skip(c->id, (size_t)last + 1), ret_device);
}

/* Adds ", determined TIME" by the driver's clock. */
static void print_determined(struct buf *out, const struct device_status_change *c,
			     const struct health *h, int64_t wall_s)
{
	char text[TIMESTAMP_SIZE];
	struct health_device d;
	struct str at;

	if (!find_health(h, c, &d) || d.health != c->now || d.updated_s <= 0 ||
	    d.updated_s > INT64_MAX / CLOCK_SEC ||
	    (d.updated_s > wall_s - MINUTE_S && d.updated_s < wall_s + MINUTE_S))
		return;
	at = timestamp_print(d.updated_s * CLOCK_SEC, TIMESTAMP_SECONDS, text);
	(void)buf_printf(out, ", determined %.*s", STR_ARG(at));
}

void device_event_print(struct buf *out, const struct device_status_change *c,
			const struct health *health, int64_t wall_ns)
{
	(void)buf_printf(out, "Device %.*s of %.*s: %s -> %s", STR_ARG(c->id), STR_ARG(c->resource),
			 assign_health_name(c->before), assign_health_name(c->now));
	print_determined(out, c, health, wall_ns / CLOCK_SEC);
	if (c->message.n > 0)
		(void)buf_printf(out, ": %.*s", STR_ARG(c->message));
}
