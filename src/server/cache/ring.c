/*
 * The weight counts only objects that nobody else holds: replaced states, and copies of deleted
 * objects. The resource holds an object's new state as long as it is current; then it becomes the
 * `prev` of the event that replaces it.
 */
#include "server/cache/ring.h"

#include <assert.h>
#include <stdlib.h>

#include "base/core/mem.h"

/* A chunk ends with the event that reaches either limit, so texts are joined in pieces. */
enum { CHUNK_EVENTS = 512, CHUNK_TEXT = 256 * 1024 };

static size_t weight_of(const struct object *o)
{
	return o ? object_weight(o) : 0;
}

struct ring_chunk *ring_chunk_ref(struct ring_chunk *c)
{
	atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
	return c;
}

static void ring_chunk_unref(struct ring_chunk *c)
{
	if (!c || atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (uint32_t i = 0; i < c->n; i++) {
		object_unref(c->events[i].object);
		object_unref(c->events[i].prev);
	}
	free(c);
}

static bool in_one_space(const struct ring_chunk *c)
{
	struct str ns = object_ns(c->events[0].object);

	for (uint32_t i = 1; i < c->n; i++)
		if (!str_eq(ns, object_ns(c->events[i].object)))
			return false;
	return true;
}

/* --- a run of chunks -------------------------------------------------------------- */

static void span_grow(struct ring_span *s)
{
	size_t cap = s->cap ? s->cap * 2 : 16;
	struct ring_chunk **slots = xcalloc(cap, sizeof(struct ring_chunk *));

	for (uint64_t seq = s->first; seq < s->end; seq++)
		slots[seq & (cap - 1)] = ring_span_at(s, seq);
	free(s->slots);
	s->slots = slots;
	s->cap = cap;
}

void ring_span_add(struct ring_span *s, struct ring_chunk *c)
{
	if (s->first == s->end)
		s->first = s->end = c->seq;
	if (s->end - s->first == s->cap)
		span_grow(s);
	assert(c->seq == s->end || c->seq + 1 == s->first);
	if (c->seq == s->end)
		s->end++;
	else
		s->first--;
	s->slots[c->seq & (s->cap - 1)] = c;
}

void ring_span_trim(struct ring_span *s, uint64_t seq)
{
	for (; s->first < s->end && s->first < seq; s->first++)
		ring_chunk_unref(ring_span_at(s, s->first));
}

uint64_t ring_span_find(const struct ring_span *s, int64_t revision)
{
	uint64_t low = s->first, high = s->end;

	while (low < high) {
		uint64_t mid = low + (high - low) / 2;

		if (ring_span_at(s, mid)->last > revision)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

void ring_span_clear(struct ring_span *s)
{
	ring_span_trim(s, s->end);
}

void ring_span_release(struct ring_span *s)
{
	ring_span_clear(s);
	free(s->slots);
	*s = (struct ring_span){ 0 };
}

/* --- the ring --------------------------------------------------------------------- */

void ring_init(struct ring *r, size_t max)
{
	*r = (struct ring){ .max = max };
	vec_init(&r->open, SIZE_MAX / sizeof(struct ring_event));
	r->span.first = r->span.end = 1;
}

void ring_release(struct ring *r)
{
	ring_seal(r);
	ring_span_release(&r->span);
	vec_release(&r->open);
}

void ring_add(struct ring *r, const struct ring_event *event)
{
	(void)vec_push(&r->open, *event);
	r->open_text += event->object->json->n;
	if (r->open.n >= CHUNK_EVENTS || r->open_text >= CHUNK_TEXT)
		ring_seal(r);
}

void ring_seal(struct ring *r)
{
	struct ring_chunk *c;
	size_t n = r->open.n;

	if (n == 0)
		return;
	c = xmalloc(sizeof(*c) + n * sizeof(c->events[0]));
	atomic_init(&c->refs, 1);
	c->n = (uint32_t)n;
	c->seq = r->span.end;
	c->last = r->open.v[n - 1].revision;
	c->sealed = r->now;
	c->weight = sizeof(*c);
	memcpy(c->events, r->open.v, n * sizeof(c->events[0]));
	c->one_space = in_one_space(c);
	for (size_t i = 0; i < n; i++) {
		const struct ring_event *e = &c->events[i];

		c->weight += sizeof(*e) + weight_of(e->prev);
		if (e->type == RING_DELETED)
			c->weight += weight_of(e->object);
	}
	r->weight += c->weight;
	r->open.n = 0;
	r->open_text = 0;
	ring_span_add(&r->span, c);
}

bool ring_has_surplus(const struct ring *r)
{
	if (r->span.first == r->span.end)
		return false;
	return r->weight > r->max ||
	       (r->weight > RING_SMALL &&
		r->now - ring_span_at(&r->span, r->span.first)->sealed > RING_FRESH_MS);
}

void ring_trim(struct ring *r, uint64_t keep)
{
	while (r->span.first < keep && ring_has_surplus(r)) {
		struct ring_chunk *c = ring_span_at(&r->span, r->span.first);

		r->oldest = c->last;
		r->weight -= c->weight;
		ring_span_trim(&r->span, c->seq + 1);
	}
}

void ring_restart(struct ring *r, int64_t revision)
{
	ring_seal(r);
	ring_span_clear(&r->span);
	r->weight = 0;
	r->oldest = revision;
}
