/*
 * log_file - the file of a container's log: opened, its last lines found, its replacement noticed.
 */
#ifndef NODE_LOGS_FILE_H
#define NODE_LOGS_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/error.h"

/* A regular file, for reading; -ERR_NOT_FOUND when there is none. */
int log_file_open(const char *path, int *ret_fd, struct error *err);

/* A search for the last lines, from the end of the file. */
struct log_file_tail {
	int64_t lines; /* still to be found */
	int64_t left; /* bytes that were not looked at */
};

/* The last `lines` lines. A line without its end is not counted, as kubelet does it. */
struct log_file_tail log_file_tail_begin(int fd, int64_t lines);

/*
 * Looks at a few hundred KiB more. 1 and where those lines begin, which is 0 when the file has no
 * more of them; 0 when the search goes on.
 */
int log_file_tail_step(int fd, struct log_file_tail *t, int64_t *ret_at, struct error *err);

/*
 * The path names another file than the one that is open, and something is in it. While it is empty
 * the runtime may not use it yet: a busy one goes on with the old file.
 */
bool log_file_replaced(int fd, const char *path);

/* Bytes in it; -1 when that cannot be told. */
int64_t log_file_size(int fd);

#endif
