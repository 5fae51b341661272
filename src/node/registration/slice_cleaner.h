/*
 * slice_cleaner - removes stale ResourceSlices of this node.
 *
 * At the agent's start it removes all slices of the node, as kubelet does: drivers publish theirs
 * again. If a driver's last instance has gone and none has come back within 30 s, it removes that
 * driver's slices. Failures are retried with back-off.
 * Threads: the loop's.
 */
#ifndef NODE_REGISTRATION_SLICE_CLEANER_H
#define NODE_REGISTRATION_SLICE_CLEANER_H

#include "base/core/str.h"

struct client;
struct log;
struct loop;
struct slice_cleaner;

struct slice_cleaner_opts {
	struct loop *loop;
	struct client *client;
	const char *node_name;
	int64_t delay_ms; /* after a driver has gone; 30 s */
	const struct log *log;
};

struct slice_cleaner *slice_cleaner_new(const struct slice_cleaner_opts *opts);
void slice_cleaner_free(struct slice_cleaner *c); /* NULL allowed */

/* A driver has registered, or its last instance has gone. */
void slice_cleaner_driver(struct slice_cleaner *c, struct str driver, bool registered);

/* Removes all slices of this node; called at the start. */
void slice_cleaner_all(struct slice_cleaner *c);

#endif
