/*
 * log_rotate - rotates a log that has grown too large, as kubelet does.
 *
 * LOG is renamed to LOG.20060102-150405 and the runtime opens a new LOG. The oldest of the files
 * rotated earlier are removed, and the others are compressed (.gz). The file rotated last is not
 * compressed, so a client can read it to its end. Compression works in pieces, one per turn.
 * Threads: the loop's.
 */
#ifndef NODE_LOGS_ROTATE_H
#define NODE_LOGS_ROTATE_H

#include "base/core/arena.h"
#include "base/core/error.h"

struct log_rotate;
struct loop;
struct runtime;

/* The files to remove and to compress. Names in the arena. */
struct log_rotate_plan {
	struct str *remove, *compress;
	size_t nremove, ncompress;
};

/*
 * `names` are the files that begin with the log's name and a dot, in any order; `max_files`
 * includes the log itself. Leftovers of an interrupted attempt are removed. Pure.
 */
void log_rotate_plan(const struct str *names, size_t n, size_t max_files, struct arena *a,
		     struct log_rotate_plan *ret_plan);

struct log_rotate_opts {
	struct loop *loop;
	struct runtime *runtime;
	struct str container_id, path; /* copied */
	size_t max_files; /* at least 2 */
	/*
	 * The rotation has ended. After an error the log continues in its old file; earlier files
	 * may be removed or compressed by then. The callback may free it.
	 */
	void (*done)(void *arg, const struct error *err);
	void *arg;
};

/* Starts in the next turn. */
struct log_rotate *log_rotate_new(const struct log_rotate_opts *opts);
/* Whether the log is renamed and the runtime has not confirmed a new one yet. */
bool log_rotate_moved(const struct log_rotate *r);
/*
 * Call it after `done`, while nothing is moved, or when the runtime is gone; in the last case the
 * log gets its name back unless there is a new one. NULL allowed.
 */
void log_rotate_free(struct log_rotate *r);

/* Removes a log and its earlier files. */
void log_rotate_remove(const char *path);
/* Removes the folder of a pod's logs, with its containers'. Links are not followed. */
void log_rotate_remove_pod(const char *folder);

#endif
