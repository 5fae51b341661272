/*
 * pool_args - pools of devices as operands: "resourcepools", "resourcepool NAME..", "pool/NAME",
 * "pool/DRIVER/NAME"; and "devices POOL..", the devices of pools, or "device NAME..", where NAME is
 * DEVICE, POOL/DEVICE or DRIVER/POOL/DEVICE.
 *
 * Servers have no such types, so pools are found in slices. If a server does have a type of that
 * name, the type is used instead.
 */
#ifndef CLI_DEVICES_POOL_ARGS_H
#define CLI_DEVICES_POOL_ARGS_H

#include "cli/devices/pools.h"

struct pool_args {
	struct str *names; /* as typed; none: all pools */
	size_t n;
	bool devices; /* show single devices */
};

/* Returns 1 if the operands name pools, 0 if they name something else. */
int pool_args_parse(struct kube *k, const struct flag_list *operands, struct pool_args *ret_args,
		    struct error *err);

struct pool_args_found {
	struct device_view view;
	struct device_pool *pools;
	size_t n;
};

/*
 * Whether the names select this device of the pool, by the name of either; without names all are
 * selected.
 */
bool pool_args_has_device(const struct pool_args *args, const struct device_pool *p,
			  struct str device);

/*
 * Finds the pools, or the pools of the devices. Returns -ERR_NOT_FOUND if a name matches none. A
 * name may match several.
 */
int pool_args_load(struct kube *k, const struct pool_args *args, bool hidden,
		   struct pool_args_found *ret_found, struct error *err);

#endif
