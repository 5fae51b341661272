/*
 * log_keeper - rotates the logs of running containers.
 *
 * Every few seconds it rotates logs that have grown too large (logs/rotate.h). If a log is missing,
 * because a rotation was interrupted, it asks the runtime to reopen it. Each log is tried once per
 * round, one after the other. A log that fails waits for the next round and does not delay others.
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
	size_t max_files; /* including the log itself; at least 2 */
	/* Calls log_keeper_add() for the log of each running container. */
	void (*each)(void *arg, struct log_keeper *k);
	void *arg;
	const struct log *log;
};

/* The first round starts after the interval. */
struct log_keeper *log_keeper_new(const struct log_keeper_opts *opts);

/* Call it from `each` only; texts are copied. */
void log_keeper_add(struct log_keeper *k, struct str container_id, struct str path);

/* Starts nothing new, and cancels a rotation that has not changed anything yet. */
void log_keeper_stop(struct log_keeper *k);
/*
 * Whether the runtime has still to reopen the log that was renamed last. Becomes false within some
 * seconds after log_keeper_stop(): the next round, even of another agent, repairs what is left.
 */
bool log_keeper_pending(const struct log_keeper *k);

/* The runtime must be freed, or must not call back any more. NULL allowed. */
void log_keeper_free(struct log_keeper *k);

#endif
