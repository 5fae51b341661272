/*
 * fd_message - messages with file descriptors, between two processes of this machine.
 *
 * A pair of Unix sockets keeps the boundaries of messages. The receiver states how many descriptors
 * a message has; any other message is an error, and its descriptors are closed.
 * Threads: none of its own; a socket belongs to its user.
 */
#ifndef NET_LOOP_FD_MESSAGE_H
#define NET_LOOP_FD_MESSAGE_H

#include "base/core/error.h"
#include "base/core/str.h"

enum { FD_MESSAGE_FDS_MAX = 4 };

/* Two connected sockets, which do not block and are closed on exec. */
int fd_message_pair(int ret_ends[2], struct error *err);

/* -ERR_TOO_MANY_REQUESTS if the other end reads too slowly; -ERR_UNAVAILABLE if it is gone. */
int fd_message_send(int fd, struct str text, const int *fds, size_t nfds, struct error *err);

/*
 * Reads one message into `buf`; the caller closes ret_fds. Returns 1, 0 if no message is here yet,
 * -ERR_UNAVAILABLE if the other end is gone, or -ERR_PROTOCOL for a message of another form.
 */
int fd_message_receive(int fd, struct str *ret_text, char *buf, size_t size, int *ret_fds,
		       size_t nfds, struct error *err);

void fd_message_close(int *fds, size_t nfds);

#endif
