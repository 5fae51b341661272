/*
 * socket_path - where a driver's sockets are, below the kubelet's folder.
 *
 *	plugins_registry/DRIVER-reg.sock  found by whoever manages the node; answers GetInfo
 *	plugins/DRIVER/dra.sock           DRA and health
 *	device-plugins/NAME.sock          of device plugins, beside kubelet.sock
 *
 * With rolling updates each instance has its own: dra-INSTANCE.sock, and for the first the
 * shortest of upstream's three forms that the kernel takes. Names are upstream's.
 */
#ifndef DRIVERS_PREPARE_SOCKET_PATH_H
#define DRIVERS_PREPARE_SOCKET_PATH_H

#include "base/core/buf.h"
#include "net/loop/addr.h"

/* Bytes of a path, without its NUL. Go programs could use one byte more. */
enum { SOCKET_PATH_MAX = 107 };

/* `instance` may be NULL. -ERR_INVALID when no form is short enough. */
int socket_path_registry(const char *root, const char *driver, const char *instance,
			 struct buf *path, struct error *err);
int socket_path_dra(const char *root, const char *driver, const char *instance, struct buf *path,
		    struct error *err);
int socket_path_plugin(const char *root, const char *name, struct buf *path, struct error *err);

/* The path as an address to listen or connect to. */
int socket_path_addr(struct str path, struct addr *ret_addr, struct error *err);

#endif
