/*
 * An array of blocks. Each entry has its block's first key, so that a search reads only the
 * entries. Whether a block is shared can be checked without a lock: only the state's loop takes
 * references, other threads only drop them. A full block is split in two, except at the end:
 * objects that are added in key order fill each block. Neighbouring blocks are merged if the
 * result is at most half full, so that the next change does not split it again.
 */
#include "server/cache/blocks.h"

#include <assert.h>
#include <stdlib.h>

#include "base/core/mem.h"

struct resource_blocks_entry {
	struct str first; /* key of the block's first object, which owns the text */
	struct resource_block *block;
};

void resource_blocks_init(struct resource_blocks *b)
{
	*b = (struct resource_blocks){ 0 };
}

void resource_blocks_clear(struct resource_blocks *b)
{
	for (size_t i = 0; i < b->n; i++)
		resource_block_unref(b->v[i].block);
	free(b->v);
	resource_blocks_init(b);
}

/* --- finding ---------------------------------------------------------------------- */

/* Whether the wanted place is after this key. */
static bool lies_behind(struct str key, struct str sought, bool behind)
{
	int c = str_cmp(key, sought);

	return c < 0 || (behind && c == 0);
}

/*
 * Searches fetch the two keys ahead of which one comes next: each key is elsewhere in memory, and
 * waiting for them took most of the time.
 */
static size_t middle(size_t low, size_t high)
{
	return low + (high - low) / 2;
}

/* The block that contains the place, or ends with it; 0 if it is before all. */
static size_t find_block(const struct resource_blocks *b, struct str key, bool behind)
{
	size_t low = 0, high = b->n;

	while (low < high) {
		size_t mid = middle(low, high);

		__builtin_prefetch(b->v[middle(low, mid)].first.p);
		__builtin_prefetch(b->v[MIN(middle(mid + 1, high), b->n - 1)].first.p);
		if (lies_behind(b->v[mid].first, key, behind))
			low = mid + 1;
		else
			high = mid;
	}
	return low ? low - 1 : 0;
}

static struct str key_at(const struct resource_block *k, size_t at)
{
	return str_of(k->key[at], k->key_n[at]);
}

static size_t find_in(const struct resource_block *k, struct str key, bool behind)
{
	size_t low = 0, high = k->n;

	while (low < high) {
		size_t mid = middle(low, high);

		__builtin_prefetch(k->key[middle(low, mid)]);
		__builtin_prefetch(k->key[MIN(middle(mid + 1, high), (size_t)k->n - 1)]);
		if (lies_behind(key_at(k, mid), key, behind))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct resource_place resource_blocks_seek(const struct resource_blocks *b, struct str key,
					   bool behind)
{
	struct resource_place p = { 0 };

	if (!b->n)
		return p;
	p.block = find_block(b, key, behind);
	p.at = find_in(b->v[p.block].block, key, behind);
	if (p.at == b->v[p.block].block->n)
		p = (struct resource_place){ .block = p.block + 1 };
	return p;
}

/* The place where a key is, or would be. */
static struct resource_place blocks_place_of(const struct resource_blocks *b, struct str key)
{
	struct resource_place p = { .block = find_block(b, key, true) };

	p.at = find_in(b->v[p.block].block, key, false);
	return p;
}

/* The object at a place if it has that key; else NULL. */
static struct object *object_at_place(const struct resource_blocks *b, struct resource_place p,
				      struct str key)
{
	const struct resource_block *k = b->v[p.block].block;

	return p.at < k->n && str_eq(key_at(k, p.at), key) ? k->items[p.at] : NULL;
}

struct object *resource_blocks_find(const struct resource_blocks *b, struct str key)
{
	return b->n ? object_at_place(b, blocks_place_of(b, key), key) : NULL;
}

struct object *resource_blocks_next(const struct resource_blocks *b, struct resource_place *at)
{
	const struct resource_block *k;
	struct object *o;

	if (at->block >= b->n)
		return NULL;
	k = b->v[at->block].block;
	o = k->items[at->at++];
	if (at->at == k->n)
		*at = (struct resource_place){ .block = at->block + 1 };
	return o;
}

/* --- changing --------------------------------------------------------------------- */

static void add_entry(struct resource_blocks *b, size_t at, struct resource_block *k)
{
	if (b->n == b->cap) {
		b->cap = MAX(b->cap * 2, (size_t)4);
		b->v = xrealloc(b->v, b->cap * sizeof(*b->v));
	}
	memmove(b->v + at + 1, b->v + at, (b->n - at) * sizeof(*b->v));
	b->v[at] = (struct resource_blocks_entry){ .block = k };
	b->n++;
}

/* Removes the entry of a block that was emptied or moved. */
static void drop_entry(struct resource_blocks *b, size_t at)
{
	free(b->v[at].block);
	b->n--;
	memmove(b->v + at, b->v + at + 1, (b->n - at) * sizeof(*b->v));
}

static void set_first(struct resource_blocks *b, size_t at)
{
	b->v[at].first = key_at(b->v[at].block, 0);
}

static void set_at(struct resource_block *k, size_t at, struct object *o)
{
	k->key[at] = o->key.p;
	k->key_n[at] = (uint32_t)o->key.n;
	k->items[at] = o;
}

/* Moves a run of objects, also within one block. The source no longer owns their references. */
static void move_run(struct resource_block *to, size_t at, const struct resource_block *from,
		     size_t from_at, size_t n)
{
	memmove(to->key + at, from->key + from_at, n * sizeof(to->key[0]));
	memmove(to->key_n + at, from->key_n + from_at, n * sizeof(to->key_n[0]));
	memmove(to->items + at, from->items + from_at, n * sizeof(to->items[0]));
}

/* The block, unshared: makes a copy if it is shared. */
static struct resource_block *own(struct resource_blocks *b, size_t at)
{
	struct resource_block *k = b->v[at].block, *mine;

	if (atomic_load_explicit(&k->refs, memory_order_acquire) == 1)
		return k;
	mine = resource_block_new();
	move_run(mine, 0, k, 0, k->n);
	for (uint32_t i = 0; i < k->n; i++) {
		resource_fetch_ahead(k->items, k->n, i);
		(void)object_ref(k->items[i]);
	}
	mine->n = k->n;
	mine->bytes = k->bytes;
	b->v[at].block = mine;
	resource_block_unref(k);
	return mine;
}

/* Moves the objects from `at` on to the end of another block; both blocks are unshared. */
static void move_tail(struct resource_block *from, size_t at, struct resource_block *to)
{
	size_t n = from->n - at, bytes = at ? 0 : from->bytes;

	for (size_t i = at; at && i < from->n; i++) {
		resource_fetch_ahead(from->items, from->n, i);
		bytes += object_item_size(from->items[i]);
	}
	move_run(to, to->n, from, at, n);
	to->n += (uint32_t)n;
	to->bytes += bytes;
	from->n -= (uint32_t)n;
	from->bytes -= bytes;
}

/* Makes room for one object at a place in a full block; adjusts the place. */
static void blocks_make_room(struct resource_blocks *b, struct resource_place *p)
{
	struct resource_block *k, *next = resource_block_new();
	bool at_end = p->block + 1 == b->n && p->at == RESOURCE_BLOCK_MAX;

	add_entry(b, p->block + 1, next);
	if (at_end) {
		*p = (struct resource_place){ .block = p->block + 1 };
		return;
	}
	k = own(b, p->block);
	move_tail(k, RESOURCE_BLOCK_MAX / 2, next);
	set_first(b, p->block + 1);
	if (p->at > k->n)
		*p = (struct resource_place){ .block = p->block + 1, .at = p->at - k->n };
}

static void blocks_insert(struct resource_blocks *b, struct resource_place p, struct object *o)
{
	struct resource_block *k;

	if (b->v[p.block].block->n == RESOURCE_BLOCK_MAX)
		blocks_make_room(b, &p);
	k = own(b, p.block);
	move_run(k, p.at + 1, k, p.at, k->n - p.at);
	set_at(k, p.at, o);
	k->n++;
	k->bytes += object_item_size(o);
	b->count++;
	set_first(b, p.block);
}

static void blocks_replace(struct resource_blocks *b, struct resource_place p, struct object *o)
{
	struct resource_block *k = own(b, p.block);

	k->bytes += object_item_size(o);
	k->bytes -= object_item_size(k->items[p.at]);
	set_at(k, p.at, o);
	set_first(b, p.block);
}

/* As blocks_place_of(), but checks the end first, where objects are often added. */
static struct resource_place place_for(const struct resource_blocks *b, struct str key)
{
	const struct resource_block *last = b->v[b->n - 1].block;

	if (last->n && str_cmp(key_at(last, last->n - 1), key) >= 0)
		return blocks_place_of(b, key);
	return (struct resource_place){ b->n - 1, last->n };
}

struct object *resource_blocks_put(struct resource_blocks *b, struct object *o)
{
	struct resource_place p;
	struct object *before;

	if (!b->n)
		add_entry(b, 0, resource_block_new());
	p = place_for(b, o->key);
	before = object_at_place(b, p, o->key);
	if (before)
		blocks_replace(b, p, o);
	else
		blocks_insert(b, p, o);
	return before;
}

/* Merges a block with the next one if both have few objects. */
static void blocks_join(struct resource_blocks *b, size_t at)
{
	if (at + 1 >= b->n || b->v[at].block->n + b->v[at + 1].block->n > RESOURCE_BLOCK_MAX / 2)
		return;
	move_tail(own(b, at + 1), 0, own(b, at));
	drop_entry(b, at + 1);
}

void resource_blocks_remove(struct resource_blocks *b, const struct object *o)
{
	struct resource_place p = blocks_place_of(b, o->key);
	struct resource_block *k = own(b, p.block);

	assert(k->items[p.at] == o);
	k->n--;
	k->bytes -= object_item_size(o);
	b->count--;
	move_run(k, p.at, k, p.at + 1, k->n - p.at);
	if (k->n) {
		set_first(b, p.block);
		blocks_join(b, p.block);
	} else {
		drop_entry(b, p.block);
	}
	if (p.block)
		blocks_join(b, p.block - 1);
}

/* --- snapshots of ranges ---------------------------------------------------------- */

size_t resource_blocks_between(const struct resource_blocks *b, struct resource_place from,
			       struct resource_place to)
{
	size_t n = to.at;

	if (to.block < from.block)
		return 0;
	for (size_t i = from.block; i < to.block; i++)
		n += b->v[i].block->n;
	return n > from.at ? n - from.at : 0;
}

struct resource_snapshot *resource_blocks_take(const struct resource_blocks *b,
					       struct resource_place from, size_t n)
{
	struct resource_snapshot *s;
	size_t end = from.block;

	for (size_t seen = 0, at = from.at; seen < n; at = 0)
		seen += b->v[end++].block->n - at;
	s = resource_snapshot_new(n, end - from.block);
	for (size_t i = from.block, at = from.at; i < end; i++, at = 0) {
		struct resource_block *k = b->v[i].block;

		if (at == 0 && k->n <= n - s->n)
			resource_snapshot_add_block(s, k);
		else
			resource_snapshot_add_run(s, k->items + at, MIN(k->n - at, n - s->n));
	}
	return s;
}
