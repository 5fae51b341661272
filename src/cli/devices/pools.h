/*
 * device_pools - pools of devices, made from the slices that they consist of.
 *
 * No server has an object for a pool: it is all slices of one driver with one pool name. What is
 * known of it as a whole (complete, valid) is on its first slice.
 */
#ifndef CLI_DEVICES_POOLS_H
#define CLI_DEVICES_POOLS_H

#include "cli/devices/view.h"

struct device_pool {
	struct str driver, name;
	const struct device_view_slice *slices; /* of the view; also those of older generations */
	size_t n;
	int64_t generation, expected; /* resourceSliceCount */
	size_t observed; /* slices of this generation */
	struct str node; /* its name, or <all>, <some> */
	struct device_counts counts; /* of slices of the newest generation */
	const struct json *status; /* poolStatus; or NULL */
	enum device_view_source source; /* of it */
};

/* In the view's order: by driver and name. The view must have all slices. */
size_t device_pools_make(struct arena *a, const struct device_view *v,
			 struct device_pool **ret_pools);

/*
 * Whether NAME or DRIVER/NAME, as a person writes it, means the pool. Names of pools may have
 * slashes themselves.
 */
bool device_pools_is_called(const struct device_pool *p, struct str word);

/* "True", "False", or "<unknown>" when nobody has said. */
struct str device_pools_condition(const struct device_pool *p, const char *type);

#endif
