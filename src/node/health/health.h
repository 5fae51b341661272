/*
 * health - what DRA drivers say about their devices, and since when. Pure.
 *
 * By driver, pool and device: health, message, when the driver determined it, and until when it
 * holds: each device expires by its own time-out (30 s unless it says otherwise) on the monotonic
 * clock from the report's arrival, and is Unknown then, without a message. The driver's own time
 * stamp is kept, shown in events if it is off by a minute or more, and never a reason to drop a
 * report. health_next_expiry() is the timer to set.
 *
 * A report is complete: a device that it leaves out is Unknown at once, and forgotten. Of a
 * device that it has twice, the last counts. A stream that is lost changes nothing: its devices
 * expire. A driver that is gone (deregistered) is Unknown at once. Messages are clean when they
 * come here (health_message.h). At most HEALTH_DEVICES_MAX devices per driver are kept; a known
 * one is always taken. Names that no claim can have (empty, longer than HEALTH_NAME_MAX, not
 * UTF-8) are not kept.
 *
 * Changed devices are told by callback, those that the report leaves out first and the others in
 * its order, after the device's state has changed. A device that reads the same again is no change:
 * one that is not known reads Unknown without a message.
 * A report costs O(log n) per device and, where nothing changed, no allocation.
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
	int64_t updated_s; /* as the driver says; unix seconds; 0: it does not */
	int64_t timeout_s; /* 0 or less: the default */
};

struct health_device {
	struct str driver, pool, device, message;
	enum assign_health health;
	int64_t updated_s; /* as the driver said; 0: not */
	int64_t expires_ms; /* monotonic; INT64_MAX: it has expired or cannot */
};

struct health_opts {
	/*
	 * Health or message of a device differs from before. Text is borrowed; may not change it.
	 */
	void (*on_change)(void *arg, const struct health_device *now, enum assign_health before);
	void *arg;
};

struct health *health_new(const struct health_opts *opts);
void health_free(struct health *h); /* NULL allowed */

/*
 * Returns how many devices were not kept, because there are too many or their names are no names.
 */
size_t health_report(struct health *h, struct str driver, const struct plugin_health *v, size_t n,
		     int64_t now_ms);
/* Unknown at once, without messages; all of it is forgotten. */
void health_driver_gone(struct health *h, struct str driver);

/* INT64_MAX when nothing expires. */
int64_t health_next_expiry(const struct health *h);
void health_expire(struct health *h, int64_t now_ms);

/* Unknown, without a message, for what is not there. True when it is there. Text is borrowed. */
bool health_get(const struct health *h, struct str driver, struct str pool, struct str device,
		struct health_device *ret_device);

size_t health_count(const struct health *h);
/* Devices that were loaded and have not been reported since. The file differs when this does. */
size_t health_unconfirmed(const struct health *h);

/* Walks all by driver, pool, device; `at` begins zeroed. False at the end. Text is borrowed. */
bool health_next(const struct health *h, struct health_device *at);

#define HEALTH_STATE_KIND    "health"
#define HEALTH_STATE_VERSION 1

/*
 * JSON, deterministic. A restart must not change what is true: under steady reports nothing is
 * saved for a long time, and the drivers need a moment to report to the new agent. So a device that
 * is loaded has its whole time-out again, from now on; if its driver does not report by then, it is
 * Unknown. That time is given once: until the device is reported again it is saved with the end of
 * that time, as wall time, so an agent in a crash loop does not keep an old state alive. A wall
 * clock that was set back lengthens it by the time-out at most.
 */
int health_encode(const struct health *h, int64_t wall_ns, int64_t now_ms, struct buf *out);
/* Into one that is new; tells no changes. -ERR_INVALID leaves it empty. */
int health_decode(struct health *h, struct str body, int64_t wall_ns, int64_t now_ms,
		  struct error *err);

DEFINE_CLEANUP(health_free, struct health *);

#endif
