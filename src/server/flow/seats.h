/*
 * flow_seats - how many requests of a priority level are under way, over all I/O loops.
 *
 * A level has seats of its own; when they are taken it may have free ones of others, within its
 * limit. What is its own it always gets, so no level can starve another. Lives as long as the
 * server: levels of one name share it, whatever their configuration was and is. Threads: any.
 */
#ifndef SERVER_FLOW_SEATS_H
#define SERVER_FLOW_SEATS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/core/str.h"

/* Of the whole server. */
struct flow_hall {
	atomic_llong taken;
	atomic_llong total;
};

struct flow_seats {
	struct flow_hall *hall;
	struct str name; /* behind the struct */
	size_t index; /* among all of the server */
	atomic_llong taken; /* requests under way */
	atomic_llong nominal, borrowed; /* as the newest configuration has it */
	atomic_llong waiting; /* requests, on all loops */
};

/* False when there is none. */
bool flow_seats_take(struct flow_seats *s);
void flow_seats_leave(struct flow_seats *s);

#endif
