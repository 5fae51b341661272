/*
 * heap - a binary heap of items that know their place in it.
 *
 *	struct heap waiting;
 *	heap_init(&waiting, struct entry, at, is_earlier);
 *	heap_push(&waiting, entry);
 *	entry = heap_first(&waiting);
 *
 * The first item is found at once. Any item can be moved or removed in O(log n), because it has a
 * size_t with its index, which must be SIZE_MAX while it is in no heap. The caller owns the items.
 * The order of equal items is unspecified, but depends only on the calls.
 */
#ifndef BASE_ORDERED_HEAP_H
#define BASE_ORDERED_HEAP_H

#include "base/core/vec.h"

/* Whether `a` comes before `b`. */
typedef bool heap_less(const void *a, const void *b);

struct heap {
	VEC(void *) items;
	size_t at_offset; /* of the index in an item */
	heap_less *less;
};

/* `at` is the member of `type` that holds the index. */
#define heap_init(h, type, at, less) heap_init_raw((h), offsetof(type, at), (less))
void heap_init_raw(struct heap *h, size_t at_offset, heap_less *less);
void heap_release(struct heap *h);

/* NULL if it is empty. */
static inline void *heap_first(const struct heap *h)
{
	return h->items.n ? h->items.v[0] : NULL;
}

/* The item must be in no heap. */
void heap_push(struct heap *h, void *item);

/* Moves an item of the heap whose order may have changed. */
void heap_fix(struct heap *h, void *item);

/* Does nothing if the item is in no heap. */
void heap_remove(struct heap *h, void *item);

#endif
