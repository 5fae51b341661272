/*
 * SOCK_SEQPACKET: a read returns one message, and a write is taken whole or not at all. The kernel
 * closes descriptors for which the receiver has no room, and says so by MSG_CTRUNC.
 */
#include "net/loop/fd_message.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

union control {
	struct cmsghdr head; /* for its alignment */
	char bytes[CMSG_SPACE(FD_MESSAGE_FDS_MAX * sizeof(int))];
};

int fd_message_pair(int ret_ends[2], struct error *err)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ret_ends) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot make a pair of sockets");
	return 0;
}

void fd_message_close(int *fds, size_t nfds)
{
	for (size_t i = 0; i < nfds; i++) {
		if (fds[i] >= 0)
			(void)close(fds[i]);
		fds[i] = -1;
	}
}

int fd_message_send(int fd, struct str text, const int *fds, size_t nfds, struct error *err)
{
	union control control = { .bytes = { 0 } };
	struct iovec piece = { .iov_base = (void *)(uintptr_t)text.p, .iov_len = text.n };
	struct msghdr m = { .msg_iov = &piece, .msg_iovlen = 1 };

	assert(nfds <= FD_MESSAGE_FDS_MAX);
	if (nfds > 0) {
		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		control.head = (struct cmsghdr){ .cmsg_len = CMSG_LEN(nfds * sizeof(int)),
						 .cmsg_level = SOL_SOCKET,
						 .cmsg_type = SCM_RIGHTS };
		memcpy(CMSG_DATA(&control.head), fds, nfds * sizeof(int));
	}
	if (sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)text.n)
		return 0;
	return error_set_errno(err, errno == EAGAIN ? ERR_TOO_MANY_REQUESTS : ERR_UNAVAILABLE,
			       errno, "cannot send a message");
}

/* Fills ret_fds with the message's descriptors and returns how many there are. */
static size_t take_fds(struct msghdr *m, int ret_fds[static FD_MESSAGE_FDS_MAX])
{
	const struct cmsghdr *c = CMSG_FIRSTHDR(m);
	size_t n;

	if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return 0;
	n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	memcpy(ret_fds, CMSG_DATA(c), n * sizeof(int));
	return n;
}

int fd_message_receive(int fd, struct str *ret_text, char *buf, size_t size, int *ret_fds,
		       size_t nfds, struct error *err)
{
	int fds[FD_MESSAGE_FDS_MAX];
	union control control;
	struct iovec piece = { .iov_base = buf, .iov_len = size };
	struct msghdr m = { .msg_iov = &piece,
			    .msg_iovlen = 1,
			    .msg_control = control.bytes,
			    .msg_controllen = sizeof(control.bytes) };
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	size_t found;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return error_set(err, ERR_UNAVAILABLE, "the other end is closed");
	found = take_fds(&m, fds);
	if (found != nfds || (m.msg_flags & (MSG_TRUNC | MSG_CTRUNC))) {
		fd_message_close(fds, found);
		return error_set(err, ERR_PROTOCOL, "a message of a wrong form");
	}
	for (size_t i = 0; i < found; i++)
		ret_fds[i] = fds[i];
	*ret_text = str_of(buf, (size_t)n);
	return 1;
}
