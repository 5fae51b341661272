/*
 * dra_driver - registered DRA drivers, each with one or more instances in order of registration.
 *
 * Each instance has its own connection, which is opened at once and reopened when it breaks. It
 * stays registered until its registration socket is gone. Calls go to the newest connected
 * instance, or to the newest if none is connected. Health is watched on the newest instance only
 * (KEP-4680); when that instance goes, the one before it is watched. Events of other instances do
 * not change the reported health. Only for the files behind plugins.h.
 */
#ifndef NODE_PLUGINS_DRA_DRIVER_H
#define NODE_PLUGINS_DRA_DRIVER_H

#include "base/core/error.h"
#include "base/core/str.h"

struct dra_drivers;
struct grpc_channel;
struct plugins;

/* The reply of a socket in plugins_registry to GetInfo. */
struct dra_info {
	const char *name, *endpoint;
	char *const *versions;
	size_t nversions;
};

struct dra_drivers *dra_drivers_new(struct plugins *p);
void dra_drivers_free(struct dra_drivers *d); /* NULL allowed */

/* Checks whether the driver can be registered; the errors are upstream's. */
int dra_drivers_check(const struct dra_info *info, struct error *err);
/* Returns -ERR_ALREADY_EXISTS if the driver has an instance at that endpoint. */
int dra_drivers_add(struct dra_drivers *d, const struct dra_info *info, struct error *err);
void dra_drivers_remove(struct dra_drivers *d, struct str name, struct str endpoint);

#endif
