/*
 * socket_path - the paths of a driver's sockets, in the kubelet's folder.
 *
 *	plugins_registry/DRIVER-reg.sock  discovered by the kubelet or node agent; serves GetInfo
 *	plugins/DRIVER/dra.sock           DRA and health
 *	device-plugins/NAME.sock          device plugins, beside kubelet.sock
 *
 * With rolling updates each instance has its own sockets: dra-INSTANCE.sock, and for registration
 * the first of upstream's three forms that is short enough for the kernel. All names are
 * upstream's.
 */
#ifndef DRIVERS_PREPARE_SOCKET_PATH_H
#define DRIVERS_PREPARE_SOCKET_PATH_H

#include "base/core/buf.h"
#include "net/loop/addr.h"

/* Maximal length without the NUL. Go programs could use one byte more. */
enum { SOCKET_PATH_MAX = 107 };

/* `instance` may be NULL. Returns -ERR_INVALID if no form is short enough. */
int socket_path_registry(const char *root, const char *driver, const char *instance,
			 struct buf *path, struct error *err);
int socket_path_dra(const char *root, const char *driver, const char *instance, struct buf *path,
		    struct error *err);
int socket_path_plugin(const char *root, const char *name, struct buf *path, struct error *err);

/* Converts the path to an address to listen on or connect to. */
int socket_path_addr(struct str path, struct addr *ret_addr, struct error *err);

#endif
