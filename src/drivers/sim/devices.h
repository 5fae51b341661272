/*
 * vendor_devices - the simulated devices of a driver: the node's, parts of them, and those of a
 * pool that several nodes reach.
 *
 * The devices of that pool, "fabric", are the same on every node. One node's driver publishes them;
 * all of them prepare them.
 */
#ifndef DRIVERS_SIM_DEVICES_H
#define DRIVERS_SIM_DEVICES_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "drivers/sim/kind.h"

#define VENDOR_FABRIC "fabric"

/* Set by the caller, before vendor_devices_make(). Text is borrowed. */
struct vendor_layout {
	const struct vendor_kind *kind;
	const char *driver, *node;
	const char *pool; /* of the node's devices; NULL: the node's pool */
	unsigned devices, numa_nodes;
	bool partitions; /* GPUs can be divided */
	bool shares; /* several claims may share a device */
	unsigned fabric; /* devices of the common pool */
	const char *fabric_publisher; /* the node whose driver publishes them; NULL: this one */
	const char *fabric_label; /* "NAME=VALUE" of the nodes that reach them; NULL: all nodes */
};

struct vendor_devices {
	struct vendor_layout layout;
	struct vendor_device *v;
	size_t n;
};

/* -ERR_INVALID for a layout that cannot be. */
int vendor_layout_check(const struct vendor_layout *l, bool plugin, struct error *err);

void vendor_devices_make(struct vendor_devices *d, const struct vendor_layout *l);
void vendor_devices_release(struct vendor_devices *d);

/* Passes all devices that are plugged in to the SDK. */
int vendor_devices_publish(const struct vendor_devices *d, struct dp_driver *driver,
			   struct error *err);

/* Returns NULL if not found. */
struct vendor_device *vendor_devices_find(const struct vendor_devices *d, struct str name);

/* The pool of a device, as the SDK takes it. */
const char *vendor_devices_pool(const struct vendor_devices *d, const struct vendor_device *v);

/* Whether a command for the device `name` is for `v` as well: "all", itself, or its GPU. */
bool vendor_device_is_meant(const struct vendor_device *v, struct str name);

#endif
