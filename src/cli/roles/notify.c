/*
 * The socket is opened for each message: a process sends only two.
 */
#include "cli/roles/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void notify_init(struct notify *n)
{
	const char *name = getenv("NOTIFY_SOCKET");
	size_t length = name ? strlen(name) : 0;

	*n = (struct notify){ .address = { .sun_family = AF_UNIX } };
	/* Other kinds, such as "vsock:", are for whole virtual machines. */
	if (length > 1 && length < sizeof(n->address.sun_path) && strchr("/@", name[0])) {
		memcpy(n->address.sun_path, name, length);
		if (name[0] == '@')
			n->address.sun_path[0] = '\0';
		n->size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length);
	}
	(void)unsetenv("NOTIFY_SOCKET");
}

void notify_send(const struct notify *n, const char *lines)
{
	int fd;

	if (n->size == 0)
		return;
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return;
	(void)sendto(fd, lines, strlen(lines), MSG_NOSIGNAL, (const struct sockaddr *)&n->address,
		     n->size);
	(void)close(fd);
}
