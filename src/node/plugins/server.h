/*
 * plugin_server - the Registration service of device plugins, on device-plugins/kubelet.sock.
 *
 * At start it removes every socket in the folder, so that plugins of an earlier agent notice and
 * register again. Other files stay. The socket is an own_socket.h. Only for the files behind
 * plugins.h.
 */
#ifndef NODE_PLUGINS_SERVER_H
#define NODE_PLUGINS_SERVER_H

#include "base/core/error.h"

struct plugin_server;
struct plugins;

int plugin_server_new(struct plugins *p, struct plugin_server **ret_server, struct error *err);

/*
 * Closes the server; `done` is called once its connections are closed, or at once if the server is
 * NULL.
 */
void plugin_server_close(struct plugin_server *s, void (*done)(void *arg), void *arg);

#endif
