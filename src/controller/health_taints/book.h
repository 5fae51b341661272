/*
 * health_taints_book - which unhealthy devices are to be tainted: the decisions of health_taints.h.
 * Pure: time is a parameter, in ms of any clock that does not go back.
 *
 * A device that has been Unhealthy for `after_ms` wants a rule, and keeps it until it has been
 * something else for `clear_ms`. Unknown changes nothing: a driver that died has not repaired its
 * device. In each pool at most `percent` of the devices, and at least one, get a rule, first come
 * first served; the others are withheld, so that a driver that lies cannot take all of a pool.
 *
 * An entry exists for devices that are Unhealthy or have a rule, and for no others.
 * Threads: one at a time.
 */
#ifndef CONTROLLER_HEALTH_TAINTS_BOOK_H
#define CONTROLLER_HEALTH_TAINTS_BOOK_H

#include "base/core/arena.h"
#include "dra/availability/device_health.h"

struct health_taints_book;

/* Zero means the default. */
struct health_taints_limits {
	int64_t after_ms; /* 10 s */
	int64_t clear_ms; /* 60 s; -1: at once */
	unsigned percent; /* 50 */
};

struct health_taints_book *health_taints_book_new(const struct health_taints_limits *limits);
void health_taints_book_free(struct health_taints_book *b); /* NULL allowed */

/* `id` is DRIVER/POOL/DEVICE, as device_health_split_id() reads it; others are ignored. */
void health_taints_see(struct health_taints_book *b, struct str id, enum device_health health,
		       int64_t now);
void health_taints_rule(struct health_taints_book *b, struct str id, bool there, int64_t now);

/* Whether the device is to have a rule now; its pool has so many devices. */
bool health_taints_wants(struct health_taints_book *b, struct str id, size_t pool_devices,
			 int64_t now);

/* Ids of all entries, in `a`, in no order. */
size_t health_taints_ids(const struct health_taints_book *b, struct arena *a, struct str **ret_ids);

/* How many devices have or will get a rule; how many get none because of their pool's limit. */
size_t health_taints_tainted(const struct health_taints_book *b);
size_t health_taints_withheld(const struct health_taints_book *b);

/* The name of the device's rule, in `a`. */
struct str health_taints_name(struct str id, struct arena *a);

#endif
