/*
 * Reading and replacing files as a whole. Replacing is: a temporary one in the same folder, synced,
 * renamed over the old one, and the folder synced, so that not even a power
 * cut shows a half-written checkpoint or key.
 */
#include "base/system/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEEP UINT_MAX /* a user or group: leave it as it is */

static int file_read_all(int fd, const char *path, struct buf *content, struct error *err)
{
	char piece[16 * 1024];
	ssize_t n;

	while ((n = read(fd, piece, sizeof(piece))) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set_errno(err, ERR_IO, errno, "cannot read %s", path);
		if (buf_add(content, piece, (size_t)n) < 0)
			return error_set(err, ERR_TOO_LARGE, "%s is larger than %zu bytes", path,
					 content->max);
	}
	return 0;
}

int file_read(const char *path, struct buf *content, struct error *err)
{
	int fd, r;

	if (strcmp(path, "-") == 0)
		return file_read_all(STDIN_FILENO, "standard input", content, err);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return error_set_errno(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno,
				       "cannot read %s", path);
	r = file_read_all(fd, path, content, err);
	(void)close(fd);
	return r;
}

static int file_write_all(int fd, struct str content)
{
	while (content.n) {
		ssize_t n = write(fd, content.p, content.n);

		if (n < 0 && errno != EINTR)
			return -1;
		content = str_skip(content, (size_t)MAX(n, (ssize_t)0));
	}
	return 0;
}

/* mkostemp() made it 0600, so it is never readable too widely before the fchmod. */
static int fill_file(int fd, struct str content, unsigned mode, unsigned uid, unsigned gid)
{
	if (file_write_all(fd, content) < 0)
		return -1;
	if ((uid != KEEP || gid != KEEP) && fchown(fd, uid, gid) < 0)
		return -1;
	return fchmod(fd, mode) < 0 ? -1 : fsync(fd);
}

static int sync_folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	char folder[PATH_MAX];
	int fd, r;

	(void)snprintf(folder, sizeof(folder), "%.*s", slash ? (int)(slash - path) + 1 : 1,
		       slash ? path : ".");
	fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	r = fsync(fd);
	(void)close(fd);
	return r;
}

int file_write_atomic_for(const char *path, struct str content, unsigned mode, unsigned uid,
			  unsigned gid, struct error *err)
{
	char temporary[PATH_MAX];
	int fd, failed, n;

	n = snprintf(temporary, sizeof(temporary), "%s.XXXXXX", path);
	if (n < 0 || (size_t)n >= sizeof(temporary))
		return error_set_errno(err, ERR_IO, ENAMETOOLONG, "cannot write %s", path);
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot write %s", path);
	failed = fill_file(fd, content, mode, uid, gid) < 0 ? errno : 0;
	if (close(fd) < 0 && !failed)
		failed = errno;
	if (!failed && rename(temporary, path) < 0)
		failed = errno;
	if (failed) {
		(void)unlink(temporary);
		return error_set_errno(err, ERR_IO, failed, "cannot write %s", path);
	}
	if (sync_folder_of(path) < 0)
		return error_set_errno(err, ERR_IO, errno, "cannot sync the folder of %s", path);
	return 0;
}

int file_write_atomic(const char *path, struct str content, unsigned mode, struct error *err)
{
	return file_write_atomic_for(path, content, mode, KEEP, KEEP, err);
}

/* "PREFIX*.json.XXXXXX" */
static bool is_temporary(struct str name, struct str prefix)
{
	static const size_t tail = 7;

	if (name.n <= prefix.n + tail - 1 || !str_starts(name, prefix) ||
	    name.p[name.n - tail] != '.')
		return false;
	for (size_t i = name.n - tail + 1; i < name.n; i++)
		if (!str_is_alnum(name.p[i]))
			return false;
	return str_ends(str_of(name.p, name.n - tail), STR(".json"));
}

void file_sweep(const char *folder, const char *prefix)
{
	DIR *d = opendir(folder);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (is_temporary(str_from(e->d_name), str_from(prefix)))
			(void)unlinkat(dirfd(d), e->d_name, 0);
	if (d)
		(void)closedir(d);
}
