/*
 * device_pools - pools of devices, assembled from their slices.
 *
 * Servers have no object for a pool: it consists of all slices of one driver with one pool name.
 * The status of the pool as a whole (complete, valid) is on its first slice.
 */
#ifndef CLI_DEVICES_POOLS_H
#define CLI_DEVICES_POOLS_H

#include "cli/devices/view.h"

struct device_pool {
	struct str driver, name;
	/* In the view, including those of older generations. */
	const struct device_view_slice *slices;
	size_t n;
	int64_t generation, expected; /* resourceSliceCount */
	size_t observed; /* number of slices of this generation */
	struct str node; /* its name, or <all>, <some> */
	struct device_counts counts; /* of slices of the newest generation */
	const struct json *status; /* poolStatus; or NULL */
	enum device_view_source source; /* of the status */
};

/* In the view's order: by driver and name. The view must have all slices. */
size_t device_pools_make(struct arena *a, const struct device_view *v,
			 struct device_pool **ret_pools);

/*
 * Whether the user's NAME or DRIVER/NAME refers to the pool. Names of pools may have slashes
 * themselves.
 */
bool device_pools_is_called(const struct device_pool *p, struct str word);

/* "True", "False", or "<unknown>" if it is not reported. */
struct str device_pools_condition(const struct device_pool *p, const char *type);

#endif
