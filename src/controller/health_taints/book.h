/*
 * health_taints_book - decides which unhealthy devices get a taint, for health_taints.h. Pure: the
 * caller passes the time, in ms of any monotonic clock.
 *
 * A device that has been Unhealthy for `after_ms` gets a rule. It keeps the rule until it has been
 * Healthy (or not reported) for `clear_ms`. Unknown changes nothing, because a driver that died
 * has not repaired its device. In each pool at most `percent` of the devices, but at least one,
 * get a rule, first come first served. The others are withheld, so that a faulty driver cannot
 * disable a whole pool.
 *
 * Only devices that are Unhealthy or have a rule have an entry. Threads: one at a time.
 */
#ifndef CONTROLLER_HEALTH_TAINTS_BOOK_H
#define CONTROLLER_HEALTH_TAINTS_BOOK_H

#include "base/core/arena.h"
#include "dra/availability/device_health.h"

struct health_taints_book;

/* Zero means the default. */
struct health_taints_limits {
	int64_t after_ms; /* 10 s */
	int64_t clear_ms; /* 60 s; -1: immediately */
	unsigned percent; /* 50 */
};

struct health_taints_book *health_taints_book_new(const struct health_taints_limits *limits);
void health_taints_book_free(struct health_taints_book *b); /* NULL allowed */

/*
 * Record a device's health, and whether it has a rule. `id` is DRIVER/POOL/DEVICE, as
 * device_health_split_id() reads it; other ids are ignored.
 */
void health_taints_see(struct health_taints_book *b, struct str id, enum device_health health,
		       int64_t now);
void health_taints_rule(struct health_taints_book *b, struct str id, bool there, int64_t now);

/* Whether the device must have a rule now. `pool_devices` is the size of its pool. */
bool health_taints_wants(struct health_taints_book *b, struct str id, size_t pool_devices,
			 int64_t now);

/* The ids of all entries, in `a`, in no particular order. */
size_t health_taints_ids(const struct health_taints_book *b, struct arena *a, struct str **ret_ids);

/*
 * The number of devices that have or will get a rule, and of those withheld by their pool's limit.
 */
size_t health_taints_tainted(const struct health_taints_book *b);
size_t health_taints_withheld(const struct health_taints_book *b);

/* The name of the device's rule, in `a`. */
struct str health_taints_name(struct str id, struct arena *a);

#endif
