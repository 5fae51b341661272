/*
 * listener - accept connections and hand them to I/O loops in turn.
 *
 * It accepts on its own loop and gives each connection to the next of `loops`,
 * where on_accept is called, on that loop's thread. Running out of descriptors
 * or memory delays accepting (connections wait in the kernel's queue); it never
 * ends the listener.
 * A unix socket left behind by a dead process is replaced; one that answers is
 * an error. Socket files are removed when the listener is freed.
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

/* Where it listens; a port of 0 has become the one the kernel chose. */
const struct addr *listener_addr(const struct listener *ln);

/* Stops accepting; connections live on. On the listener's loop. */
void listener_free(struct listener *ln);

#endif
