/*
 * device_groups - partitionable devices counted by what they are: "By profile: 1g.10gb 7 ..".
 *
 * A device that consumes shared counters is one of many ways to cut a larger one, so counts over
 * all of them say little. They are grouped by the attribute that their slice names
 * (spec.partitionTypeAttribute), else by those that a DeviceClass names in the annotation
 * devplane.dev/summary-attributes, separated by commas, as far as a device has them.
 */
#ifndef CLI_DEVICES_GROUPS_H
#define CLI_DEVICES_GROUPS_H

#include "cli/devices/view.h"

#define DEVICE_GROUPS_ANNOTATION "devplane.dev/summary-attributes"

struct device_group {
	struct str type; /* the attribute's value */
	struct device_counts counts;
};

struct device_groups {
	struct str attribute;
	struct device_group *v; /* by type */
	size_t n;
};

/* Some device is partitionable and its slice does not say by what to group. */
bool device_groups_want_classes(const struct device_view_slice *v, size_t n);

/*
 * By attribute. Slices of older generations, and those of which nothing is known, do not count.
 * `classes` is an array of DeviceClasses; or NULL.
 */
size_t device_groups_make(struct arena *a, const struct device_view_slice *v, size_t n,
			  const struct json *classes, struct device_groups **ret_groups);

/*
 * The attribute of that name: a name in the driver's own domain is the same with and without it.
 * NULL when the device has none.
 */
const struct json *device_groups_attribute(const struct json *device, struct str driver,
					   struct str name);

#endif
