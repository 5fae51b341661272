/*
 * log_file - a container's log file: opens it, finds its last lines, detects its replacement.
 */
#ifndef NODE_LOGS_FILE_H
#define NODE_LOGS_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/error.h"

/* Opens a regular file for reading; -ERR_NOT_FOUND if it does not exist. */
int log_file_open(const char *path, int *ret_fd, struct error *err);

/* A search for the last lines, from the end of the file. */
struct log_file_tail {
	int64_t lines; /* still to be found */
	int64_t left; /* bytes not searched yet */
};

/* Searches for the last `lines` lines. As in kubelet, an unfinished last line is not counted. */
struct log_file_tail log_file_tail_begin(int fd, int64_t lines);

/*
 * Searches a few hundred KiB more. Returns 1 and the offset of those lines (0 if the file has
 * fewer), or 0 if the search must go on.
 */
int log_file_tail_step(int fd, struct log_file_tail *t, int64_t *ret_at, struct error *err);

/*
 * Whether the path names another file than the open one, and that file is not empty. While it is
 * empty, a busy runtime may still write to the old file.
 */
bool log_file_replaced(int fd, const char *path);

/* Size in bytes; -1 if unknown. */
int64_t log_file_size(int fd);

#endif
