/*
 * The writer counts epochs. A reader publishes in its slot the epoch in which its section began; 0
 * means that it is in no section. An object is retired in the current epoch, and the next flush
 * begins a new one. So an object may be freed when each slot is 0 or later than its epoch:
 *
 * - A slot that is later: the reader got its epoch from the writer after the object was unlinked,
 *   so it sees that.
 * - A slot that is 0, because the section ended: reclaim_leave() releases what the reader did, and
 *   the writer's load acquires it.
 * - A slot that is 0, because the store of reclaim_enter() is not visible yet: the writer unlinked,
 *   then loaded the slot; the reader stores its slot, then loads pointers. All four are
 *   sequentially consistent, so if the writer does not see the slot, the reader sees that the
 *   object is unlinked.
 *
 * There is no fence, because ThreadSanitizer does not understand fences. A reader that was
 * suspended between its two steps publishes an old epoch, which only delays freeing.
 */
#include "server/cache/reclaim.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/core/mem.h"

enum {
	LINE = 128, /* bytes: a cache line and its neighbour, which processors fetch together */
	BATCH = 256, /* objects that are retired between two flushes */
};

struct reclaim_slot {
	_Atomic(uint64_t) epoch; /* 0: not in a section */
	char pad[LINE - sizeof(uint64_t)];
};

struct retired {
	void *p;
	void (*drop)(void *p);
	uint64_t epoch;
};

struct reclaim {
	struct retired *v; /* oldest first */
	size_t n, cap;
	size_t fresh; /* retired since the last flush */
	size_t nreaders;
	char pad[LINE]; /* the writer changes what is before it, readers read what follows */
	_Atomic(uint64_t) epoch;
	struct reclaim_slot slots[];
};

struct reclaim *reclaim_new(size_t nreaders)
{
	struct reclaim *r = xcalloc(1, sizeof(*r) + nreaders * sizeof(r->slots[0]));

	r->nreaders = nreaders;
	atomic_init(&r->epoch, 1);
	for (size_t i = 0; i < nreaders; i++)
		atomic_init(&r->slots[i].epoch, 0);
	return r;
}

/* Frees the first n. */
static void drop_first(struct reclaim *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		r->v[i].drop(r->v[i].p);
	r->n -= n;
	for (size_t i = 0; n && i < r->n; i++)
		r->v[i] = r->v[n + i];
}

void reclaim_free(struct reclaim *r)
{
	if (!r)
		return;
	drop_first(r, r->n);
	free(r->v);
	free(r);
}

void reclaim_enter(struct reclaim *r, size_t reader)
{
	struct reclaim_slot *s = &r->slots[reader];

	assert(reader < r->nreaders);
	assert(atomic_load_explicit(&s->epoch, memory_order_relaxed) == 0);
	atomic_store_explicit(&s->epoch, atomic_load_explicit(&r->epoch, memory_order_acquire),
			      memory_order_seq_cst);
}

void reclaim_leave(struct reclaim *r, size_t reader)
{
	atomic_store_explicit(&r->slots[reader].epoch, 0, memory_order_release);
}

void reclaim_retire(struct reclaim *r, void *p, void (*drop)(void *p))
{
	if (r->n == r->cap) {
		r->cap = r->cap ? r->cap * 2 : BATCH;
		r->v = xrealloc(r->v, r->cap * sizeof(*r->v));
	}
	r->v[r->n++] = (struct retired){
		.p = p,
		.drop = drop,
		.epoch = atomic_load_explicit(&r->epoch, memory_order_relaxed),
	};
	if (++r->fresh >= BATCH)
		reclaim_flush(r);
}

/* The epoch of the oldest section, or UINT64_MAX. */
static uint64_t oldest_section(const struct reclaim *r)
{
	uint64_t oldest = UINT64_MAX;

	for (size_t i = 0; i < r->nreaders; i++) {
		uint64_t e = atomic_load_explicit(&r->slots[i].epoch, memory_order_seq_cst);

		if (e && e < oldest)
			oldest = e;
	}
	return oldest;
}

void reclaim_flush(struct reclaim *r)
{
	uint64_t oldest;
	size_t n = 0;

	if (!r || !r->n)
		return;
	if (r->fresh)
		atomic_fetch_add_explicit(&r->epoch, 1, memory_order_release);
	r->fresh = 0;
	oldest = oldest_section(r);
	while (n < r->n && r->v[n].epoch < oldest)
		n++;
	drop_first(r, n);
}

size_t reclaim_pending(const struct reclaim *r)
{
	return r->n;
}
