/*
 * dra_driver - DRA drivers that are registered: several instances of each, in that order.
 *
 * An instance has its own connection, which is made at once and again when it breaks; it stays
 * registered until its registration socket is gone. Calls go to the newest instance that is
 * connected, or to the newest. Health is that of the newest: when it goes, the one before it is
 * asked; nothing that happens to another instance changes what is known. Only for the files
 * behind plugins.h.
 */
#ifndef NODE_PLUGINS_DRA_DRIVER_H
#define NODE_PLUGINS_DRA_DRIVER_H

#include "base/core/error.h"
#include "base/core/str.h"

struct dra_drivers;
struct grpc_channel;
struct plugins;

/* What a socket in plugins_registry says of itself. */
struct dra_info {
	const char *name, *endpoint;
	char *const *versions;
	size_t nversions;
};

struct dra_drivers *dra_drivers_new(struct plugins *p);
void dra_drivers_free(struct dra_drivers *d); /* NULL allowed */

/* Whether it could be registered; upstream's words. */
int dra_drivers_check(const struct dra_info *info, struct error *err);
/* -ERR_ALREADY_EXISTS when the driver has an instance at that endpoint. */
int dra_drivers_add(struct dra_drivers *d, const struct dra_info *info, struct error *err);
void dra_drivers_remove(struct dra_drivers *d, struct str name, struct str endpoint);

#endif
