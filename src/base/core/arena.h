/*
 * arena - memory that is freed together, for example at the end of a request.
 *
 * Allocation bumps a pointer; single objects are never freed. An arena may start in a block of its
 * owner, so that a small request costs no allocation at all. arena_alloc() never fails and is for
 * sizes that we choose; arena_try_alloc() honours the limit and is for sizes that input chooses.
 * Threads: one at a time.
 */
#ifndef BASE_CORE_ARENA_H
#define BASE_CORE_ARENA_H

#include <stdarg.h>

#include "base/core/str.h"

struct arena_block;
struct arena_held;

struct arena {
	char *at, *end; /* free room in the newest block */
	struct arena_block *blocks;
	struct arena_held *held;
	char *own; /* the owner's block, used first; or NULL */
	size_t own_size;
	size_t used, max; /* bytes obtained from the heap; limit of arena_try_alloc */
	bool refused; /* arena_try_alloc has failed; reset when the arena is cleared */
};

/* `max` limits how much arena_try_alloc may take from the heap. */
void arena_init(struct arena *a, size_t max);

/* The same, starting in `block`, which must outlive the arena. */
void arena_init_in(struct arena *a, size_t max, void *block, size_t size);

/* Later allocations start in `block`, which must stay valid until the arena is cleared. */
void arena_lend(struct arena *a, void *block, size_t size);

/* Drops held objects in reverse order, and frees everything. The arena can then be used again. */
void arena_clear(struct arena *a);
void arena_release(struct arena *a);

/* Aligned for any type; not cleared. */
void *arena_alloc(struct arena *a, size_t n) __attribute__((alloc_size(2), returns_nonnull));
void *arena_calloc(struct arena *a, size_t n) __attribute__((alloc_size(2), returns_nonnull));

/* Returns NULL if the limit would be exceeded. */
void *arena_try_alloc(struct arena *a, size_t n) __attribute__((alloc_size(2)));

#define ARENA_NEW(a, type)      ((type *)arena_calloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_calloc((a), sizeof(type) * (n)))

/* Copies, NUL-terminated. */
char *arena_strdup(struct arena *a, struct str s);
struct str arena_str(struct arena *a, struct str s);
struct str *arena_strs(struct arena *a, const struct str *v, size_t n); /* NULL if n is 0 */
struct str arena_lower(struct arena *a, struct str s); /* ASCII letters in lower case */
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Calls drop(object) when the arena is cleared, so that a reference lives as long as the arena. */
void arena_hold(struct arena *a, void (*drop)(void *object), void *object);

static inline void arena_release_cleanup(struct arena *a)
{
	arena_release(a);
}

#endif
