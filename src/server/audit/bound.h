/*
 * audit_bound - the limit of a buffer of lines: their number, and AUDIT_BUFFER_BYTES.
 *
 * Any thread.
 */
#ifndef SERVER_AUDIT_BOUND_H
#define SERVER_AUDIT_BOUND_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "server/server_limits.h"

struct audit_bound {
	atomic_size_t n, bytes;
	size_t max;
};

static inline void audit_bound_init(struct audit_bound *b, size_t max)
{
	atomic_init(&b->n, 0);
	atomic_init(&b->bytes, 0);
	b->max = max;
}

static inline void audit_bound_give(struct audit_bound *b, size_t bytes)
{
	(void)atomic_fetch_sub(&b->bytes, bytes);
	(void)atomic_fetch_sub(&b->n, 1);
}

/* Whether there is room for one more line. */
static inline bool audit_bound_take(struct audit_bound *b, size_t bytes)
{
	size_t n = atomic_fetch_add(&b->n, 1), all = atomic_fetch_add(&b->bytes, bytes);

	if (n < b->max && all + bytes <= AUDIT_BUFFER_BYTES)
		return true;
	audit_bound_give(b, bytes);
	return false;
}

#endif
