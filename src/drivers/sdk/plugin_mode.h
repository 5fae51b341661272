/*
 * plugin_mode - a device plugin: its socket beside kubelet.sock, and its registration there.
 *
 * Registers when kubelet.sock appears, and again whenever the file is replaced. A kubelet that
 * starts removes all sockets in the folder, including ours, so ours is created again before
 * registering.
 */
#ifndef DRIVERS_SDK_PLUGIN_MODE_H
#define DRIVERS_SDK_PLUGIN_MODE_H

#include "base/core/error.h"

struct dp_driver;
struct plugin_mode;

int plugin_mode_start(struct dp_driver *d, struct plugin_mode **ret_mode, struct error *err);
/* Calls `done` once, later. */
void plugin_mode_stop(struct plugin_mode *m, void (*done)(void *arg), void *arg);
void plugin_mode_free(struct plugin_mode *m); /* after `done`; NULL allowed */

#endif
