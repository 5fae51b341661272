/*
 * notify - a word to the service manager that started the program.
 *
 * systemd's protocol: a datagram of "NAME=VALUE" lines to the socket that
 * $NOTIFY_SOCKET names, a path or "@" and a name in the abstract namespace.
 * Nobody waiting, or nobody reachable, is no error: the work goes on.
 */
#ifndef CLI_ROLES_NOTIFY_H
#define CLI_ROLES_NOTIFY_H

#include <sys/socket.h>
#include <sys/un.h>

struct notify {
	struct sockaddr_un address;
	socklen_t size; /* 0: nobody waits */
};

/*
 * Reads $NOTIFY_SOCKET and takes it out of the environment: what the program
 * starts must not speak for it. Before threads are started.
 */
void notify_init(struct notify *n);

/* Sends the lines; never blocks. */
void notify_send(const struct notify *n, const char *lines);

#endif
