/*
 * device_plugin - the device plugins that are connected: one endpoint per resource and socket.
 *
 * An endpoint connects, is asked for its options, and then sends lists of devices until its stream
 * ends, which is the end of it: it must register again. If a resource has several endpoints (a
 * rolling update), the newest counts: it is asked for allocations, and its list is the resource's.
 * The agent keeps the latest list of each other endpoint, in case that endpoint becomes the
 * newest. Upstream takes every list, whichever endpoint sends it, and keeps that of an endpoint
 * that has gone. Only for the files behind plugins.h.
 */
#ifndef NODE_PLUGINS_DEVICE_PLUGIN_H
#define NODE_PLUGINS_DEVICE_PLUGIN_H

#include "base/core/error.h"
#include "base/core/str.h"

struct device_endpoint;
struct device_plugins;
struct plugins;

struct device_plugins *device_plugins_new(struct plugins *p);
/* Those that connect are told that they failed. NULL allowed. */
void device_plugins_free(struct device_plugins *d);

/* Texts as upstream's; `name` is a resource's. */
int device_plugins_check_name(struct str name, struct error *err);

/*
 * Connects to a plugin: `done` comes once, not from within, when it has told its options (NULL) or
 * failed, unless it is cancelled before. The endpoint is borrowed until then.
 */
typedef void device_connect_done(void *arg, const struct error *err);
struct device_endpoint *device_plugins_connect(struct device_plugins *d, struct str resource,
					       const char *socket, device_connect_done *done,
					       void *arg);
void device_endpoint_cancel(struct device_endpoint *e);

/* Ends the endpoint, if it is there, as the end of its stream would. */
void device_plugins_disconnect(struct device_plugins *d, struct str resource, struct str socket);

#endif
