/*
 * device_plugin_impl - the endpoints behind device_plugin.h. For device_plugin*.c only.
 */
#ifndef NODE_PLUGINS_DEVICE_PLUGIN_IMPL_H
#define NODE_PLUGINS_DEVICE_PLUGIN_IMPL_H

#include "base/core/list.h"
#include "base/ordered/omap.h"
#include "grpc/channel.h"
#include "net/loop/loop.h"
#include "node/plugins/device_plugin.h"

struct device_plugins {
	struct plugins *p;
	/* by name: struct device_resource, each with at least one endpoint */
	struct omap resources;
	struct list connecting; /* endpoints that have no resource yet */
	size_t n; /* number of all endpoints */
};

struct device_resource {
	char *name;
	struct list endpoints; /* in the order of connection: the last is the newest */
};

struct device_endpoint {
	struct list link; /* in `connecting`, or in its resource */
	struct device_plugins *owner;
	struct device_resource *of; /* NULL while it connects */
	char *resource, *socket;
	struct grpc_channel *channel;
	struct grpc_call *call; /* for its options, then its lists; NULL: no call runs */
	struct str list; /* its latest list, packed; p is NULL: none yet */
	struct loop_timer dial; /* runs until the socket answers */
	bool prestart, preferred; /* its options */
	bool closed;
	struct error failure; /* reported at the end of the turn */
	struct loop_task task; /* reports the failure; if closed, frees the memory */
	device_connect_done *done;
	void *arg;
};

/* Returns the endpoint that gets calls; NULL if none is connected. */
struct device_endpoint *device_plugins_newest(const struct device_plugins *d, struct str resource);

#endif
