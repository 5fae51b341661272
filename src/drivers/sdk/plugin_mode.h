/*
 * plugin_mode - a device plugin: its socket beside kubelet.sock, and its registration there.
 *
 * Registers when kubelet.sock appears, and again whenever it is another one: a kubelet that starts
 * removes all sockets of the folder, ours too, which is then made anew first.
 */
#ifndef DRIVERS_SDK_PLUGIN_MODE_H
#define DRIVERS_SDK_PLUGIN_MODE_H

#include "base/core/error.h"

struct dp_driver;
struct plugin_mode;

int plugin_mode_start(struct dp_driver *d, struct plugin_mode **ret_mode, struct error *err);
/* `done` is called later, once. */
void plugin_mode_stop(struct plugin_mode *m, void (*done)(void *arg), void *arg);
void plugin_mode_free(struct plugin_mode *m); /* after `done`; NULL allowed */

#endif
