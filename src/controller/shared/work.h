/*
 * work - what a controller does for one key of its queue: requests, one after the other.
 *
 * A controller's own structure for a key begins with a `struct work`. The queue's handler makes it
 * with work_new(). From then on the key is being handled, until work_end(). Threads: the client's
 * loop.
 */
#ifndef CONTROLLER_SHARED_WORK_H
#define CONTROLLER_SHARED_WORK_H

#include "base/core/arena.h"
#include "base/core/list.h"
#include "client/api/client.h"

struct log;
struct workqueue;

struct work {
	struct works *of;
	struct str key; /* borrowed from the queue until the end */
	struct arena arena;
	struct client_request request; /* its `arg` is the work; canceled at the end */
	struct list link; /* private */
};

/* All work of one queue that is under way. Embed it. */
struct works {
	struct workqueue *queue;
	const struct log *log;
	const char *label; /* of the key in log lines */
	void (*release)(struct work *w);
	struct list all;
};

/* `release` cancels and frees what the controller's structure has besides the work; or NULL. */
void works_init(struct works *s, struct workqueue *queue, const struct log *log, const char *label,
		void (*release)(struct work *w));

/* Cancels and frees all work, without notifying the queue. */
void works_release(struct works *s);

/* `size` zeroed bytes, which begin with a `struct work`. */
void *work_new(struct works *s, size_t size, struct str key);

/* Cancels and frees it. The queue then forgets the key's failures, or with `again` retries it. */
void work_end(struct work *w, bool again);

/*
 * Logs the failure, then retries. At debug level if it is expected (a conflict, or a missing
 * object): the server was ahead of our copy.
 */
void work_fail(struct work *w, const char *what, const struct error *err);

/* Only logs it. */
void work_log(const struct work *w, const char *what, const struct error *err);

#endif
