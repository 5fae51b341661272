/*
 * sim_pipe - private to the sim files: bytes in flight, in order.
 *
 * A bounded ring. Written bytes get a mark with the time of their arrival, and can be read from
 * then on. Times never decrease along the pipe.
 */
#ifndef NET_SIM_PIPE_H
#define NET_SIM_PIPE_H

#include <stdint.h>

#include "base/core/vec.h"

#define SIM_NEVER INT64_MAX

/* Bytes up to `end`, counted from the first ever written, arrive at `due`. */
struct sim_mark {
	uint64_t end;
	int64_t due; /* ns; SIM_NEVER: the path is cut */
};

struct sim_pipe {
	char *ring;
	size_t cap;
	uint64_t head, tail; /* bytes ever read and written */
	VEC(struct sim_mark) marks; /* the last one's end is the tail */
};

/* `cap` is at least 1. */
void sim_pipe_init(struct sim_pipe *p, size_t cap);
void sim_pipe_release(struct sim_pipe *p);

/* Bytes written and not read; and how many of them can be read now. */
static inline size_t sim_pipe_used(const struct sim_pipe *p)
{
	return (size_t)(p->tail - p->head);
}
size_t sim_pipe_arrived(const struct sim_pipe *p, int64_t now);

/* There must be room. Call sim_pipe_mark() afterwards. */
void sim_pipe_put(struct sim_pipe *p, const char *from, size_t n);
void sim_pipe_mark(struct sim_pipe *p, uint64_t end, int64_t due);

/* The bytes must have arrived. */
void sim_pipe_get(struct sim_pipe *p, char *to, size_t n);

/* Drops all but the next `keep` bytes. */
void sim_pipe_truncate(struct sim_pipe *p, size_t keep);

#endif
