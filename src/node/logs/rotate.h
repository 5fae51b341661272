/*
 * log_rotate - a log that has grown too large makes room for a new one, as kubelet does it.
 *
 * LOG becomes LOG.20060102-150405 and the runtime opens a new LOG. Of files that were rotated
 * before the oldest are removed, and those that stay are compressed (.gz); so the one that was
 * rotated last is still as it was when somebody reads it to its end. Files are compressed in
 * pieces, a turn each.
 * Threads: the loop's.
 */
#ifndef NODE_LOGS_ROTATE_H
#define NODE_LOGS_ROTATE_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct log_rotate;
struct loop;
struct runtime;

/* What is to be done with the files that a log has become before. Names in the arena. */
struct log_rotate_plan {
	struct str *remove, *compress;
	size_t nremove, ncompress;
};

/*
 * `names` are those that begin with the log's and a dot, in any order; `max_files` counts the log
 * itself. What an earlier attempt left half-way is removed. Pure.
 */
void log_rotate_plan(const struct str *names, size_t n, size_t max_files, struct arena *a,
		     struct log_rotate_plan *ret_plan);

struct log_rotate_opts {
	struct loop *loop;
	struct runtime *runtime;
	struct str container_id, path; /* copied */
	size_t max_files; /* at least 2 */
	/*
	 * Over. With an error the log goes on where it was; files of earlier rotations may be
	 * removed or compressed by then. May free it.
	 */
	void (*done)(void *arg, const struct error *err);
	void *arg;
};

/* Begins in the next turn. */
struct log_rotate *log_rotate_new(const struct log_rotate_opts *opts);
/* The log is renamed and the runtime has not said yet that it goes on with a new one. */
bool log_rotate_moved(const struct log_rotate *r);
/*
 * After `done`, while nothing is moved, or when the runtime is gone: then the log gets its name
 * back unless there is a new one. NULL allowed.
 */
void log_rotate_free(struct log_rotate *r);

/* A log and what it has become. */
void log_rotate_remove(const char *path);
/* The folder of a pod's logs, with its containers'. Links are not followed. */
void log_rotate_remove_pod(const char *folder);

#endif
