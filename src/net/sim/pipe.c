/*
 * A ring with marks. The marks are few, so they are searched from the front.
 */
#include "net/sim/pipe.h"

#include <assert.h>

#include "base/core/mem.h"

void sim_pipe_init(struct sim_pipe *p, size_t cap)
{
	*p = (struct sim_pipe){ .ring = xmalloc(cap), .cap = cap };
	vec_init(&p->marks, SIZE_MAX / sizeof(struct sim_mark));
}

void sim_pipe_release(struct sim_pipe *p)
{
	vec_release(&p->marks);
	free(p->ring);
}

size_t sim_pipe_arrived(const struct sim_pipe *p, int64_t now)
{
	uint64_t end = p->head;

	for (size_t i = 0; i < p->marks.n && p->marks.v[i].due <= now; i++)
		end = p->marks.v[i].end;
	return (size_t)(end - p->head);
}

void sim_pipe_put(struct sim_pipe *p, const char *from, size_t n)
{
	size_t at = (size_t)(p->tail % p->cap), first = MIN(n, p->cap - at);

	assert(n <= p->cap - sim_pipe_used(p));
	memcpy(p->ring + at, from, first);
	memcpy(p->ring, from + first, n - first);
	p->tail += n;
}

void sim_pipe_mark(struct sim_pipe *p, uint64_t end, int64_t due)
{
	struct sim_mark *last = p->marks.n ? &p->marks.v[p->marks.n - 1] : NULL;

	assert(!last || last->due <= due);
	if (last && last->due == due)
		last->end = end;
	else
		(void)vec_push(&p->marks, (struct sim_mark){ .end = end, .due = due });
}

void sim_pipe_get(struct sim_pipe *p, char *to, size_t n)
{
	size_t at = (size_t)(p->head % p->cap), first = MIN(n, p->cap - at);

	memcpy(to, p->ring + at, first);
	memcpy(to + first, p->ring, n - first);
	p->head += n;
	while (p->marks.n && p->marks.v[0].end <= p->head)
		vec_remove(&p->marks, 0);
}

void sim_pipe_truncate(struct sim_pipe *p, size_t keep)
{
	p->tail = p->head + keep;
	while (p->marks.n && (p->marks.n > 1 ? p->marks.v[p->marks.n - 2].end : p->head) >= p->tail)
		p->marks.n--;
	if (p->marks.n)
		p->marks.v[p->marks.n - 1].end = p->tail;
}
