/*
 * A circular array that doubles up to its limit, so that a quiet book stays small. The limit in
 * bytes keeps past events of pods with thousands of devices from filling memory. A reader that
 * falls out early because of it catches up from the present state.
 */
#include "base/core/mem.h"
#include "node/book/podres_impl.h"
#include "node/node_limits.h"

enum { RING_FIRST = 16 };

void podres_ring_init(struct podres_ring *r, uint32_t max, int64_t floor)
{
	*r = (struct podres_ring){ .max = max, .floor = floor };
}

static struct podres_past *past_at(const struct podres_ring *r, uint32_t i)
{
	return &r->v[(r->first + i) % r->cap];
}

static void drop_first(struct podres_ring *r)
{
	struct podres_past *p = past_at(r, 0);

	r->floor = p->revision;
	r->bytes -= p->event->n;
	bytes_unref(p->event);
	r->first = (r->first + 1) % r->cap;
	r->n--;
}

void podres_ring_release(struct podres_ring *r)
{
	while (r->n)
		drop_first(r);
	free(r->v);
	r->v = NULL;
	r->cap = 0;
}

static void ring_grow(struct podres_ring *r)
{
	uint32_t cap = MIN(MAX(r->cap * 2, (uint32_t)RING_FIRST), r->max);
	struct podres_past *v = xcalloc(cap, sizeof(*v));

	for (uint32_t i = 0; i < r->n; i++)
		v[i] = *past_at(r, i);
	free(r->v);
	r->v = v;
	r->first = 0;
	r->cap = cap;
}

void podres_ring_push(struct podres_ring *r, const struct podres_past *past)
{
	if (r->n == r->max)
		drop_first(r);
	if (r->n == r->cap)
		ring_grow(r);
	r->n++;
	*past_at(r, r->n - 1) = *past;
	r->bytes += past->event->n;
	while (r->n > 1 && r->bytes > PODRES_EVENT_BYTES)
		drop_first(r);
}

const struct podres_past *podres_ring_after(const struct podres_ring *r, int64_t revision)
{
	uint32_t low = 0, n = r->n;

	while (n > 0) {
		uint32_t half = n / 2;

		if (past_at(r, low + half)->revision <= revision) {
			low += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	return low < r->n ? past_at(r, low) : NULL;
}
