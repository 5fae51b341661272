/*
 * device_plugin - connected device plugins: one endpoint per resource and socket.
 *
 * The agent connects to an endpoint, asks for its options, and then receives lists of devices until
 * the stream ends. An endpoint whose stream has ended must register again. If a resource has
 * several endpoints (a rolling update), the newest is used: it gets the allocation calls, and its
 * list is the resource's. The agent keeps the latest list of each other endpoint, in case that
 * endpoint becomes the newest. Upstream takes every list, whichever endpoint sends it, and keeps
 * the list of an endpoint that has gone. Only for the files behind plugins.h.
 */
#ifndef NODE_PLUGINS_DEVICE_PLUGIN_H
#define NODE_PLUGINS_DEVICE_PLUGIN_H

#include "base/core/error.h"
#include "base/core/str.h"

struct device_endpoint;
struct device_plugins;
struct plugins;

struct device_plugins *device_plugins_new(struct plugins *p);
/* Calls `done` with an error for endpoints that are still connecting. NULL allowed. */
void device_plugins_free(struct device_plugins *d);

/* Checks a resource name; the errors are upstream's. */
int device_plugins_check_name(struct str name, struct error *err);

/*
 * Connects to a plugin. `done` is called once, not from within, with err NULL when the plugin has
 * sent its options, or with the failure. It is not called after a cancel. The endpoint is borrowed
 * until then.
 */
typedef void device_connect_done(void *arg, const struct error *err);
struct device_endpoint *device_plugins_connect(struct device_plugins *d, struct str resource,
					       const char *socket, device_connect_done *done,
					       void *arg);
void device_endpoint_cancel(struct device_endpoint *e);

/* Ends the endpoint, if it exists, as if its stream had ended. */
void device_plugins_disconnect(struct device_plugins *d, struct str resource, struct str socket);

#endif
