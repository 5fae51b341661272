/*
 * flow_seats - counts the requests of a priority level that are under way on all I/O loops.
 *
 * A level has seats of its own. If they are taken, it may borrow free seats of other levels, up
 * to its limit. It always gets its own seats, so no level can starve another. It lives as long as
 * the server: all configurations of a level with the same name share it.
 *
 * Threads: any.
 */
#ifndef SERVER_FLOW_SEATS_H
#define SERVER_FLOW_SEATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/core/str.h"

/* The seats of the whole server. */
struct flow_hall {
	atomic_llong taken;
	atomic_llong total;
};

struct flow_seats {
	struct flow_hall *hall;
	struct str name; /* stored after the struct */
	size_t index; /* among all seats of the server */
	atomic_llong taken; /* requests under way */
	atomic_llong nominal, borrowed; /* from the newest configuration */
	atomic_llong waiting; /* waiting requests on all loops */
};

/* Returns false if no seat is free. */
bool flow_seats_take(struct flow_seats *s);
void flow_seats_leave(struct flow_seats *s);

#endif
