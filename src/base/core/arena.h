/*
 * arena - memory that dies together, as a request does.
 *
 * Allocation is a pointer bump; nothing is freed alone. An arena may start in
 * a block of its owner's, so that a small request costs no allocation at all.
 * arena_alloc() never fails and is for sizes that we choose; arena_try_alloc()
 * honours the limit and is for sizes that input chooses.
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
	char *own; /* the owner's first block, or NULL */
	size_t own_size;
	size_t used, max; /* bytes obtained from the heap; limit of arena_try_alloc */
	bool refused; /* arena_try_alloc has; until the arena is cleared */
};

/* `max` limits what arena_try_alloc may take from the heap. */
void arena_init(struct arena *a, size_t max);

/* The same, beginning in `block`, which must outlive the arena. */
void arena_init_in(struct arena *a, size_t max, void *block, size_t size);

/* What comes next begins in `block`, which must outlive the arena, or its next clearing. */
void arena_lend(struct arena *a, void *block, size_t size);

/* Drops what is held, in reverse order, and frees all; usable again as new. */
void arena_clear(struct arena *a);
void arena_release(struct arena *a);

/* Aligned for any type; not cleared. */
void *arena_alloc(struct arena *a, size_t n) __attribute__((alloc_size(2), returns_nonnull));
void *arena_calloc(struct arena *a, size_t n) __attribute__((alloc_size(2), returns_nonnull));

/* NULL when the limit would be passed. */
void *arena_try_alloc(struct arena *a, size_t n) __attribute__((alloc_size(2)));

#define ARENA_NEW(a, type)      ((type *)arena_calloc((a), sizeof(type)))
#define ARENA_ARRAY(a, type, n) ((type *)arena_calloc((a), sizeof(type) * (n)))

/* Copies, NUL-terminated. */
char *arena_strdup(struct arena *a, struct str s);
struct str arena_str(struct arena *a, struct str s);
struct str *arena_strs(struct arena *a, const struct str *v, size_t n); /* each one; NULL: none */
struct str arena_lower(struct arena *a, struct str s); /* ASCII letters in lower case */
char *arena_printf(struct arena *a, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Calls drop(object) when the arena is cleared: a reference lives as long. */
void arena_hold(struct arena *a, void (*drop)(void *object), void *object);

static inline void arena_release_cleanup(struct arena *a)
{
	arena_release(a);
}

#endif
