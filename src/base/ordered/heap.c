/*
 * An item that moves is held while those on its way change places, and is put down at the end.
 */
#include "base/ordered/heap.h"

#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

void heap_init_raw(struct heap *h, size_t at_offset, heap_less *less)
{
	vec_init(&h->items, SIZE_MAX / sizeof(void *));
	h->at_offset = at_offset;
	h->less = less;
}

void heap_release(struct heap *h)
{
	vec_release(&h->items);
}

static size_t *heap_index_of(const struct heap *h, void *item)
{
	return (size_t *)(void *)((char *)item + h->at_offset);
}

static void heap_put(struct heap *h, size_t at, void *item)
{
	h->items.v[at] = item;
	*heap_index_of(h, item) = at;
}

static void rise(struct heap *h, void *item, size_t at)
{
	while (at > 0 && h->less(item, h->items.v[(at - 1) / 2])) {
		heap_put(h, at, h->items.v[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	heap_put(h, at, item);
}

static void sink(struct heap *h, void *item, size_t at)
{
	void **v = h->items.v;
	size_t child;

	while ((child = 2 * at + 1) < h->items.n) {
		if (child + 1 < h->items.n && h->less(v[child + 1], v[child]))
			child++;
		if (!h->less(v[child], item))
			break;
		heap_put(h, at, v[child]);
		at = child;
	}
	heap_put(h, at, item);
}

void heap_push(struct heap *h, void *item)
{
	assert(*heap_index_of(h, item) == SIZE_MAX);
	(void)vec_push(&h->items, item);
	rise(h, item, h->items.n - 1);
}

void heap_fix(struct heap *h, void *item)
{
	rise(h, item, *heap_index_of(h, item));
	sink(h, item, *heap_index_of(h, item));
}

void heap_remove(struct heap *h, void *item)
{
	size_t at = *heap_index_of(h, item);
	void *last;

	if (at == SIZE_MAX)
		return;
	assert(at < h->items.n && h->items.v[at] == item);
	*heap_index_of(h, item) = SIZE_MAX;
	last = h->items.v[--h->items.n];
	if (last == item)
		return;
	heap_put(h, at, last);
	heap_fix(h, last);
}
