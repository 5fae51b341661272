/*
 * netns - network namespaces, by file descriptor.
 *
 * A descriptor keeps its namespace alive, and so does a socket created in it. All descriptors are
 * close-on-exec. Errors: ERR_NOT_FOUND, ERR_INVALID (not a network namespace), ERR_FORBIDDEN, else
 * ERR_IO.
 * Threads: any. Functions that enter a namespace do so for the calling thread, and return to its
 * own.
 */
#ifndef DRIVERS_RTNL_NETNS_H
#define DRIVERS_RTNL_NETNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/error.h"

/* Opens "/var/run/netns/x" or "/proc/17/ns/net". Returns -ERR_INVALID for any other file. */
int netns_open(const char *path, int *ret_fd, struct error *err);
/* Opens the calling thread's namespace. */
int netns_open_own(int *ret_fd, struct error *err);

/*
 * A number that identifies the namespace (its inode), the same for all its descriptors. After the
 * namespace is gone, the number may be reused.
 */
int netns_id(int fd, uint64_t *ret_id, struct error *err);

/*
 * socket(2) in that namespace: enters it, creates the socket, and returns. Aborts if it cannot
 * return, since the thread would continue in a foreign namespace. `fd` -1: the current namespace.
 */
int netns_socket(int fd, int domain, int type, int protocol, int *ret_socket, struct error *err);

/*
 * Creates an empty namespace with only a loopback, for tests and probes. The descriptor keeps it
 * alive.
 */
int netns_make(int *ret_fd, struct error *err);

#endif
