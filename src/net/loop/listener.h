/*
 * listener - accepts connections and distributes them to I/O loops, round-robin.
 *
 * It accepts on its own loop and hands each connection to the next of `loops`, where on_accept is
 * called on that loop's thread. If descriptors or memory run out, accepting is delayed (connections
 * wait in the kernel's queue); the listener never ends because of it. A unix socket left behind by
 * a dead process is replaced; if a live process answers there, that is an error. Socket files are
 * removed when the listener is freed.
 */
#ifndef NET_LOOP_LISTENER_H
#define NET_LOOP_LISTENER_H

#include "net/loop/addr.h"
#include "net/loop/conn.h"

struct listener;

struct listener_opts {
	struct loop *const *loops; /* NULL: only the listener's own */
	size_t nloops;
	unsigned unix_mode; /* permission bits of the socket file; 0: 0600 */
	/* Owns the conn. Set events before returning. `lane` is the index of its loop. */
	void (*on_accept)(void *arg, struct conn *c, size_t lane);
	void *arg;
};

int listener_open(struct loop *l, const struct addr *at, const struct listener_opts *opts,
		  struct listener **ret_listener, struct error *err);

/* The address that it listens on; a port of 0 is replaced by the kernel's choice. */
const struct addr *listener_addr(const struct listener *ln);

/* Stops accepting; connections stay open. Call it on the listener's loop. */
void listener_free(struct listener *ln);

#endif
