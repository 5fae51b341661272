/*
 * health - device health as reported by DRA drivers, with expiry. Pure.
 *
 * The agent's health cache of KEP-4680 (device health in Pod status). It stores per driver, pool
 * and device: health, message, the driver's time stamp, and the expiry time. Each device has its
 * own time-out (30 s unless the driver sets one), which counts on the monotonic clock from the
 * report's arrival. An expired device is Unknown, without a message. The driver's time stamp is
 * kept, and shown in events if it is off by a minute or more; a report is never dropped because of
 * it. Set a timer to health_next_expiry().
 *
 * A report is complete: a device that it leaves out becomes Unknown at once and is forgotten. If a
 * device occurs twice in a report, the last entry counts. Losing the stream changes nothing: its
 * devices expire. When a driver deregisters, its devices become Unknown at once. Messages must be
 * clean when they get here (health_message.h). At most HEALTH_DEVICES_MAX devices per driver are
 * kept; a device that is known already is always accepted. Names that no claim can have (empty,
 * longer than HEALTH_NAME_MAX, not UTF-8) are not kept.
 *
 * A callback gets each changed device after its state has changed: first the devices that the
 * report leaves out, then the others in the report's order. A device whose health and message are
 * the same as before is not a change. An unknown device counts as Unknown without a message.
 * A report costs O(log n) per device and, if nothing changed, no allocation.
 * Threads: one at a time. No I/O, no clock.
 */
#ifndef NODE_HEALTH_HEALTH_H
#define NODE_HEALTH_HEALTH_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "node/assign/assign.h"

enum { HEALTH_TIMEOUT_DEFAULT_S = 30 };

struct health;

/* One device of a health report. */
struct plugin_health {
	struct str pool, device, message;
	enum assign_health health;
	int64_t updated_s; /* from the driver; unix seconds; 0: not set */
	int64_t timeout_s; /* 0 or less: the default */
};

struct health_device {
	struct str driver, pool, device, message;
	enum assign_health health;
	int64_t updated_s; /* from the driver; unix seconds; 0: not set */
	int64_t expires_ms; /* monotonic; INT64_MAX: expired, or never expires */
};

struct health_opts {
	/*
	 * The health or message of a device changed. Text is borrowed. The callback must not change
	 * the cache.
	 */
	void (*on_change)(void *arg, const struct health_device *now, enum assign_health before);
	void *arg;
};

struct health *health_new(const struct health_opts *opts);
void health_free(struct health *h); /* NULL allowed */

/*
 * Returns the number of devices that were not kept, because there are too many or a name is
 * invalid.
 */
size_t health_report(struct health *h, struct str driver, const struct plugin_health *v, size_t n,
		     int64_t now_ms);
/* The driver's devices become Unknown at once, without messages, and are forgotten. */
void health_driver_gone(struct health *h, struct str driver);

/* Returns INT64_MAX if nothing expires. */
int64_t health_next_expiry(const struct health *h);
void health_expire(struct health *h, int64_t now_ms);

/* Returns true if the device is known; else it is Unknown, without a message. Text is borrowed. */
bool health_get(const struct health *h, struct str driver, struct str pool, struct str device,
		struct health_device *ret_device);

size_t health_count(const struct health *h);
/* Devices that were loaded and not reported since. If this number changes, save the file again. */
size_t health_unconfirmed(const struct health *h);

/*
 * Walks all devices by driver, pool, device; start with `at` zeroed. Returns false at the end. Text
 * is borrowed.
 */
bool health_next(const struct health *h, struct health_device *at);

#define HEALTH_STATE_KIND    "health"
#define HEALTH_STATE_VERSION 1

/*
 * Encodes as deterministic JSON. A restart must not change reported health. Under steady reports
 * nothing is saved for a long time, and the drivers need a moment to report to the new agent. So a
 * loaded device gets its whole time-out again, from now on; if its driver does not report by then,
 * it becomes Unknown. It gets that time only once: until the device is reported again, its expiry
 * is saved as wall time, so an agent in a crash loop does not keep an old state alive. If the wall
 * clock was set back, the expiry is later by the time-out at most.
 */
int health_encode(const struct health *h, int64_t wall_ns, int64_t now_ms, struct buf *out);
/* Decodes into a new cache, without callbacks. On -ERR_INVALID the cache stays empty. */
int health_decode(struct health *h, struct str body, int64_t wall_ns, int64_t now_ms,
		  struct error *err);

DEFINE_CLEANUP(health_free, struct health *);

#endif
