/*
 * device_holds - an index of the devices that committed claims hold, and of what slices offer.
 *
 * A result in a claim's allocation (status.allocation.devices.results) holds its device, unless
 * it has admin access. A result with a shareID holds a share: shares exclude only a claim that
 * wants the whole device. The index follows the state's ResourceClaims and ResourceSlices as an
 * observer, so it is as current as state_revision(). A changed claim costs two scans of its text,
 * and more only if its results differ.
 *
 * The index is an inventory: it sums up consumed capacity and counters as the allocator does.
 *
 * Pending writes are not in the index. A write that takes a device uses the device's name as a
 * guard (state.h), and the next such write waits for it.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_PLUGINS_DEVICE_HOLDS_H
#define SERVER_PLUGINS_DEVICE_HOLDS_H

#include <stddef.h>

#include "base/core/str.h"

struct arena;
struct device_holds;
struct inventory;
struct json;
struct state_observer;

/* One device that a claim holds. */
struct device_use {
	struct str device; /* "driver/pool/device"; neither driver nor device has a '/' */
	struct str driver, pool, name;
	struct str share; /* shareID; empty: an exclusive hold */
	size_t place; /* index in results */
};

/*
 * The devices that a list of results holds, in the arena. The list may be NULL; a device may
 * occur several times. `device` is allocated, other texts are borrowed from the tree.
 */
size_t device_uses(const struct json *results, struct arena *a, struct device_use **ret_uses);

/* status.allocation.devices.results of a claim; NULL if absent. */
const struct json *device_results(const struct json *claim);

struct device_holds *device_holds_new(void);
void device_holds_free(struct device_holds *h); /* NULL allowed */

enum { DEVICE_HOLDS_OBSERVERS = 2 };

/* Sets the observers to pass to the state, DEVICE_HOLDS_OBSERVERS; `h` must outlive the state. */
void device_holds_observe(struct device_holds *h, struct state_observer *ret_observers);

/*
 * Finds a claim other than `claim` ("namespace/name") whose hold excludes the use, and returns its
 * "namespace/name", borrowed until the index changes. Empty if not found.
 */
struct str device_holds_find(const struct device_holds *h, const struct device_use *use,
			     struct str claim);

/* The inventory of committed claims, and of devices that are not simply held once. */
struct inventory *device_holds_inventory(const struct device_holds *h);

#endif
