/*
 * recycler - memory for what comes and goes with every request, in a few sizes.
 *
 * What is given back is kept by its size, up to a bound, and handed out again. malloc does so for
 * seven of a size; the streams of one read are more, and then it searches, merges and locks. A
 * recycler belongs to one thread. NULL is one that keeps nothing.
 */
#ifndef BASE_SYSTEM_RECYCLER_H
#define BASE_SYSTEM_RECYCLER_H

#include <stddef.h>

enum {
	RECYCLER_STEP = 128, /* sizes are multiples of it */
	RECYCLER_SIZES = 192, /* more than the largest of these is malloc's */
	RECYCLER_KEPT = 2 * 1024 * 1024, /* bytes: of some 300 requests that only read */
};

struct recycler {
	struct recycled *free[RECYCLER_SIZES];
	size_t kept; /* bytes of these */
};

void recycler_init(struct recycler *r);

/* Frees what is kept. What is still in use may be given back to another, or to NULL. */
void recycler_release(struct recycler *r);

/* Not cleared. Cannot fail, as all of mem.h. */
void *recycler_alloc(struct recycler *r, size_t n) __attribute__((returns_nonnull));

/* Of memory of recycler_alloc(), or NULL. */
void *recycler_realloc(struct recycler *r, void *p, size_t n) __attribute__((returns_nonnull));
void recycler_free(struct recycler *r, void *p);

#endif
