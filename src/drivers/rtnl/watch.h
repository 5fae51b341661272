/*
 * rtnl_watch - what changes about the interfaces and addresses of one network namespace.
 *
 * Tells each change as the kernel tells it, in its order. Nothing is told of the state at the
 * beginning: open the watch first, then list (rtnl.h). When the kernel had to drop notices (its
 * buffer was full) that is told as RTNL_LOST: list again. The socket holds the namespace: it stays
 * while the watch is open.
 * Threads: the loop's.
 */
#ifndef DRIVERS_RTNL_WATCH_H
#define DRIVERS_RTNL_WATCH_H

#include "drivers/rtnl/rtnl.h"

struct loop;
struct rtnl_watch;

enum rtnl_event_type {
	RTNL_LINK_SET, /* new or changed; also when nothing that is told here did */
	RTNL_LINK_GONE, /* deleted, or moved to another namespace */
	RTNL_ADDRESS_SET,
	RTNL_ADDRESS_GONE,
	RTNL_LOST,
};

struct rtnl_event {
	enum rtnl_event_type type;
	struct rtnl_link link; /* of the first two */
	struct rtnl_address address; /* of the next two */
};

/*
 * `ns_fd` -1: the thread's own namespace; the descriptor is needed for this call only. on_event may
 * free the watch.
 */
int rtnl_watch_new(struct loop *l, int ns_fd,
		   void (*on_event)(void *arg, const struct rtnl_event *e), void *arg,
		   struct rtnl_watch **ret_watch, struct error *err);
void rtnl_watch_free(struct rtnl_watch *w); /* NULL allowed */

/* What the kernel keeps of notices that are not read yet, in place of 8 MiB: tests fill it. */
void rtnl_watch_set_buffer(struct rtnl_watch *w, int bytes);

DEFINE_CLEANUP(rtnl_watch_free, struct rtnl_watch *);

#endif
