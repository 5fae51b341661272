/*
 * conn_pipe - for tests: two conns joined in memory, on a loop that never waits.
 *
 * Bytes cross only when the test says so, in pieces of a chosen size, through a pipe with room for
 * a chosen number of bytes. So the test controls where short reads and short writes happen. Time
 * moves only by hand.
 */
#ifndef NET_LOOP_CONN_PIPE_H
#define NET_LOOP_CONN_PIPE_H

#include "base/core/buf.h"
#include "net/loop/backend.h"
#include "net/loop/filter.h"

struct pipe_loop {
	struct loop loop;
	struct clock_manual clock;
	struct list ends; /* struct pipe_end */
};

struct pipe_end {
	struct conn conn;
	struct pipe_end *other; /* NULL after its memory was freed */
	struct list link;
	struct buf wire; /* written by this end, not yet delivered to the other */
	size_t piece; /* largest piece delivered at once */
	size_t room; /* most bytes on the wire */
	bool held; /* nothing is delivered */
	bool broken; /* writes fail */
	bool want_writable;
	bool shut; /* writing has ended: the other sees the end after the bytes on the wire */
	bool end_told; /* the other has seen the end */
	struct addr peer;
	struct loop_task reap;
};

void pipe_loop_init(struct pipe_loop *l, int64_t wall_s);

/* All conns must have been freed. */
void pipe_loop_release(struct pipe_loop *l);

void pipe_new(struct pipe_loop *l, size_t piece, size_t room, struct pipe_end **ret_a,
	      struct pipe_end **ret_b);

/* Moves a piece over each wire, and runs deferred tasks. Returns false if nothing happened. */
bool pipe_step(struct pipe_loop *l);
void pipe_run(struct pipe_loop *l);

#endif
