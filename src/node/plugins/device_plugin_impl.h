/*
 * device_plugin_impl - endpoints from the inside. For device_plugin*.c only.
 */
#ifndef NODE_PLUGINS_DEVICE_PLUGIN_IMPL_H
#define NODE_PLUGINS_DEVICE_PLUGIN_IMPL_H

#include "base/core/list.h"
#include "base/core/omap.h"
#include "grpc/channel.h"
#include "net/loop/loop.h"
#include "node/plugins/device_plugin.h"

struct device_plugins {
	struct plugins *p;
	struct omap resources; /* by name: struct device_resource, never empty */
	struct list connecting; /* endpoints that are no resource's yet */
	size_t n; /* endpoints in all */
};

struct device_resource {
	char *name;
	struct list endpoints; /* connected, in that order: the last is the newest */
};

struct device_endpoint {
	struct list link; /* in `connecting` or of its resource */
	struct device_plugins *owner;
	struct device_resource *of; /* NULL while it connects */
	char *resource, *socket;
	struct grpc_channel *channel;
	struct grpc_call *call; /* for its options, then its lists; NULL: none runs */
	struct str list; /* its latest, packed; p is NULL: it has sent none */
	struct loop_timer dial; /* runs until the socket has answered */
	bool prestart, preferred; /* its options */
	bool closed;
	struct error failure; /* told at the end of the turn */
	struct loop_task task; /* tells it; when closed, frees the memory */
	device_connect_done *done;
	void *arg;
};

/* The one that is asked; NULL: none is connected. */
struct device_endpoint *device_plugins_newest(const struct device_plugins *d, struct str resource);

#endif
