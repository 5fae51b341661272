/*
 * Open addressing with linear probing. A slot is a pointer and a tag: 16 bits of the hash, so that
 * a search reads nearly no other objects than the wanted one. Tags are in an array of their own,
 * because a search reads mostly tags. A table need not be a power of two in size, so it can grow by
 * half instead of doubling.
 *
 * The writer inserts by storing the pointer, then the tag; it removes by storing the tag GONE, then
 * a NULL pointer. A reader loads the tag, then the pointer. If the slot was used again meanwhile,
 * it compares keys and goes on; then the key that it wanted was removed during the search, and "not
 * found" is a right answer, even if the key was inserted again elsewhere. Replacing changes only
 * the pointer. A slot becomes FREE again only if a FREE slot follows, so no search for another key
 * had to pass it.
 *
 * A table that is too full or too empty gets a `next` one, and each change moves the objects of
 * STEP slots there. An object is inserted into `next` before it is removed from the old table, and
 * a reader searches the old table first, then loads `next`. So it finds an object that moves, and
 * also one that moves twice.
 *
 * Stores that unlink and loads of readers are sequentially consistent, as reclaim.h demands.
 */
#include "server/cache/index.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/core/map.h"
#include "base/core/mem.h"
#include "server/cache/blocks.h"
#include "server/cache/reclaim.h"

enum {
	FREE = 0, /* a tag: a search may stop here */
	GONE = 1, /* a tag: unused, but a search must go on */
	STEP = 32, /* slots that one change moves to the next table */
	SMALL = 64, /* slots; a table of this size does not shrink */
};

struct index_table {
	_Atomic(struct index_table *) next; /* that the objects are moved to; or NULL */
	size_t cap; /* slots */
	size_t used; /* slots that are not FREE: at most 7/8, so that searches are short */
	size_t n; /* objects */
	size_t moved; /* slots whose objects were moved to `next` */
	_Atomic(uint16_t) *tags; /* stored after the slots */
	_Atomic(struct object *) slots[];
};

struct resource_index {
	struct reclaim *reclaim;
	uint64_t seed;
	_Atomic(struct index_table *) table; /* NULL: no object was inserted yet */
};

/* A slot of a table. */
struct index_place {
	struct index_table *table; /* NULL: not found */
	size_t at;
	struct object *object;
};

/* --- tables ----------------------------------------------------------------------- */

static size_t table_bytes(size_t cap)
{
	return sizeof(struct index_table) +
	       cap * (sizeof(_Atomic(struct object *)) + sizeof(_Atomic(uint16_t)));
}

/* A table for n objects that is 7/12 full with them. */
static struct index_table *table_new(size_t n)
{
	size_t cap = n * 12 / 7 + 8;
	struct index_table *t = xcalloc(1, table_bytes(cap));

	assert(cap < UINT32_MAX);
	t->cap = cap;
	t->tags = (_Atomic(uint16_t) *)(void *)(t->slots + cap);
	return t;
}

static void table_free(void *table)
{
	struct index_table *t = table;

	for (size_t i = 0; t->n && i < t->cap; i++)
		object_unref(atomic_load_explicit(&t->slots[i], memory_order_relaxed));
	free(t);
}

static bool table_is_full(const struct index_table *t)
{
	return (t->used + 1) * 8 > t->cap * 7;
}

static bool table_is_sparse(const struct index_table *t)
{
	return t->cap > SMALL && t->n < t->cap / 8;
}

static uint16_t tag_of(uint64_t hash)
{
	uint16_t tag = (uint16_t)hash;

	return tag > GONE ? tag : (uint16_t)(tag + GONE + 1);
}

/* The slot at which a search begins. */
static size_t home_of(const struct index_table *t, uint64_t hash)
{
	return (size_t)((hash >> 32) * t->cap >> 32);
}

static size_t after(const struct index_table *t, size_t at)
{
	return at + 1 < t->cap ? at + 1 : 0;
}

static uint16_t tag_at(const struct index_table *t, size_t at)
{
	return atomic_load_explicit(&t->tags[at], memory_order_seq_cst);
}

static struct index_place table_find(struct index_table *t, struct str key, uint64_t hash)
{
	uint16_t tag = tag_of(hash), seen;
	size_t at = home_of(t, hash);

	/* The count is for a reader that is slower than a writer who fills and empties slots. */
	for (size_t i = 0; i < t->cap && (seen = tag_at(t, at)) != FREE; i++, at = after(t, at)) {
		struct object *o;

		if (seen != tag)
			continue;
		o = atomic_load_explicit(&t->slots[at], memory_order_seq_cst);
		if (o && str_eq(o->key, key))
			return (struct index_place){ t, at, o };
	}
	return (struct index_place){ 0 };
}

/* Adds an object whose key is not in the table, and takes over the reference. */
static void table_add(struct index_table *t, struct object *o, uint64_t hash)
{
	size_t at = home_of(t, hash);
	uint16_t tag;

	while ((tag = tag_at(t, at)) > GONE)
		at = after(t, at);
	if (tag == FREE)
		t->used++;
	t->n++;
	assert(t->used < t->cap);
	atomic_store_explicit(&t->slots[at], o, memory_order_release);
	atomic_store_explicit(&t->tags[at], tag_of(hash), memory_order_release);
}

/* Empties a slot. The caller owns its reference from now on. */
static void table_remove(struct index_table *t, size_t at)
{
	atomic_store_explicit(&t->tags[at], GONE, memory_order_seq_cst);
	atomic_store_explicit(&t->slots[at], NULL, memory_order_release);
	t->n--;
}

/* Frees the emptied slots from `at` back, if no search has to pass them. */
static void table_tidy(struct index_table *t, size_t at)
{
	if (tag_at(t, after(t, at)) != FREE)
		return;
	while (tag_at(t, at) == GONE) {
		atomic_store_explicit(&t->tags[at], FREE, memory_order_release);
		t->used--;
		at = at ? at - 1 : t->cap - 1;
	}
}

/* --- moving to the next table ------------------------------------------------------- */

static struct index_table *first_table(const struct resource_index *ix)
{
	return atomic_load_explicit(&ix->table, memory_order_seq_cst);
}

static struct index_table *next_table(const struct index_table *t)
{
	return atomic_load_explicit(&t->next, memory_order_seq_cst);
}

static uint64_t hash_of(const struct resource_index *ix, struct str key)
{
	return hash_bytes(key, ix->seed);
}

/* There is room also for objects that are inserted during the move. */
static void begin_move(struct index_table *t)
{
	struct index_table *next = table_new(t->n + t->cap / STEP + 1);

	atomic_store_explicit(&t->next, next, memory_order_release);
}

static void move_slot(struct resource_index *ix, struct index_table *t, struct index_table *next,
		      size_t at)
{
	struct object *o;

	if (tag_at(t, at) <= GONE)
		return;
	o = atomic_load_explicit(&t->slots[at], memory_order_relaxed);
	table_add(next, o, hash_of(ix, o->key));
	table_remove(t, at);
}

/* Continues a move, or begins one if the table asks for it. */
static void index_step(struct resource_index *ix)
{
	struct index_table *t = first_table(ix), *next = next_table(t);

	if (!next && (table_is_full(t) || table_is_sparse(t)))
		begin_move(t);
	if (!next)
		return;
	for (size_t i = 0; i < STEP && t->moved < t->cap; i++)
		move_slot(ix, t, next, t->moved++);
	if (t->moved < t->cap)
		return;
	atomic_store_explicit(&ix->table, next, memory_order_seq_cst);
	reclaim_retire(ix->reclaim, t, table_free);
}

/* --- the index ---------------------------------------------------------------------- */

struct resource_index *resource_index_new(struct reclaim *reclaim)
{
	struct resource_index *ix = XNEW(struct resource_index);

	ix->reclaim = reclaim;
	ix->seed = hash_process_seed();
	atomic_init(&ix->table, NULL);
	return ix;
}

void resource_index_free(struct resource_index *ix)
{
	struct index_table *t = ix ? first_table(ix) : NULL;

	while (t) {
		struct index_table *next = next_table(t);

		table_free(t);
		t = next;
	}
	free(ix);
}

static struct index_place index_find(const struct resource_index *ix, struct str key, uint64_t hash)
{
	struct index_place p = { 0 };

	for (struct index_table *t = first_table(ix); t && !p.table; t = next_table(t))
		p = table_find(t, key, hash);
	return p;
}

struct object *resource_index_find(const struct resource_index *ix, struct str key)
{
	return index_find(ix, key, hash_of(ix, key)).object;
}

static void drop_object(void *object)
{
	object_unref(object);
}

static void index_add(struct resource_index *ix, struct object *o, uint64_t hash)
{
	struct index_table *t = first_table(ix), *next = t ? next_table(t) : NULL;

	if (!t) {
		t = table_new(0);
		table_add(t, o, hash);
		atomic_store_explicit(&ix->table, t, memory_order_seq_cst);
		return;
	}
	table_add(next ? next : t, o, hash);
}

void resource_index_put(struct resource_index *ix, struct object *o)
{
	uint64_t hash = hash_of(ix, o->key);
	struct index_place p = index_find(ix, o->key, hash);

	(void)object_ref(o);
	if (p.table) {
		atomic_store_explicit(&p.table->slots[p.at], o, memory_order_seq_cst);
		reclaim_retire(ix->reclaim, p.object, drop_object);
	} else {
		index_add(ix, o, hash);
	}
	index_step(ix);
}

void resource_index_remove(struct resource_index *ix, struct str key)
{
	struct index_place p = index_find(ix, key, hash_of(ix, key));

	if (!p.table)
		return;
	table_remove(p.table, p.at);
	table_tidy(p.table, p.at);
	reclaim_retire(ix->reclaim, p.object, drop_object);
	index_step(ix);
}

void resource_index_reset(struct resource_index *ix, const struct resource_blocks *b)
{
	struct index_table *old = first_table(ix), *t = b->count ? table_new(b->count) : NULL;
	struct resource_place at = { 0 };
	struct object *o;

	while ((o = resource_blocks_next(b, &at)))
		table_add(t, object_ref(o), hash_of(ix, o->key));
	atomic_store_explicit(&ix->table, t, memory_order_seq_cst);
	while (old) {
		struct index_table *next = next_table(old);

		reclaim_retire(ix->reclaim, old, table_free);
		old = next;
	}
}

size_t resource_index_count(const struct resource_index *ix)
{
	size_t n = 0;

	for (struct index_table *t = first_table(ix); t; t = next_table(t))
		n += t->n;
	return n;
}

size_t resource_index_bytes(const struct resource_index *ix)
{
	size_t n = sizeof(*ix);

	for (struct index_table *t = first_table(ix); t; t = next_table(t))
		n += table_bytes(t->cap);
	return n;
}
