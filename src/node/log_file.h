/*
 * log_file - the file of a container's log: opened, its last lines found, its replacement noticed.
 */
#ifndef NODE_LOG_FILE_H
#define NODE_LOG_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"

/* A regular file, for reading; -ERR_NOT_FOUND when there is none. */
int log_file_open(const char *path, int *ret_fd, struct error *err);

/*
 * Where the last `lines` lines begin, found from the end; 0 when it has no more than those. A line
 * without its end is not counted, as kubelet does it.
 */
int log_file_tail(int fd, int64_t lines, int64_t *ret_at, struct error *err);

/* The path names another file than the one that is open. False, too, when it names none. */
bool log_file_replaced(int fd, const char *path);

/* Bytes in it; -1 when that cannot be told. */
int64_t log_file_size(int fd);

#endif
