/*
 * dra_driver_impl - the instances behind dra_driver.h. For dra_driver*.c only.
 */
#ifndef NODE_PLUGINS_DRA_DRIVER_IMPL_H
#define NODE_PLUGINS_DRA_DRIVER_IMPL_H

#include "base/core/list.h"
#include "base/ordered/omap.h"
#include "grpc/channel.h"
#include "node/plugins/dra_driver.h"
#include "node/plugins/wire.h"

struct health_stream;

struct dra_drivers {
	struct plugins *p;
	struct omap drivers; /* by name: struct dra_driver, each with at least one instance */
	size_t n; /* number of all instances */
};

struct dra_driver {
	char *name;
	struct list instances; /* in the order of registration: the last is the newest */
};

struct dra_instance {
	struct list link;
	struct dra_driver *driver;
	char *endpoint;
	const struct plugin_wire_dra *service;
	bool health_services[PLUGIN_WIRE_HEALTH]; /* those that it advertises */
	struct grpc_channel *channel;
	struct health_stream *health; /* NULL if this instance is not watched */
};

static inline struct dra_instance *dra_driver_newest(const struct dra_driver *d)
{
	return LIST_ENTRY(d->instances.prev, struct dra_instance, link);
}

#endif
