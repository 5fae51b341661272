/*
 * netns - network namespaces, by file descriptor.
 *
 * A descriptor keeps its namespace alive, and so does a socket made in it.
 * Threads: any; netns_enter() is about the calling one.
 */
#ifndef DRIVERS_NETNS_H
#define DRIVERS_NETNS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* Opens "/var/run/netns/x"; -ERR_NOT_FOUND, -ERR_INVALID when it is something else. */
int netns_open(const char *path, int *ret_fd, struct error *err);
/* The calling thread's own. */
int netns_open_own(int *ret_fd, struct error *err);

/* What tells two namespaces apart (inode); the same for every descriptor of one. */
int netns_id(int fd, uint64_t *ret_id, struct error *err);

/*
 * socket(2) in that namespace: enters it, makes the socket, comes back. Not to be able to come back
 * aborts: the thread would go on in a foreign namespace. `fd` -1: here.
 */
int netns_socket(int fd, int domain, int type, int protocol, int *ret_socket, struct error *err);

/* A new, empty one, for tests and trials. */
int netns_make(int *ret_fd, struct error *err);

#endif
