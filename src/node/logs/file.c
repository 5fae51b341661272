/*
 * The path is the runtime's file or a symbolic link that it made, so links are followed. A device
 * or a pipe in its place is rejected, because reading it could block for ever.
 */
#include "node/logs/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/core/compiler.h"

enum { BLOCK = 16 * 1024, STEP = 16 /* blocks */ };

int log_file_open(const char *path, int *ret_fd, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0)
		return error_set_errno(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, errno,
				       "failed to open log file \"%s\"", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		(void)close(fd);
		return error_set(err, ERR_IO, "the log \"%s\" is not a file", path);
	}
	*ret_fd = fd;
	return 0;
}

int64_t log_file_size(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? (int64_t)st.st_size : -1;
}

bool log_file_replaced(int fd, const char *path)
{
	struct stat ours, named;

	return fstat(fd, &ours) == 0 && stat(path, &named) == 0 && named.st_size > 0 &&
	       (ours.st_ino != named.st_ino || ours.st_dev != named.st_dev);
}

/*
 * Searches a block backwards for the newline before the last `*lines` lines. Returns the offset
 * after it, or -1 if the block has fewer; *lines is then the rest.
 */
static int64_t search_block(const char *block, size_t n, int64_t *lines)
{
	while (n > 0) {
		const char *at = memrchr(block, '\n', n);

		if (!at)
			return -1;
		n = (size_t)(at - block);
		if ((*lines)-- == 0)
			return (int64_t)n + 1;
	}
	return -1;
}

struct log_file_tail log_file_tail_begin(int fd, int64_t lines)
{
	return (struct log_file_tail){ .lines = lines, .left = log_file_size(fd) };
}

int log_file_tail_step(int fd, struct log_file_tail *t, int64_t *ret_at, struct error *err)
{
	char block[BLOCK];
	int64_t at;
	ssize_t n;

	for (int i = 0; i < STEP && t->left > 0; i++) {
		size_t want = (size_t)MIN(t->left, BLOCK);

		n = pread(fd, block, want, t->left - (int64_t)want);
		if (n != (ssize_t)want)
			return error_set_errno(err, ERR_IO, n < 0 ? errno : 0,
					       "the end of the log cannot be read");
		t->left -= n;
		at = search_block(block, want, &t->lines);
		if (at >= 0) {
			*ret_at = t->left + at;
			return 1;
		}
	}
	if (t->left > 0)
		return 0;
	*ret_at = 0;
	return 1;
}
