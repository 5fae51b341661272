/*
 * device_holds - an index of the committed claims that hold each device.
 *
 * A result in a claim's allocation (status.allocation.devices.results) holds its device, unless
 * it has admin access. A result with a shareID holds a share: shares exclude only a claim that
 * wants the whole device. The index follows the state's ResourceClaims as an observer, so it is
 * as current as state_revision(). A changed claim costs one scan of its text, and more only if
 * its results differ.
 *
 * Pending writes are not in the index. A write that takes a device uses the device's name as a
 * guard (state.h), and the next such write waits for it.
 *
 * Threads: the state's loop.
 */
#ifndef SERVER_PLUGINS_DEVICE_HOLDS_H
#define SERVER_PLUGINS_DEVICE_HOLDS_H

#include <stddef.h>

#include "base/core/list.h"
#include "base/core/str.h"

struct arena;
struct device;
struct device_holds;
struct json;
struct state_observer;

/* One device that a claim holds. */
struct device_use {
	struct str device; /* "driver/pool/device"; neither driver nor device has a '/' */
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

/* A claim that holds a device. */
struct device_hold {
	struct str claim; /* "namespace/name" */
	/* Private. */
	struct list link; /* in the list of holds of the same device */
	struct device *device;
	struct device_hold *next; /* the next hold of the same claim */
};

struct device_holds *device_holds_new(void);
void device_holds_free(struct device_holds *h); /* NULL allowed */

/* The observer to pass to the state; `h` must outlive the state. */
struct state_observer device_holds_observer(struct device_holds *h);

/*
 * Finds a claim other than `claim` ("namespace/name") whose hold excludes the use. NULL if not
 * found.
 */
const struct device_hold *device_holds_find(const struct device_holds *h,
					    const struct device_use *use, struct str claim);

#endif
