/*
 * plugin_registry - registers the plugins behind the sockets in plugins_registry.
 *
 * The steps are upstream's: dial (10 s), GetInfo (1 s), checks for the plugin type, registration,
 * NotifyRegistrationStatus (5 s). A failed attempt is retried after 0.5 s, and the delay doubles
 * each time up to 2 min 2 s. If a socket is removed, its plugin is deregistered. If a socket is
 * recreated, its plugin is deregistered and registered again at once. Sockets do not wait for each
 * other. Only for the files behind plugins.h.
 */
#ifndef NODE_PLUGINS_REGISTRY_H
#define NODE_PLUGINS_REGISTRY_H

#include "base/core/error.h"

struct plugin_registry;
struct plugins;

struct plugin_registry *plugin_registry_new(struct plugins *p);
/* Whether its folders can be read and watched. */
int plugin_registry_check(const struct plugin_registry *r, struct error *err);
void plugin_registry_free(struct plugin_registry *r); /* NULL allowed */

#endif
