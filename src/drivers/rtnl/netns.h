/*
 * netns - network namespaces, by file descriptor.
 *
 * A descriptor keeps its namespace alive, and so does a socket made in it. All descriptors are
 * closed on exec. Codes: ERR_NOT_FOUND, ERR_INVALID (no network namespace), ERR_FORBIDDEN, else
 * ERR_IO.
 * Threads: any. What enters a namespace is about the calling one, which is back on return.
 */
#ifndef DRIVERS_RTNL_NETNS_H
#define DRIVERS_RTNL_NETNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/error.h"

/* Opens "/var/run/netns/x", "/proc/17/ns/net"; -ERR_INVALID when it is something else. */
int netns_open(const char *path, int *ret_fd, struct error *err);
/* The calling thread's own. */
int netns_open_own(int *ret_fd, struct error *err);

/*
 * What tells two namespaces apart (inode); the same for every descriptor of one. The number of one
 * that is gone may be given to another.
 */
int netns_id(int fd, uint64_t *ret_id, struct error *err);

/*
 * socket(2) in that namespace: enters it, makes the socket, comes back. Not to be able to come back
 * aborts: the thread would go on in a foreign namespace. `fd` -1: here.
 */
int netns_socket(int fd, int domain, int type, int protocol, int *ret_socket, struct error *err);

/* A new one with nothing in it but a loopback, for tests and trials; its descriptor keeps it. */
int netns_make(int *ret_fd, struct error *err);

#endif
