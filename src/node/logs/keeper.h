/*
 * log_keeper - looks after the logs of containers that run: every few seconds those that have grown
 * too large are rotated (logs/rotate.h), and one that is missing, as a rotation that was cut short
 * leaves it, is opened anew by the runtime.
 *
 * Each log is tried once per look, one after the other; one that fails waits for the next look and
 * holds up no other.
 * Threads: the loop's.
 */
#ifndef NODE_LOGS_KEEPER_H
#define NODE_LOGS_KEEPER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/str.h"

struct log;
struct log_keeper;
struct loop;
struct runtime;

struct log_keeper_opts {
	struct loop *loop;
	struct runtime *runtime;
	int64_t interval_ms, max_size;
	size_t max_files; /* with the log itself; at least 2 */
	/* Calls log_keeper_add() for the log of each container that runs. */
	void (*each)(void *arg, struct log_keeper *k);
	void *arg;
	const struct log *log;
};

/* The first look is after the interval. */
struct log_keeper *log_keeper_new(const struct log_keeper_opts *opts);

/* From `each` only; texts are copied. */
void log_keeper_add(struct log_keeper *k, struct str container_id, struct str path);

/* Begins nothing more, and gives up what has changed nothing yet. */
void log_keeper_stop(struct log_keeper *k);
/*
 * The runtime has still to open the log that was renamed last. False some seconds after the stop at
 * the latest: the next look, of another agent too, mends what is left.
 */
bool log_keeper_pending(const struct log_keeper *k);

/* The runtime must be gone, or must not call back any more. NULL allowed. */
void log_keeper_free(struct log_keeper *k);

#endif
