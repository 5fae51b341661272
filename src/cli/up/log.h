/*
 * up_log - the log of one role: a file that is bounded. At UP_LOG_MAX bytes it becomes FILE.1, in
 * the place of the one before, and a new one begins.
 *
 * Every line is JSON with "ts", "level" and "msg": what a role prints otherwise is made so.
 */
#ifndef CLI_UP_LOG_H
#define CLI_UP_LOG_H

#include "base/core/error.h"
#include "base/core/str.h"

#define UP_LOG_MAX INT64_C(8388608) /* 8 MiB */

struct clock;

/*
 * FILE becomes FILE.1, and `fd`, which was open for it, a new FILE. Where that fails, as on a full
 * disk, all stays as it was.
 */
int up_log_rotate(const char *path, int fd);

struct up_log {
	const char *path; /* borrowed */
	int fd; /* -1: closed */
	int64_t size;
};

int up_log_open(struct up_log *l, const char *path, struct error *err);
void up_log_close(struct up_log *l);

/* One line, without its end. Failing to write is ignored: there is nowhere to tell it. */
void up_log_line(struct up_log *l, struct str line, const struct clock *clock);

/* Whether a line is one of a role's log. */
bool up_log_is_json(struct str line);

#endif
