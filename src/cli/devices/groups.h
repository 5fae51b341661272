/*
 * device_groups - counts partitionable devices by type: "By profile: 1g.10gb 7 ..".
 *
 * A device that consumes shared counters is one of many ways to partition a larger one, so a count
 * of all of them says little. They are grouped by the attribute that their slice names
 * (spec.partitionTypeAttribute). Without it, they are grouped by the attributes that a DeviceClass
 * lists in the annotation devplane.dev/summary-attributes, separated by commas, if the device has
 * them.
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
	struct device_group *v; /* sorted by type */
	size_t n;
};

/* Whether some device is partitionable and its slice names no attribute to group by. */
bool device_groups_want_classes(const struct device_view_slice *v, size_t n);

/*
 * One result per attribute. Slices of older generations, and those without a status, do not count.
 * `classes` is an array of DeviceClasses; or NULL.
 */
size_t device_groups_make(struct arena *a, const struct device_view_slice *v, size_t n,
			  const struct json *classes, struct device_groups **ret_groups);

/*
 * The device's attribute of that name, or NULL. A name in the driver's own domain may have the
 * domain or not.
 */
const struct json *device_groups_attribute(const struct json *device, struct str driver,
					   struct str name);

#endif
