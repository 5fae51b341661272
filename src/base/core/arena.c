/*
 * Blocks double from 4 KiB up to 256 KiB. A larger request gets its own block, which does not
 * become the current one, so that a big body does not waste the room left there.
 */
#include "base/core/arena.h"

#include <stdint.h>

#include "base/core/mem.h"

enum {
	ARENA_ALIGN = 16,
	ARENA_BLOCK_MIN = 4096,
	ARENA_BLOCK_MAX = 256 * 1024,
};

struct arena_block {
	struct arena_block *next;
	size_t size;
	_Alignas(ARENA_ALIGN) char data[];
};

struct arena_held {
	struct arena_held *next;
	void (*drop)(void *object);
	void *object;
};

void arena_init_in(struct arena *a, size_t max, void *block, size_t size)
{
	*a = (struct arena){ .own = block, .own_size = size, .max = max };
	a->at = a->own;
	a->end = a->own ? a->own + size : NULL;
}

void arena_init(struct arena *a, size_t max)
{
	arena_init_in(a, max, NULL, 0);
}

void arena_lend(struct arena *a, void *block, size_t size)
{
	a->at = block;
	a->end = a->at + size;
}

void arena_clear(struct arena *a)
{
	struct arena_block *block;

	while (a->held) {
		struct arena_held *h = a->held;

		a->held = h->next;
		h->drop(h->object);
	}
	while ((block = a->blocks)) {
		a->blocks = block->next;
		free(block);
	}
	arena_init_in(a, a->max, a->own, a->own_size);
}

void arena_release(struct arena *a)
{
	arena_clear(a);
}

static struct arena_block *block_new(struct arena *a, size_t size)
{
	struct arena_block *b = xmalloc(sizeof(*b) + size);

	b->size = size;
	b->next = a->blocks;
	a->blocks = b;
	a->used += sizeof(*b) + size;
	return b;
}

/* From a new block of at most `room` bytes, which n does not exceed. */
static void *alloc_slow(struct arena *a, size_t n, size_t room)
{
	size_t size = a->blocks ? a->blocks->size * 2 : ARENA_BLOCK_MIN;
	struct arena_block *b;

	size = MIN(MAX(size, (size_t)ARENA_BLOCK_MIN), (size_t)ARENA_BLOCK_MAX);
	size = MIN(size, room);
	if (n > size / 2)
		return block_new(a, n)->data;
	b = block_new(a, size);
	a->at = b->data + n;
	a->end = b->data + size;
	return b->data;
}

/* From the newest block; NULL if it lacks the room. */
static inline void *alloc_fast(struct arena *a, size_t n)
{
	uintptr_t at = ALIGN_UP((uintptr_t)a->at, ARENA_ALIGN);

	if (UNLIKELY(!a->at || at > (uintptr_t)a->end || n > (uintptr_t)a->end - at))
		return NULL;
	a->at = (char *)at + n;
	return (char *)at;
}

void *arena_alloc(struct arena *a, size_t n)
{
	void *p;

	n = MAX(n, (size_t)1);
	p = alloc_fast(a, n);
	return LIKELY(p) ? p : alloc_slow(a, n, SIZE_MAX);
}

void *arena_try_alloc(struct arena *a, size_t n)
{
	size_t room;
	void *p;

	n = MAX(n, (size_t)1);
	p = alloc_fast(a, n);
	if (LIKELY(p))
		return p;
	room = a->used < a->max ? a->max - a->used : 0;
	if (room < sizeof(struct arena_block) || n > room - sizeof(struct arena_block)) {
		a->refused = true;
		return NULL;
	}
	return alloc_slow(a, n, room - sizeof(struct arena_block));
}

void *arena_calloc(struct arena *a, size_t n)
{
	return memset(arena_alloc(a, n), 0, n);
}

struct str arena_str(struct arena *a, struct str s)
{
	return str_of(arena_strdup(a, s), s.n);
}

struct str *arena_strs(struct arena *a, const struct str *v, size_t n)
{
	struct str *copy = n > 0 ? ARENA_ARRAY(a, struct str, n) : NULL;

	for (size_t i = 0; i < n; i++)
		copy[i] = arena_str(a, v[i]);
	return copy;
}

struct str arena_lower(struct arena *a, struct str s)
{
	char *p = arena_strdup(a, s);

	for (size_t i = 0; i < s.n; i++)
		if (p[i] >= 'A' && p[i] <= 'Z')
			p[i] = (char)(p[i] | 0x20);
	return str_of(p, s.n);
}

char *arena_strdup(struct arena *a, struct str s)
{
	char *p = arena_alloc(a, s.n + 1);

	str_put(p, s);
	p[s.n] = '\0';
	return p;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	if (n < 0)
		return arena_strdup(a, STR_NULL);
	p = arena_alloc(a, (size_t)n + 1);
	va_start(ap, fmt);
	(void)vsnprintf(p, (size_t)n + 1, fmt, ap);
	va_end(ap);
	return p;
}

void arena_hold(struct arena *a, void (*drop)(void *object), void *object)
{
	struct arena_held *h = arena_alloc(a, sizeof(*h));

	*h = (struct arena_held){ .next = a->held, .drop = drop, .object = object };
	a->held = h;
}
