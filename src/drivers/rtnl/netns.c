/*
 * Enters a namespace and returns, on the calling thread only. Nothing but one system call runs in
 * between. The descriptor for the return is opened first, so returning fails only if the kernel
 * refuses what it just allowed.
 */
#include "drivers/rtnl/netns.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Not /proc/self, which is the main thread's. */
static const char own_path[] = "/proc/thread-self/ns/net";

static enum error_code code_of(int errnum)
{
	switch (errnum) {
	case ENOENT:
	case ENOTDIR:
		return ERR_NOT_FOUND;
	case EPERM:
	case EACCES:
		return ERR_FORBIDDEN;
	case EBADF:
	case EINVAL:
		return ERR_INVALID;
	default:
		return ERR_IO;
	}
}

static bool is_netns(int fd)
{
	struct statfs st;

	return fstatfs(fd, &st) == 0 && (unsigned long)st.f_type == NSFS_MAGIC &&
	       ioctl(fd, NS_GET_NSTYPE) == CLONE_NEWNET;
}

int netns_open(const char *path, int *ret_fd, struct error *err)
{
	/* The path may be anything, so do not block on a FIFO. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return error_set_errno(err, code_of(errno), errno, "open network namespace %s",
				       path);
	if (!is_netns(fd)) {
		(void)close(fd);
		return error_set(err, ERR_INVALID, "%s is not a network namespace", path);
	}
	*ret_fd = fd;
	return 0;
}

int netns_open_own(int *ret_fd, struct error *err)
{
	return netns_open(own_path, ret_fd, err);
}

int netns_id(int fd, uint64_t *ret_id, struct error *err)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return error_set_errno(err, code_of(errno), errno, "stat network namespace");
	*ret_id = st.st_ino;
	return 0;
}

/* Aborts on failure: in the wrong namespace we would change somebody else's interfaces. */
static void come_back(int own)
{
	if (setns(own, CLONE_NEWNET) < 0)
		abort();
	(void)close(own);
}

static int make_socket(int domain, int type, int protocol, int *ret_socket, struct error *err)
{
	int fd = socket(domain, type | SOCK_CLOEXEC, protocol);

	if (fd < 0)
		return error_set_errno(err, code_of(errno), errno, "make a socket");
	*ret_socket = fd;
	return 0;
}

int netns_socket(int fd, int domain, int type, int protocol, int *ret_socket, struct error *err)
{
	int own, r;

	if (fd < 0)
		return make_socket(domain, type, protocol, ret_socket, err);
	r = netns_open_own(&own, err);
	if (r < 0)
		return r;
	if (setns(fd, CLONE_NEWNET) < 0) {
		r = error_set_errno(err, code_of(errno), errno, "enter network namespace");
		(void)close(own);
		return r;
	}
	r = make_socket(domain, type, protocol, ret_socket, err);
	come_back(own);
	return r;
}

int netns_make(int *ret_fd, struct error *err)
{
	int own, r;

	r = netns_open_own(&own, err);
	if (r < 0)
		return r;
	if (unshare(CLONE_NEWNET) < 0) {
		r = error_set_errno(err, code_of(errno), errno, "make a network namespace");
		(void)close(own);
		return r;
	}
	r = netns_open_own(ret_fd, err);
	come_back(own);
	return r;
}
