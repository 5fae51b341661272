/*
 * plugin_server - the Registration service of device plugins, on device-plugins/kubelet.sock.
 *
 * At start every socket in the folder is removed, so that plugins of an earlier agent notice and
 * register again; other files stay. The socket is an own_socket.h. Only for the files behind
 * plugins.h.
 */
#ifndef NODE_PLUGINS_SERVER_H
#define NODE_PLUGINS_SERVER_H

#include "base/core/error.h"

struct plugin_server;
struct plugins;

int plugin_server_new(struct plugins *p, struct plugin_server **ret_server, struct error *err);

/*
 * Ends it; `done` comes once its connections are closed. With NULL for the server it comes at
 * once.
 */
void plugin_server_close(struct plugin_server *s, void (*done)(void *arg), void *arg);

#endif
