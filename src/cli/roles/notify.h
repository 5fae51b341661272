/*
 * notify - notifies the service manager that started the program.
 *
 * systemd's protocol: a datagram of "NAME=VALUE" lines to the socket that $NOTIFY_SOCKET names, a
 * path or "@" and a name in the abstract namespace. Best effort: if there is no such socket, or it
 * cannot be reached, the program continues.
 */
#ifndef CLI_ROLES_NOTIFY_H
#define CLI_ROLES_NOTIFY_H

#include <sys/socket.h>
#include <sys/un.h>

struct notify {
	struct sockaddr_un address;
	socklen_t size; /* 0: no service manager */
};

/*
 * Reads $NOTIFY_SOCKET and removes it from the environment, so that child processes cannot notify
 * in its place. Call it before threads are started.
 */
void notify_init(struct notify *n);

/* Sends the lines; never blocks. */
void notify_send(const struct notify *n, const char *lines);

#endif
