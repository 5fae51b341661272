/*
 * plugin_registry - sockets in plugins_registry: asks each what it is, registers it, tells it so.
 *
 * As upstream: dial (10 s), GetInfo (1 s), the checks of its type, registration,
 * NotifyRegistrationStatus (5 s). What fails is tried again after 0.5 s, then twice as long each
 * time, up to 2 min 2 s. A socket that is gone is deregistered; one that is made anew is
 * deregistered and begins again at once. Sockets do not wait for each other. Only for the files
 * behind plugins.h.
 */
#ifndef NODE_PLUGINS_REGISTRY_H
#define NODE_PLUGINS_REGISTRY_H

struct plugin_registry;
struct plugins;

struct plugin_registry *plugin_registry_new(struct plugins *p);
void plugin_registry_free(struct plugin_registry *r); /* NULL allowed */

#endif
