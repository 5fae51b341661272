/*
 * bytes - immutable, counted bytes that many readers send at once.
 *
 * Filled by its maker, then published and never changed. The count is atomic:
 * any thread may hold and drop references. `struct slice` is a piece of such
 * bytes, or of static memory when its owner is NULL.
 */
#ifndef BASE_CORE_BYTES_H
#define BASE_CORE_BYTES_H

#include <stdatomic.h>

#include "base/core/str.h"

struct bytes {
	atomic_uint refs;
	uint32_t n;
	char data[]; /* n bytes and a NUL */
};

/* One reference, content not set. n is below 4 GiB. */
struct bytes *bytes_new(size_t n);
struct bytes *bytes_copy(struct str s);
struct bytes *bytes_ref(struct bytes *b);
void bytes_unref(struct bytes *b); /* NULL allowed */

static inline struct str bytes_str(const struct bytes *b)
{
	return str_of(b->data, b->n);
}

/* Whoever holds a slice holds one reference to its owner. */
struct slice {
	const char *p;
	size_t n;
	struct bytes *owner; /* NULL: the bytes outlive everything */
};

/* A new reference to all of b, or to a part of it. */
struct slice slice_of(struct bytes *b);
struct slice slice_part(struct bytes *b, size_t at, size_t n);

/* Bytes that are never freed (literals, tables). */
static inline struct slice slice_static(struct str s)
{
	return (struct slice){ .p = s.p, .n = s.n };
}

static inline void slice_release(struct slice *s)
{
	bytes_unref(s->owner);
	*s = (struct slice){ 0 };
}

DEFINE_CLEANUP(bytes_unref, struct bytes *);

#endif
