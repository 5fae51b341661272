/*
 * device_holds - which claims hold which device, as committed.
 *
 * A result of a claim's allocation (status.allocation.devices.results) holds its device, unless it
 * has admin access. With a shareID it holds a share: shares of one device exclude nobody but a
 * claim that wants the device to itself. The index follows the ResourceClaims of the state as an
 * observer, so it is as current as state_revision(). A change of a claim costs a walk
 * through its text, and more only if the results differ.
 *
 * Writes under way are not in it: a write that takes a device has the device's name as a guard
 * (state.h), and the next one waits for it.
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
	struct str share; /* shareID; empty: nobody else may hold the device */
	size_t place; /* in results */
};

/*
 * The devices that a list of results holds, in the arena; the list may be NULL. A device may be
 * there several times. Text is borrowed from the tree, but for `device`.
 */
size_t device_uses(const struct json *results, struct arena *a, struct device_use **ret_uses);

/* status.allocation.devices.results of a claim; NULL: there is none. */
const struct json *device_results(const struct json *claim);

/* A claim that holds a device. */
struct device_hold {
	struct str claim; /* "namespace/name" */
	/* Private. */
	struct list link; /* holds of the same device */
	struct device *device;
	struct device_hold *next; /* of the same claim */
};

struct device_holds *device_holds_new(void);
void device_holds_free(struct device_holds *h); /* NULL allowed */

/* What it must be told of; `h` must outlive the state. */
struct state_observer device_holds_observer(struct device_holds *h);

/* Another claim than `claim` ("namespace/name") whose hold excludes the use; NULL: none. */
const struct device_hold *device_holds_find(const struct device_holds *h,
					    const struct device_use *use, struct str claim);

#endif
