/* One block: the header and the array behind it, so that a list is one allocation. */
#include "server/resource_snapshot.h"

#include <stdlib.h>

#include "base/arena.h"
#include "base/mem.h"

struct resource_snapshot *resource_snapshot_new(size_t cap)
{
	struct resource_snapshot *s = xmalloc(sizeof(*s) + cap * sizeof(s->items[0]));

	atomic_init(&s->refs, 1);
	s->n = 0;
	s->cap = cap;
	return s;
}

void resource_snapshot_add(struct resource_snapshot **s, struct object *o)
{
	struct resource_snapshot *v = *s;

	if (v->n == v->cap) {
		v->cap = MAX(v->cap * 2, (size_t)16);
		*s = v = xrealloc(v, sizeof(*v) + v->cap * sizeof(v->items[0]));
	}
	v->items[v->n++] = object_ref(o);
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

struct resource_snapshot *resource_snapshot_ref(struct resource_snapshot *s)
{
	atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
	return s;
}

void resource_snapshot_unref(struct resource_snapshot *s)
{
	if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
		return;
	for (size_t i = 0; i < s->n; i++)
		object_unref(s->items[i]);
	free(s);
}

static void drop(void *snapshot)
{
	resource_snapshot_unref(snapshot);
}

void resource_snapshot_hold(struct arena *a, struct resource_snapshot *s)
{
	arena_hold(a, drop, s);
}
