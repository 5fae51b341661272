/*
 * Each read returns one record. A turn reads a bounded number of them: a kernel that logs without
 * end must not keep the driver from its other work.
 */
#include "drivers/gpu_health/kmsg_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "net/loop/loop.h"

/* The kernel's records have less than 1 KiB of text, which escapes may make four times as long. */
enum { KMSG_RECORD_SIZE = 8192, KMSG_RECORDS_A_TURN = 64 };

struct kmsg_reader {
	int fd;
	struct loop_fd *watch;
	void (*on_xid)(void *arg, const struct kmsg_xid *xid);
	void *arg;
	bool *freed; /* set when on_xid() frees the reader */
};

/* Returns false if there is nothing more to read, or the reader was freed. */
static bool kmsg_reader_take(struct kmsg_reader *r)
{
	char record[KMSG_RECORD_SIZE] UNZEROED;
	ssize_t n = read(r->fd, record, sizeof(record));
	struct kmsg_xid xid;
	bool freed = false;

	/* EPIPE: records were overwritten. The next read returns the oldest one that is left. */
	if (n < 0)
		return errno == EPIPE || errno == EINTR;
	if (n == 0) {
		loop_fd_free(r->watch);
		r->watch = NULL;
		return false;
	}
	if (!kmsg_xid_read(str_of(record, (size_t)n), &xid))
		return true;
	r->freed = &freed;
	r->on_xid(r->arg, &xid);
	if (!freed)
		r->freed = NULL;
	return !freed;
}

static void kmsg_reader_on_readable(void *arg)
{
	for (int i = 0; i < KMSG_RECORDS_A_TURN; i++)
		if (!kmsg_reader_take(arg))
			return;
}

int kmsg_reader_new(struct loop *l, const char *path,
		    void (*on_xid)(void *arg, const struct kmsg_xid *xid), void *arg,
		    struct kmsg_reader **ret_reader, struct error *err)
{
	const char *name = path ? path : "/dev/kmsg";
	struct kmsg_reader *r = XNEW(struct kmsg_reader);
	int rc;

	r->on_xid = on_xid;
	r->arg = arg;
	r->fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (r->fd < 0) {
		rc = error_set_errno(err, ERR_IO, errno, "cannot open the kernel's log %s", name);
		kmsg_reader_free(r);
		return rc;
	}
	(void)lseek(r->fd, 0, SEEK_END);
	rc = loop_fd_new(l, r->fd, kmsg_reader_on_readable, r, &r->watch, err);
	if (rc < 0) {
		kmsg_reader_free(r);
		return rc;
	}
	*ret_reader = r;
	return 0;
}

void kmsg_reader_free(struct kmsg_reader *r)
{
	if (!r)
		return;
	if (r->freed)
		*r->freed = true;
	if (r->watch)
		loop_fd_free(r->watch);
	if (r->fd >= 0)
		(void)close(r->fd);
	free(r);
}
