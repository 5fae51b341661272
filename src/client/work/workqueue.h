/*
 * workqueue - keys that want work, each worked on by one handler at a time.
 *
 * The rules are those of client-go's workqueue: a key that is added while it
 * waits is there once; one that is added while its handler runs is handled
 * again afterwards; keys come in the order in which they were added. A key may
 * be added after a delay, and after a failure with a delay that grows with
 * each failure of that key and that keeps all retries together at a rate.
 *
 * A handler is asynchronous: it is called with a key, does what it does, and
 * some time later says workqueue_done() or workqueue_finish(). At most
 * `workers` keys are between the two. Handlers are started from the loop,
 * never from within workqueue_add().
 *
 * Memory: a key costs its text and 160 bytes while it waits, is worked on or
 * has failures to its name. The number of keys is the caller's business: they
 * name objects that he holds.
 * Threads: belongs to its loop.
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
	unsigned workers; /* handlers at work at once; 1 */
	/*
	 * Works on the key, which is borrowed until it is done. May say so before it
	 * returns. Must not free the queue.
	 */
	void (*handle)(void *arg, struct str key);
	void *arg;
	/* A key's delay after its n-th failure in a row is base * 2^n, up to the most. */
	int64_t backoff_base_ms; /* 5 */
	int64_t backoff_max_ms; /* 1000 s */
	double retries_per_s; /* of all keys together; 10; negative: no limit */
	double retries_burst; /* 100 */
	struct metrics *metrics; /* workqueue_* as client-go names them; or NULL */
};

struct workqueue *workqueue_new(const struct workqueue_opts *opts);

/* Handlers that still run must not call it any more. NULL allowed. */
void workqueue_free(struct workqueue *q);

/* All copy the key, and do nothing once it is shutting down. */
void workqueue_add(struct workqueue *q, struct str key);

/* Of several delays of one key the one that ends first counts. */
void workqueue_add_after(struct workqueue *q, struct str key, int64_t delay_ms);

/* Counts a failure of the key and adds it after the delay that this makes. */
void workqueue_add_rate_limited(struct workqueue *q, struct str key);

/* The key's failures are forgotten: it is as if it had never failed. */
void workqueue_forget(struct workqueue *q, struct str key);
unsigned workqueue_num_requeues(const struct workqueue *q, struct str key);

/* The key's handler is finished. If it was added meanwhile, it waits again. */
void workqueue_done(struct workqueue *q, struct str key);

/* What most handlers end with: forget, or try again with a rate limit; then done. */
void workqueue_finish(struct workqueue *q, struct str key, bool again);

/* While it is held no handler is started; keys may be added. */
void workqueue_hold(struct workqueue *q, bool held);

/* Keys that wait for a handler; those that wait for their time do not count. */
size_t workqueue_len(const struct workqueue *q);
/* Keys whose handler runs. */
size_t workqueue_running(const struct workqueue *q);

/*
 * Adds nothing any more and drops what waits for its time. With `drain` what is
 * queued is still handled, without it is dropped. `done` (or NULL) is called
 * once, from the loop, when no handler runs and none is to be started. A second
 * call without drain ends a draining.
 */
void workqueue_shut_down(struct workqueue *q, bool drain, void (*done)(void *arg), void *arg);

#endif
