/*
 * recycler - memory for short-lived objects of each request, in a few sizes.
 *
 * Freed memory is kept by size, up to a limit, and reused. malloc does so for seven objects of a
 * size; the streams of one read are more, and then it searches, merges and locks. A recycler
 * belongs to one thread. A NULL recycler keeps nothing.
 */
#ifndef BASE_SYSTEM_RECYCLER_H
#define BASE_SYSTEM_RECYCLER_H

#include <stddef.h>

enum {
	RECYCLER_STEP = 128, /* sizes are multiples of it */
	RECYCLER_SIZES = 192, /* larger sizes come from malloc */
	RECYCLER_KEPT = 2 * 1024 * 1024, /* bytes: some 300 requests that only read */
};

struct recycler {
	struct recycled *free[RECYCLER_SIZES];
	size_t kept; /* bytes of these */
};

void recycler_init(struct recycler *r);

/* Frees the kept memory. Memory still in use may be freed to a different recycler, or to NULL. */
void recycler_release(struct recycler *r);

/* Not cleared. Cannot fail, like mem.h. */
void *recycler_alloc(struct recycler *r, size_t n) __attribute__((returns_nonnull));

/* `p` must come from recycler_alloc(), or be NULL. */
void *recycler_realloc(struct recycler *r, void *p, size_t n) __attribute__((returns_nonnull));
void recycler_free(struct recycler *r, void *p);

#endif
