/*
 * pool_args - pools of devices as operands: "resourcepools", "resourcepool NAME..",
 * "pool/NAME", "pool/DRIVER/NAME"; and "devices POOL..", the devices of pools.
 *
 * No server has such types, so that they are looked for in slices; where one has a type of that
 * name, it is meant.
 */
#ifndef CLI_DEVICES_POOL_ARGS_H
#define CLI_DEVICES_POOL_ARGS_H

#include "cli/devices/pools.h"

struct pool_args {
	struct str *names; /* as written; none: all pools */
	size_t n;
	bool devices; /* single devices are asked for */
};

/* 1: pools are asked for; 0: something else is. */
int pool_args_parse(struct kube *k, const struct flag_list *operands, struct pool_args *ret_args,
		    struct error *err);

struct pool_args_found {
	struct device_view view;
	struct device_pool *pools;
	size_t n;
};

/* The pools that are meant; -ERR_NOT_FOUND when a name means none. A name may mean several. */
int pool_args_load(struct kube *k, const struct pool_args *args, bool hidden,
		   struct pool_args_found *ret_found, struct error *err);

#endif
