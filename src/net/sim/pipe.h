/*
 * sim_pipe - private to the sim files: bytes on their way, in order.
 *
 * A bounded ring. What is written gets a mark with the time of its arrival, and
 * can be read from then on. Times never decrease along the pipe.
 */
#ifndef NET_SIM_PIPE_H
#define NET_SIM_PIPE_H

#include <stdint.h>

#include "base/core/vec.h"

#define SIM_NEVER INT64_MAX

/* Bytes up to `end`, counted from the first ever written, arrive at `due`. */
struct sim_mark {
	uint64_t end;
	int64_t due; /* ns; SIM_NEVER: not as things are */
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

/* Bytes written and not read; of these, the ones that can be read now. */
static inline size_t sim_pipe_used(const struct sim_pipe *p)
{
	return (size_t)(p->tail - p->head);
}
size_t sim_pipe_arrived(const struct sim_pipe *p, int64_t now);

/* There must be room. Mark them afterwards. */
void sim_pipe_put(struct sim_pipe *p, const char *from, size_t n);
void sim_pipe_mark(struct sim_pipe *p, uint64_t end, int64_t due);

/* They must have arrived. */
void sim_pipe_get(struct sim_pipe *p, char *to, size_t n);

/* Only the next `keep` bytes will arrive. */
void sim_pipe_truncate(struct sim_pipe *p, size_t keep);

#endif
