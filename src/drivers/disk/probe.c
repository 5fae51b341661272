/*
 * A round is a number of threads that share one counter of blocks, so that together they access the
 * device sequentially. They check the clock after each block, so a round ends in time within one
 * block.
 */
#include "drivers/disk/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/fs.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/core/clock.h"
#include "base/core/queue.h"
#include "drivers/disk/book.h"

enum {
	BLOCK = 1024 * 1024,
	ALIGN = 4096, /* maximal alignment that O_DIRECT requires */
	DEPTH_MAX = 8,
	ROUNDS = 4, /* depths 1, 2, 4, 8 */
};

#define WRITE_SIZE (INT64_C(256) * BLOCK) /* of the file; overwritten again and again */

struct round {
	int fd;
	bool write;
	const _Atomic bool *cancel; /* or NULL */
	int64_t blocks; /* number of blocks of the target */
	int64_t until; /* monotonic ns */
	_Atomic int64_t next; /* next block; keeps counting beyond the end */
	_Atomic int64_t bytes;
	_Atomic int failed; /* errno of the first failure, or 0 */
};

/* --- one round ------------------------------------------------------------------------------- */

static int64_t probe_now_ns(void)
{
	return clock_monotonic(clock_system());
}

static void probe_work(void *arg)
{
	struct round *r = arg;
	void *block = NULL;

	if (posix_memalign(&block, ALIGN, BLOCK) != 0) {
		atomic_store(&r->failed, ENOMEM);
		return;
	}
	memset(block, 0x5a, BLOCK);
	while (probe_now_ns() < r->until && !atomic_load(&r->failed)) {
		if (r->cancel && atomic_load(r->cancel))
			atomic_store(&r->failed, ECANCELED);
		off_t at = (off_t)(atomic_fetch_add(&r->next, 1) % r->blocks) * BLOCK;
		ssize_t n = r->write ? pwrite(r->fd, block, BLOCK, at)
				     : pread(r->fd, block, BLOCK, at);

		if (n <= 0)
			atomic_store(&r->failed, n < 0 ? errno : EIO);
		else
			atomic_fetch_add(&r->bytes, n);
	}
	free(block);
}

/* Measures bytes per second with `depth` requests in parallel. */
static int run_round(struct round *r, int depth, int64_t duration, double *ret_rate,
		     struct error *err)
{
	struct thread threads[DEPTH_MAX];
	int64_t start = probe_now_ns(), end;
	int started = 0, n = 0;

	r->until = start + duration;
	atomic_store(&r->bytes, 0);
	while (started < depth && n == 0) {
		n = thread_start(&threads[started], "disk-probe", probe_work, r, err);
		if (n == 0)
			started++;
	}
	if (n < 0)
		atomic_store(&r->failed, EAGAIN);
	while (started > 0)
		thread_join(&threads[--started]);
	if (r->write && fdatasync(r->fd) < 0)
		atomic_store(&r->failed, errno);
	end = probe_now_ns();
	*ret_rate = (double)atomic_load(&r->bytes) * (double)CLOCK_SEC / (double)(end - start);
	return n;
}

static int run_rounds(struct round *r, int64_t duration, const char *path, int64_t *ret_rate,
		      struct error *err)
{
	double best = 0, rate = 0;
	int failed;

	for (int depth = 1; depth <= DEPTH_MAX; depth *= 2) {
		int n = run_round(r, depth, duration / ROUNDS, &rate, err);

		if (n < 0)
			return n;
		failed = atomic_load(&r->failed);
		if (failed == ECANCELED)
			return error_set(err, ERR_CANCELED, "the probe of %s was cancelled", path);
		if (failed)
			return error_set_errno(err, ERR_IO, failed, "cannot %s %s past the cache",
					       r->write ? "write" : "read", path);
		best = MAX(best, rate);
	}
	*ret_rate = (int64_t)best;
	if (*ret_rate <= 0)
		return error_set(err, ERR_IO, "no data was read from %s in that time", path);
	return 0;
}

/* --- reads ----------------------------------------------------------------------------------- */

/* A name without a slash is a device, even if a file of that name exists. */
static int open_target(const char *target, char path[static PATH_MAX], int *ret_fd,
		       struct error *err)
{
	bool name = !strchr(target, '/');
	struct stat st;

	(void)snprintf(path, PATH_MAX, "%s%s", name ? "/dev/" : "", target);
	for (char *c = name ? path + 5 : path; name && *c; c++)
		if (*c == '!')
			*c = '/';
	if (stat(path, &st) == 0 && !S_ISBLK(st.st_mode) && !S_ISREG(st.st_mode))
		return error_set(err, ERR_INVALID, "%s is neither a block device nor a file", path);
	*ret_fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (*ret_fd >= 0)
		return 0;
	if (errno == EINVAL)
		return error_set(err, ERR_INVALID,
				 "cannot read %s without the page cache: its filesystem does not "
				 "support O_DIRECT",
				 path);
	if (errno == ENOENT)
		return error_set(err, ERR_INVALID,
				 "%s does not exist; name a device such as sda, or the path of a "
				 "file",
				 path);
	return error_set_errno(err, ERR_INVALID, errno, "cannot open %s", path);
}

/* The number of whole blocks, and the device number of the target or of its file system. */
static int measure_target(int fd, const char *path, int64_t *ret_blocks, dev_t *ret_device,
			  struct error *err)
{
	struct stat st;
	uint64_t size = 0;

	if (fstat(fd, &st) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot look at %s", path);
	if (S_ISBLK(st.st_mode)) {
		if (ioctl(fd, BLKGETSIZE64, &size) < 0)
			return error_set_errno(err, ERR_IO, errno, "cannot get the size of %s",
					       path);
		*ret_device = st.st_rdev;
	} else {
		size = (uint64_t)st.st_size;
		*ret_device = st.st_dev;
	}
	*ret_blocks = (int64_t)(size / BLOCK);
	if (*ret_blocks == 0)
		return error_set(err, ERR_INVALID, "%s has %" PRIu64 " bytes, less than 1 MiB",
				 path, size);
	return 0;
}

static int name_device(const struct disk_host *h, dev_t device, const char *path,
		       struct disk_capacity *c, struct error *err)
{
	if (disk_host_name_of(h, major(device), minor(device), c->device))
		return 0;
	return error_set(err, ERR_INVALID, "%s is not on a block device listed in %s/block", path,
			 h->sys_root);
}

static int probe_reads(const struct disk_probe_opts *o, struct disk_capacity *c, struct error *err)
{
	struct round round = { .cancel = o->cancel };
	char path[PATH_MAX];
	dev_t device = 0;
	int r = open_target(o->target, path, &round.fd, err);

	if (r < 0)
		return r;
	r = measure_target(round.fd, path, &round.blocks, &device, err);
	if (r == 0)
		r = name_device(o->host, device, path, c, err);
	if (r == 0)
		r = run_rounds(&round, o->duration_ns, path, &c->read, err);
	(void)close(round.fd);
	return r;
}

/* --- writes ---------------------------------------------------------------------------------- */

static int open_new(const char *path, int *ret_fd, struct error *err)
{
	*ret_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, 0600);
	if (*ret_fd < 0 && errno == EEXIST)
		return error_set(err, ERR_ALREADY_EXISTS,
				 "%s already exists; name a new file on the disk", path);
	if (*ret_fd < 0)
		return error_set_errno(err, ERR_INVALID, errno,
				       "cannot make %s to be written past the cache", path);
	/* From here on the file vanishes when we exit. */
	(void)unlink(path);
	return 0;
}

static int probe_writes(const struct disk_probe_opts *o, struct disk_capacity *c, struct error *err)
{
	struct round round = { .write = true, .cancel = o->cancel, .blocks = WRITE_SIZE / BLOCK };
	struct disk_capacity on = { 0 };
	struct stat st;
	int r = open_new(o->write, &round.fd, err);

	if (r < 0)
		return r;
	if (fstat(round.fd, &st) < 0)
		r = error_set_errno(err, ERR_IO, errno, "cannot look at %s", o->write);
	else if (fallocate(round.fd, 0, 0, WRITE_SIZE) < 0)
		r = error_set_errno(err, ERR_IO, errno, "no room for 256 MiB in %s", o->write);
	if (r == 0)
		r = name_device(o->host, st.st_dev, o->write, &on, err);
	if (r == 0 && o->target && strcmp(on.device, c->device) != 0)
		r = error_set(err, ERR_INVALID, "%s is on %s, and %s on %s", o->target, c->device,
			      o->write, on.device);
	if (r == 0)
		r = run_rounds(&round, o->duration_ns, o->write, &c->write, err);
	if (r == 0)
		memcpy(c->device, on.device, sizeof(c->device));
	(void)close(round.fd);
	return r;
}

int disk_probe_run(const struct disk_probe_opts *opts, struct disk_capacity *ret_found,
		   struct error *err)
{
	struct disk_capacity c = { 0 };
	int r = opts->target ? probe_reads(opts, &c, err) : 0;

	if (r == 0 && opts->write)
		r = probe_writes(opts, &c, err);
	if (r == 0)
		*ret_found = c;
	return r;
}

int disk_probe_keep(const char *root_dir, const struct disk_capacity *found, int64_t time,
		    struct error *err)
{
	struct disk_book book;
	int r;

	disk_book_init(&book);
	(void)disk_book_load(&book, root_dir, NULL);
	(void)disk_book_note(&book, found, time);
	r = disk_book_save(&book, root_dir, err);
	disk_book_release(&book);
	return r < 0 ? error_wrap(err, r, "cannot save the result") : 0;
}
