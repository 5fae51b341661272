/*
 * Redefines the functions of libc that LMDB writes with. They call the kernel directly, so it does
 * not matter if other code has redefined them as well.
 */
#include "store/lmdb/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/core/mem.h"
#include "base/core/vec.h"

enum { META_BYTES = 8192, FDS = 256, SECTOR = 512 };

static struct {
	bool watching, recording;
	dev_t dev;
	ino_t ino, second; /* second 0: none */
	enum lmdb_fault fault;
	size_t skip, struck;
	bool told[FDS]; /* descriptors that have reported the failed sync */
	VEC(struct lmdb_op) ops;
} world;

static void forget_ops(void)
{
	for (size_t i = 0; i < world.ops.n; i++)
		free(world.ops.v[i].data);
	vec_release(&world.ops);
	vec_init(&world.ops, SIZE_MAX / sizeof(struct lmdb_op));
}

void lmdb_faults_watch(const char *path)
{
	struct stat st;

	forget_ops();
	world.watching = path && stat(path, &st) == 0;
	world.recording = false;
	world.second = 0;
	lmdb_faults_set(LMDB_FAULT_NONE, 0);
	if (!world.watching)
		return;
	world.dev = st.st_dev;
	world.ino = st.st_ino;
}

void lmdb_faults_watch_second(const char *path)
{
	struct stat st;

	world.second = stat(path, &st) == 0 && st.st_dev == world.dev ? st.st_ino : 0;
}

void lmdb_faults_set(enum lmdb_fault fault, size_t skip)
{
	world.fault = fault;
	world.skip = skip;
	world.struck = 0;
	memset(world.told, 0, sizeof(world.told));
}

size_t lmdb_faults_struck(void)
{
	return world.struck;
}

void lmdb_faults_record(bool on)
{
	world.recording = on;
}

static void add_op(const struct lmdb_op *from, const void *data)
{
	struct lmdb_op op = *from;
	size_t n = op.n;

	if (n) {
		op.data = xmalloc(n);
		memcpy(op.data, data, n);
	}
	(void)vec_push(&world.ops, op);
}

void lmdb_faults_mark(int64_t value)
{
	if (world.recording)
		add_op(&(struct lmdb_op){ .kind = LMDB_OP_MARK, .at = value }, NULL);
}

const struct lmdb_op *lmdb_faults_ops(size_t *ret_n)
{
	*ret_n = world.ops.n;
	return world.ops.v;
}

/* --- intercepted calls ------------------------------------------------------------- */

/* Which of the watched files it is: 0 or 1; -1: none. */
static int file_of(int fd)
{
	struct stat st;

	if (!world.watching || fstat(fd, &st) < 0 || st.st_dev != world.dev)
		return -1;
	if (st.st_ino == world.ino)
		return 0;
	return st.st_ino == world.second ? 1 : -1;
}

static bool is_watched(int fd)
{
	return file_of(fd) == 0;
}

static void record_second(int fd, const struct lmdb_op *op, const void *data)
{
	if (world.recording && file_of(fd) == 1)
		add_op(op, data);
}

/* Whether this is the current fault and it occurs now. */
static bool strikes(enum lmdb_fault fault)
{
	if (world.fault != fault)
		return false;
	if (world.skip) {
		world.skip--;
		return false;
	}
	world.struck++;
	return true;
}

static ssize_t write_at(int fd, const void *p, size_t n, off_t at)
{
	struct lmdb_op op = { .kind = LMDB_OP_WRITE, .file = 1, .at = at, .n = n };
	bool meta = at < META_BYTES;

	if (!is_watched(fd)) {
		record_second(fd, &op, p);
		return syscall(SYS_pwrite64, fd, p, n, at);
	}
	if ((!meta && strikes(LMDB_FAULT_FULL)) || (meta && strikes(LMDB_FAULT_META))) {
		errno = meta ? EIO : ENOSPC;
		return -1;
	}
	if (!meta && n > SECTOR && strikes(LMDB_FAULT_SHORT))
		n = SECTOR;
	op.file = 0;
	op.n = n;
	if (world.recording)
		add_op(&op, p);
	return syscall(SYS_pwrite64, fd, p, n, at);
}

static int sync_fd(int fd, long call)
{
	struct lmdb_op op = { .kind = LMDB_OP_SYNC, .file = 1 };

	if (!is_watched(fd)) {
		record_second(fd, &op, NULL);
		return (int)syscall(call, fd);
	}
	if (fd < FDS && !world.told[fd] && strikes(LMDB_FAULT_SYNC)) {
		world.told[fd] = true;
		errno = EIO;
		return -1;
	}
	if (!world.recording)
		return (int)syscall(call, fd);
	op.file = 0;
	add_op(&op, NULL);
	return 0;
}

/* Defined by symbol, because the size of off_t decides which of the two "pwrite" means in C. */
ssize_t lmdb_faults_pwrite(int fd, const void *p, size_t n, off_t at) __asm__("pwrite");
ssize_t lmdb_faults_pwrite64(int fd, const void *p, size_t n, off_t at) __asm__("pwrite64");

ssize_t lmdb_faults_pwrite(int fd, const void *p, size_t n, off_t at)
{
	return write_at(fd, p, n, at);
}

ssize_t lmdb_faults_pwrite64(int fd, const void *p, size_t n, off_t at)
{
	return write_at(fd, p, n, at);
}

/* LMDB seeks before it calls this; separate writes have the same effect. */
ssize_t writev(int fd, const struct iovec *iov, int count)
{
	off_t at = is_watched(fd) ? lseek(fd, 0, SEEK_CUR) : -1;
	ssize_t total = 0, n;

	if (at < 0)
		return syscall(SYS_writev, fd, iov, count);
	for (int i = 0; i < count; i++) {
		n = write_at(fd, iov[i].iov_base, iov[i].iov_len, at + total);
		if (n < 0)
			return total ? total : -1;
		total += n;
		if ((size_t)n < iov[i].iov_len)
			break;
	}
	(void)lseek(fd, at + total, SEEK_SET);
	return total;
}

int fdatasync(int fd)
{
	return sync_fd(fd, SYS_fdatasync);
}

int fsync(int fd)
{
	return sync_fd(fd, SYS_fsync);
}
