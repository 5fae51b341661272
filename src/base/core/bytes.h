/*
 * bytes - immutable, reference-counted bytes, shared by many readers.
 *
 * Its creator fills it in, then shares it; after that it never changes. The count is atomic: any
 * thread may hold and drop references. `struct slice` is a part of such bytes, or of static memory
 * if its owner is NULL.
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

/* One reference; the content is not set. n must be below 4 GiB. */
struct bytes *bytes_new(size_t n);
struct bytes *bytes_copy(struct str s);
struct bytes *bytes_ref(struct bytes *b);
void bytes_unref(struct bytes *b); /* NULL allowed */

static inline struct str bytes_str(const struct bytes *b)
{
	return str_of(b->data, b->n);
}

/* The holder of a slice holds one reference to its owner. */
struct slice {
	const char *p;
	size_t n;
	struct bytes *owner; /* NULL: static bytes */
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
