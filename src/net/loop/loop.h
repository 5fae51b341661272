/*
 * loop - one thread's event loop: timers, messages, signals, folders, descriptors, children.
 *
 * loop_new() makes a real one on libuv; sim.h makes loops in a seeded, simulated world with its own
 * time. All code that waits uses this interface, so both work alike. Sockets are in conn.h and
 * listener.h.
 *
 * In each turn the loop waits, calls the callbacks for all events, and runs deferred tasks, at the
 * latest after all callbacks. Time stands still within a turn.
 * Threads: everything belongs to the loop's own thread, except loop_post() and loop_stop(), which
 * any thread may call.
 */
#ifndef NET_LOOP_LOOP_H
#define NET_LOOP_LOOP_H

#include <stdint.h>

#include "base/core/clock.h"
#include "base/core/error.h"
#include "base/core/list.h"
#include "base/core/queue.h"
#include "base/core/random.h"
#include "base/core/str.h"

struct loop;

int loop_new(struct loop **ret_loop, struct error *err);

/* Everything opened on it must have been closed. NULL allowed. */
void loop_free(struct loop *l);

/* Runs turns until loop_stop(). May be run again. */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);

/* Monotonic milliseconds of this turn. */
int64_t loop_now(const struct loop *l);
const struct clock *loop_clock(const struct loop *l);

/* For jitter and the like; reproducible in a simulation. */
struct prng *loop_prng(struct loop *l);

/* The outbuf that the connections of this loop use, one after the other. */
struct outbuf;
struct outbuf *loop_outbuf(struct loop *l);

/* Memory for short-lived objects of each request. NULL without a loop, which keeps nothing. */
struct recycler;
struct recycler *loop_recycler(struct loop *l);

/* --- timers ------------------------------------------------------------- */

/*
 * Embed it; init once. Starting a running timer moves it. Moving it later is cheap: the heap is
 * touched only when the old time comes.
 */
struct loop_timer {
	struct loop *loop;
	void (*fn)(struct loop_timer *t);
	int64_t due; /* when fn is called; INT64_MAX: stopped */
	int64_t armed; /* its time in the heap: never after `due` */
	size_t at; /* index in the heap; SIZE_MAX: not in it */
};

void loop_timer_init(struct loop_timer *t, struct loop *l, void (*fn)(struct loop_timer *t));
void loop_timer_start(struct loop_timer *t, int64_t delay_ms);
void loop_timer_stop(struct loop_timer *t);

static inline bool loop_timer_running(const struct loop_timer *t)
{
	return t->due != INT64_MAX;
}

/* --- messages and deferred work ------------------------------------------ */

/*
 * Embed it. fn runs on the loop's thread, in the order of posting; the message
 * belongs to the loop until then. The loop must outlive the post.
 */
struct loop_msg {
	struct queue_node node;
	void (*fn)(struct loop_msg *m);
};

void loop_post(struct loop *l, struct loop_msg *m);

/*
 * Embed it; init once. fn runs in this turn, called by the loop itself and not from within another
 * callback. If deferred from a deferred task, it runs at the latest in the next turn, which then
 * does not wait. Deferring a task again while it waits has no effect.
 */
struct loop_task {
	struct list link;
	void (*fn)(struct loop_task *t);
};

void loop_task_init(struct loop_task *t, void (*fn)(struct loop_task *t));
void loop_defer(struct loop *l, struct loop_task *t);
void loop_task_cancel(struct loop_task *t);

/*
 * Like loop_defer(), for work that is split into parts. It runs at the end of a turn, after all
 * other deferred tasks, so that events wait for at most one part. If a task is deferred in two
 * ways, the first counts.
 */
void loop_defer_last(struct loop *l, struct loop_task *t);
/* Whether tasks are left to run before the loop waits. */
bool loop_has_deferred(const struct loop *l);
/* Like loop_defer_last(), for large parts: only one of these runs per turn, in their order. */
void loop_defer_large(struct loop *l, struct loop_task *t);

/* --- signals --------------------------------------------------------------- */

struct loop_signal;

int loop_signal_new(struct loop *l, int signum, void (*fn)(void *arg, int signum), void *arg,
		    struct loop_signal **ret_signal, struct error *err);
void loop_signal_free(struct loop_signal *s);

/* --- folders ----------------------------------------------------------------- */

/*
 * Reports when entries of a folder are created, removed, renamed or written. fn gets the entry's
 * name (empty if unknown), or an error if watching has ended, for example because the folder is
 * gone. Events may be merged: look at the folder, do not count.
 */
struct loop_watch;

int loop_watch_new(struct loop *l, const char *path,
		   void (*fn)(void *arg, struct str name, const struct error *err), void *arg,
		   struct loop_watch **ret_watch, struct error *err);
void loop_watch_free(struct loop_watch *w);

/* --- descriptors ----------------------------------------------------------------- */

/*
 * Calls fn in each turn in which the descriptor is readable or has an error, until fn has read
 * everything. The caller owns the descriptor, and closes it after loop_fd_free(). fn may free the
 * handle. Simulated loops don't support it (-ERR_UNIMPLEMENTED).
 */
struct loop_fd;

int loop_fd_new(struct loop *l, int fd, void (*fn)(void *arg), void *arg, struct loop_fd **ret_fd,
		struct error *err);
void loop_fd_free(struct loop_fd *f);

/* --- child processes ----------------------------------------------------------- */

struct loop_child;

struct loop_child_opts {
	const char *const *argv; /* argv[0] is looked up in PATH; NULL-terminated */
	const char *const *env; /* NULL: ours */
	const char *cwd; /* NULL: ours */
	int in_fd; /* the child's stdin; 0: /dev/null */
	int out_fd, err_fd; /* the child's stdout and stderr; 0: ours */
	bool group; /* runs in its own session and process group, which also gets the signals */
	bool light; /* started without copying our page tables, for a parent with much memory */
	/* Called once, unless freed before. `signal` is 0 after a normal exit. */
	void (*on_exit)(void *arg, int status, int signal);
	void *arg;
};

int loop_child_new(struct loop *l, const struct loop_child_opts *opts,
		   struct loop_child **ret_child, struct error *err);
int loop_child_pid(const struct loop_child *c);
int loop_child_kill(struct loop_child *c, int signum, struct error *err);

/* Forgets it. A running child continues alone, and is still reaped when it ends. */
void loop_child_free(struct loop_child *c);

DEFINE_CLEANUP(loop_free, struct loop *);

#endif
