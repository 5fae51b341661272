/*
 * The last reader frees: release on the decrement, acquire before the free, so that every thread's
 * reads happen before the memory is freed.
 */
#include "base/core/bytes.h"

#include <assert.h>

#include "base/core/mem.h"

struct bytes *bytes_new(size_t n)
{
	struct bytes *b;

	assert(n < UINT32_MAX);
	b = xmalloc(sizeof(*b) + n + 1);
	atomic_init(&b->refs, 1);
	b->n = (uint32_t)n;
	b->data[n] = '\0';
	return b;
}

struct bytes *bytes_copy(struct str s)
{
	struct bytes *b = bytes_new(s.n);

	str_put(b->data, s);
	return b;
}

struct bytes *bytes_ref(struct bytes *b)
{
	atomic_fetch_add_explicit(&b->refs, 1, memory_order_relaxed);
	return b;
}

void bytes_unref(struct bytes *b)
{
	if (b && atomic_fetch_sub_explicit(&b->refs, 1, memory_order_acq_rel) == 1)
		free(b);
}

struct slice slice_part(struct bytes *b, size_t at, size_t n)
{
	assert(at <= b->n && n <= b->n - at);
	return (struct slice){ .p = b->data + at, .n = n, .owner = bytes_ref(b) };
}

struct slice slice_of(struct bytes *b)
{
	return slice_part(b, 0, b->n);
}
