/*
 * workqueue - a queue of keys; each key is handled by one handler at a time.
 *
 * The rules are those of client-go's workqueue. A key that is added while it waits is queued once.
 * A key that is added while its handler runs is handled again afterwards. Keys are handled in the
 * order in which they were added. A key may be added with a delay. After a failure it may be added
 * with a back-off that grows with each failure of that key; a rate limit covers the retries of all
 * keys.
 *
 * A handler is asynchronous: it is called with a key, and later it calls workqueue_done() or
 * workqueue_finish(). At most `workers` keys are being handled at a time. The loop starts
 * handlers, never workqueue_add() itself.
 *
 * Memory: a key costs its text and 160 bytes while it waits, is being handled or has failures. The
 * queue does not limit the number of keys: they name objects that the caller holds. Threads:
 * belongs to its loop.
 */
#ifndef CLIENT_WORK_WORKQUEUE_H
#define CLIENT_WORK_WORKQUEUE_H

#include "base/core/str.h"

struct loop;
struct metrics;
struct workqueue;

/* Zero means the default. */
struct workqueue_opts {
	struct loop *loop;
	const char *name; /* the label of its metrics; required with `metrics` */
	unsigned workers; /* concurrent handlers; 1 */
	/*
	 * Handles the key, which is borrowed until it is done. May finish it before returning. Must
	 * not free the queue.
	 */
	void (*handle)(void *arg, struct str key);
	void *arg;
	/* A key's delay after its n-th consecutive failure is base * 2^n, up to the maximum. */
	int64_t backoff_base_ms; /* 5 */
	int64_t backoff_max_ms; /* 1000 s */
	double retries_per_s; /* for all keys together; 10; negative: no limit */
	double retries_burst; /* 100 */
	struct metrics *metrics; /* workqueue_* as client-go names them; or NULL */
};

struct workqueue *workqueue_new(const struct workqueue_opts *opts);

/* Handlers that still run must not use the queue afterwards. NULL allowed. */
void workqueue_free(struct workqueue *q);

/* The functions that add a key copy it. */
void workqueue_add(struct workqueue *q, struct str key);

/* If a key has several delays, the one that ends first counts. */
void workqueue_add_after(struct workqueue *q, struct str key, int64_t delay_ms);

/* Counts a failure of the key and adds it after the resulting back-off. */
void workqueue_add_rate_limited(struct workqueue *q, struct str key);

/* Resets the key's failure count. */
void workqueue_forget(struct workqueue *q, struct str key);
unsigned workqueue_num_requeues(const struct workqueue *q, struct str key);

/* The key's handler has finished. If the key was added meanwhile, it is queued again. */
void workqueue_done(struct workqueue *q, struct str key);

/* How most handlers end: forget the failures, or retry with a rate limit; then done. */
void workqueue_finish(struct workqueue *q, struct str key, bool again);

/* While it is held, no handler is started; keys may still be added. */
void workqueue_hold(struct workqueue *q, bool held);

/* The number of keys that wait for a handler, without those that wait for a delay. */
size_t workqueue_len(const struct workqueue *q);
/* The number of keys whose handler runs. */
size_t workqueue_running(const struct workqueue *q);

#endif
