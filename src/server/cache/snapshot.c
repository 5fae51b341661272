/*
 * The header, the items and the blocks are in one allocation.
 */
#include "server/cache/snapshot.h"

#include <assert.h>
#include <stdlib.h>

#include "base/core/arena.h"
#include "base/core/mem.h"

/* --- blocks ----------------------------------------------------------------------- */

struct resource_block *resource_block_new(void)
{
	struct resource_block *b = xmalloc(sizeof(*b));

	atomic_init(&b->refs, 1);
	b->n = 0;
	b->bytes = 0;
	return b;
}

static void unref_run(struct object **v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		resource_fetch_ahead(v, n, i);
		object_unref(v[i]);
	}
}

void resource_block_unref(struct resource_block *b)
{
	if (atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) != 1)
		return;
	unref_run(b->items, b->n);
	free(b);
}

/* --- snapshots -------------------------------------------------------------------- */

struct resource_snapshot *resource_snapshot_new(size_t cap, size_t nblocks)
{
	struct resource_snapshot *s = xmalloc(sizeof(*s) + (cap + nblocks) * sizeof(void *));

	*s = (struct resource_snapshot){ .cap = cap };
	atomic_init(&s->refs, 1);
	if (nblocks)
		s->blocks = (struct resource_block **)(void *)(s->items + cap);
	return s;
}

void resource_snapshot_add(struct resource_snapshot **s, struct object *o)
{
	struct resource_snapshot *v = *s;

	if (v->n == v->cap) {
		assert(!v->blocks);
		v->cap = MAX(v->cap * 2, (size_t)16);
		*s = v = xrealloc(v, sizeof(*v) + v->cap * sizeof(v->items[0]));
	}
	v->items[v->n++] = v->base ? o : object_ref(o);
	v->bytes += object_item_size(o);
}

void resource_snapshot_add_run(struct resource_snapshot *s, struct object *const *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		resource_fetch_ahead(v, n, i);
		resource_snapshot_add(&s, v[i]);
	}
}

void resource_snapshot_add_block(struct resource_snapshot *s, struct resource_block *b)
{
	assert(s->nblocks == 0 || s->to == s->n);
	if (s->nblocks == 0)
		s->from = s->n;
	(void)atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
	s->blocks[s->nblocks++] = b;
	memcpy(s->items + s->n, b->items, b->n * sizeof(b->items[0]));
	s->n += b->n;
	s->to = s->n;
	s->bytes += b->bytes;
}

size_t resource_snapshot_after(const struct resource_snapshot *s, struct str key)
{
	size_t low = 0, high = key.n ? s->n : 0;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (str_cmp(s->items[mid]->key, key) > 0)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static void unref_items(struct resource_snapshot *s)
{
	unref_run(s->items, s->from);
	unref_run(s->items + s->to, s->n - s->to);
	for (size_t i = 0; i < s->nblocks; i++)
		resource_block_unref(s->blocks[i]);
}

void resource_snapshot_lean(struct resource_snapshot *s, struct resource_snapshot *base)
{
	unref_items(s);
	s->base = resource_snapshot_ref(base);
}

struct resource_snapshot *resource_snapshot_ref(struct resource_snapshot *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void resource_snapshot_unref(struct resource_snapshot *s)
{
	while (s && atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) == 1) {
		struct resource_snapshot *base = s->base;

		if (!base)
			unref_items(s);
		free(s);
		s = base;
	}
}

static void snapshot_drop(void *snapshot)
{
	resource_snapshot_unref(snapshot);
}

void resource_snapshot_hold(struct arena *a, struct resource_snapshot *s)
{
	arena_hold(a, snapshot_drop, s);
}
