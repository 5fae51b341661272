/*
 * Memory for nghttp2. Memory of a stream or a frame comes from the loop's recycler. Each session
 * holds a buffer of 16 KiB in which it builds frames; since bodies are sent by reference, only its
 * first bytes are ever used. From malloc it would be memory that was used before, and stay resident
 * for idle connections. As pages of its own, only one page is resident.
 */
#include "net/http/http2.h"

#include <sys/mman.h>

#include "base/system/recycler.h"
#include "net/loop/loop.h"

enum { PAGES_ABOVE = 16 * 1024 };

static struct http2_pages *find_pages(struct http2 *x, const void *p)
{
	for (size_t i = 0; i < ARRAY_SIZE(x->pages); i++)
		if (x->pages[i].p == p)
			return &x->pages[i];
	return NULL;
}

static void *pages_new(struct http2_pages *slot, size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	*slot = (struct http2_pages){ .p = p, .size = size };
	return p;
}

static struct recycler *recycler_of(const struct http2 *x)
{
	return loop_recycler(x->h.loop);
}

static void *mem_malloc(size_t size, void *user)
{
	struct http2_pages *slot = size >= PAGES_ABOVE ? find_pages(user, NULL) : NULL;
	void *p = slot ? pages_new(slot, size) : NULL;

	return p ? p : recycler_alloc(recycler_of(user), size);
}

static void mem_free(void *p, void *user)
{
	struct http2_pages *slot = p ? find_pages(user, p) : NULL;

	if (!slot) {
		recycler_free(recycler_of(user), p);
		return;
	}
	(void)munmap(slot->p, slot->size);
	slot->p = NULL;
}

static void *mem_calloc(size_t count, size_t size, void *user)
{
	size_t n;
	void *p;

	if (__builtin_mul_overflow(count, size, &n))
		return NULL;
	p = mem_malloc(n, user);
	memset(p, 0, n);
	return p;
}

static void *mem_realloc(void *p, size_t size, void *user)
{
	struct http2_pages *slot = p ? find_pages(user, p) : NULL;
	void *copy;

	if (!p)
		return mem_malloc(size, user);
	if (!slot)
		return recycler_realloc(recycler_of(user), p, size);
	copy = recycler_alloc(recycler_of(user), size);
	memcpy(copy, p, MIN(size, slot->size));
	mem_free(p, user);
	return copy;
}

nghttp2_mem http2_mem(struct http2 *x)
{
	return (nghttp2_mem){ .mem_user_data = x,
			      .malloc = mem_malloc,
			      .free = mem_free,
			      .calloc = mem_calloc,
			      .realloc = mem_realloc };
}
