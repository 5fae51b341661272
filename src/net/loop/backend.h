/*
 * backend - the interface that an event loop implements: libuv's and the simulated one.
 *
 * loop.c has the common parts (timers, inbox, deferred tasks). An implementation waits, and calls
 * loop_turn_*() at the right moments.
 */
#ifndef NET_LOOP_BACKEND_H
#define NET_LOOP_BACKEND_H

#include "base/ordered/heap.h"
#include "base/system/recycler.h"
#include "net/loop/listener.h"
#include "net/loop/loop.h"

struct loop_ops {
	void (*run)(struct loop *l);
	void (*stop)(struct loop *l);
	/* Makes the loop read its inbox soon. Any thread. */
	void (*wake)(struct loop *l);
	/* The earliest timer is now due at `due`; INT64_MAX: no timer. */
	void (*arm)(struct loop *l, int64_t due);
	void (*free)(struct loop *l);

	int (*connect)(struct loop *l, const struct addr *to, const struct conn_events *events,
		       void *arg, struct conn **ret_conn, struct error *err);
	int (*listen)(struct loop *l, const struct addr *at, const struct listener_opts *opts,
		      struct listener **ret_listener, struct error *err);
	int (*signal_new)(struct loop *l, int signum, void (*fn)(void *arg, int signum), void *arg,
			  struct loop_signal **ret_signal, struct error *err);
	int (*watch_new)(struct loop *l, const char *path,
			 void (*fn)(void *arg, struct str name, const struct error *err), void *arg,
			 struct loop_watch **ret_watch, struct error *err);
	int (*fd_new)(struct loop *l, int fd, void (*fn)(void *arg), void *arg,
		      struct loop_fd **ret_fd, struct error *err);
	int (*child_new)(struct loop *l, const struct loop_child_opts *opts,
			 struct loop_child **ret_child, struct error *err);
};

struct loop {
	const struct loop_ops *ops;
	const struct clock *clock;
	int64_t now; /* ms, of this turn */
	struct heap timers; /* of struct loop_timer, by `armed` */
	struct queue inbox;
	struct list deferred;
	struct list last; /* deferred to the end of a turn */
	struct list large; /* tasks of which large_task runs one */
	struct loop_task large_task;
	struct prng prng;
	struct outbuf *out; /* created on first use, shared by the loop's connections */
	struct recycler recycler;
};

/* The handles of an implementation begin with these. */
struct loop_signal {
	void (*free)(struct loop_signal *s);
};
struct loop_watch {
	void (*free)(struct loop_watch *w);
};
struct loop_fd {
	void (*free)(struct loop_fd *f);
};
struct loop_child {
	int pid;
	int (*kill)(struct loop_child *c, int signum, struct error *err);
	void (*free)(struct loop_child *c);
};
struct listener {
	struct addr at;
	void (*free)(struct listener *ln);
};

void loop_init_common(struct loop *l, const struct loop_ops *ops, const struct clock *clock,
		      uint64_t seed);
void loop_release_common(struct loop *l);

/* Calls the timers that are due at l->now, then arms the next one. */
void loop_turn_timers(struct loop *l);
/* Delivers the messages that are in the inbox now. */
void loop_turn_inbox(struct loop *l);
/* Runs the deferred tasks, except those that come last. */
void loop_turn_deferred(struct loop *l);
/* The end of a turn: runs deferred tasks, then those that come last. Returns true if more wait. */
bool loop_turn_end(struct loop *l);

#endif
