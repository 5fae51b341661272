/*
 * rtnl_watch - reports changes of the interfaces and addresses in one network namespace.
 *
 * Reports changes in the kernel's order. It does not report the initial state: open the watch
 * first, then list (rtnl.h). If the kernel had to drop messages because its buffer was full, it
 * reports RTNL_LOST: list again. The socket keeps the namespace alive while the watch is open.
 * Threads: the loop's.
 */
#ifndef DRIVERS_RTNL_WATCH_H
#define DRIVERS_RTNL_WATCH_H

#include "drivers/rtnl/rtnl.h"

struct loop;
struct rtnl_watch;

enum rtnl_event_type {
	RTNL_LINK_SET, /* new or changed; also if only fields changed that are not reported here */
	RTNL_LINK_GONE, /* deleted, or moved to another namespace */
	RTNL_ADDRESS_SET,
	RTNL_ADDRESS_GONE,
	RTNL_LOST,
};

struct rtnl_event {
	enum rtnl_event_type type;
	struct rtnl_link link; /* for the first two */
	struct rtnl_address address; /* for the next two */
};

/*
 * `ns_fd` is needed for this call only; -1: the thread's own namespace. on_event may free the
 * watch.
 */
int rtnl_watch_new(struct loop *l, int ns_fd,
		   void (*on_event)(void *arg, const struct rtnl_event *e), void *arg,
		   struct rtnl_watch **ret_watch, struct error *err);
void rtnl_watch_free(struct rtnl_watch *w); /* NULL allowed */

/* Sets the kernel's buffer for unread messages, by default 8 MiB. For tests that fill it. */
void rtnl_watch_set_buffer(struct rtnl_watch *w, int bytes);

DEFINE_CLEANUP(rtnl_watch_free, struct rtnl_watch *);

#endif
