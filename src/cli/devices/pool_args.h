/*
 * pool_args - pools of devices as operands: "resourcepools", "resourcepool NAME..", "pool/NAME",
 * "pool/DRIVER/NAME"; and "devices POOL..", the devices of pools.
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

/* Finds the pools. Returns -ERR_NOT_FOUND if a name matches none. A name may match several. */
int pool_args_load(struct kube *k, const struct pool_args *args, bool hidden,
		   struct pool_args_found *ret_found, struct error *err);

#endif
