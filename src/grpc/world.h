/*
 * world - for tests: a loop whose time moves by hand and whose network is memory.
 *
 * It implements loop_impl.h, so servers, clients and channels run on it as they
 * are. Bytes cross in pieces of random size from a seeded generator, through
 * pipes that hold as much as a small socket buffer. Nothing does I/O, nothing
 * waits.
 */
#ifndef GRPC_WORLD_H
#define GRPC_WORLD_H

#include "net/loop_impl.h"

struct world {
	struct loop loop;
	struct clock_manual clock;
	struct list pipes; /* ends of connections */
	struct list listeners;
	struct prng prng;
	size_t piece_max; /* largest piece that crosses at once; 0: all */
	size_t pipe_max; /* bytes on their way in one direction; 0: 64 KiB */
	bool refuse; /* connecting fails */
	bool silent; /* connecting neither fails nor succeeds */
	unsigned connects; /* attempts so far */
	bool woken; /* a message was posted */
};

void world_init(struct world *w, uint64_t seed);

/* All that was opened must be closed. Runs what is deferred. */
void world_release(struct world *w);

/* Turns until nothing happens, without time passing. */
void world_run(struct world *w);

/* The same for as long as time takes, timer by timer. */
void world_advance(struct world *w, int64_t ms);

/* All connections die as if the network were gone. */
void world_cut(struct world *w);

/* Bytes that are on their way in both directions of all connections. */
size_t world_in_flight(const struct world *w);

#endif
