/*
 * Binary heaps of pods. A pod is in at most one of them, so its index is stored in the pod, and
 * removing any pod is O(log n).
 *
 * Every order ends with the arrival number: pods that the profile's sort treats as equal leave in
 * order of arrival.
 */
#include "scheduler/queue/podqueue_impl.h"

#include <assert.h>
#include <stdlib.h>

static bool first_come(const struct queued_pod *a, const struct queued_pod *b)
{
	return a->order < b->order;
}

bool queue_less_active(const struct queued_pod *a, const struct queued_pod *b)
{
	const struct plugin *sort = a->profile->queue_sort;

	if (!sort) {
		if (a->pod->priority != b->pod->priority)
			return a->pod->priority > b->pod->priority;
		if (a->since_ms != b->since_ms)
			return a->since_ms < b->since_ms;
		return first_come(a, b);
	}
	if (sort->kind->less(sort, a, b))
		return true;
	return !sort->kind->less(sort, b, a) && first_come(a, b);
}

bool queue_less_backoff(const struct queued_pod *a, const struct queued_pod *b)
{
	if (a->backoff_until_ms != b->backoff_until_ms)
		return a->backoff_until_ms < b->backoff_until_ms;
	return queue_less_active(a, b);
}

bool queue_less_error(const struct queued_pod *a, const struct queued_pod *b)
{
	if (a->backoff_until_ms != b->backoff_until_ms)
		return a->backoff_until_ms < b->backoff_until_ms;
	return first_come(a, b);
}

bool queue_less_flush(const struct queued_pod *a, const struct queued_pod *b)
{
	int64_t x = MAX(a->since_ms, a->flushed_ms), y = MAX(b->since_ms, b->flushed_ms);

	return x != y ? x < y : first_come(a, b);
}

void queue_heap_init(struct queue_heap *h, queue_less *less)
{
	vec_init(&h->v, SIZE_MAX / sizeof(void *));
	h->less = less;
}

void queue_heap_release(struct queue_heap *h)
{
	vec_release(&h->v);
}

static void put(struct queue_heap *h, size_t at, struct queued_pod *p)
{
	h->v.v[at] = p;
	p->at = at;
}

static void rise(struct queue_heap *h, size_t at)
{
	struct queued_pod *p = h->v.v[at];

	while (at && h->less(p, h->v.v[(at - 1) / 2])) {
		put(h, at, h->v.v[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	put(h, at, p);
}

static void sink(struct queue_heap *h, size_t at)
{
	struct queued_pod *p = h->v.v[at];
	size_t child;

	while ((child = 2 * at + 1) < h->v.n) {
		if (child + 1 < h->v.n && h->less(h->v.v[child + 1], h->v.v[child]))
			child++;
		if (!h->less(h->v.v[child], p))
			break;
		put(h, at, h->v.v[child]);
		at = child;
	}
	put(h, at, p);
}

void queue_heap_push(struct queue_heap *h, struct queued_pod *p)
{
	bool room = vec_push(&h->v, p);

	assert(room);
	(void)room;
	p->at = h->v.n - 1;
	rise(h, p->at);
}

void queue_heap_fix(struct queue_heap *h, struct queued_pod *p)
{
	rise(h, p->at);
	sink(h, p->at);
}

void queue_heap_remove(struct queue_heap *h, struct queued_pod *p)
{
	size_t at = p->at;
	struct queued_pod *last = h->v.v[--h->v.n];

	assert(at <= h->v.n && (at < h->v.n ? h->v.v[at] : last) == p);
	if (last == p)
		return;
	put(h, at, last);
	queue_heap_fix(h, last);
}
