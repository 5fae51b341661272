/*
 * up_log - the log of one role: a file of limited size. At UP_LOG_MAX bytes it is renamed to
 * FILE.1, replacing the previous one, and a new file begins.
 *
 * Every line is JSON with "ts", "level" and "msg". Any other output of a role is converted to
 * that.
 */
#ifndef CLI_UP_LOG_H
#define CLI_UP_LOG_H

#include "base/core/error.h"
#include "base/core/str.h"

#define UP_LOG_MAX INT64_C(8388608) /* 8 MiB */

struct clock;

/*
 * Renames FILE to FILE.1 and makes `fd`, which was open for it, a new FILE. If that fails, for
 * example because the disk is full, nothing changes.
 */
int up_log_rotate(const char *path, int fd);

struct up_log {
	const char *path; /* borrowed */
	int fd; /* -1: closed */
	int64_t size;
};

int up_log_open(struct up_log *l, const char *path, struct error *err);
void up_log_close(struct up_log *l);

/*
 * Writes one line, given without its newline. A failed write is ignored, as there is nowhere to
 * report it.
 */
void up_log_line(struct up_log *l, struct str line, const struct clock *clock);

/* Whether a line is already in the log's format. */
bool up_log_is_json(struct str line);

#endif
