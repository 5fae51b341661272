/* Each block begins with its size, so that it can be kept with others of the same size. */
#include "base/system/recycler.h"

#include <stdalign.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/compiler.h"
#include "base/core/mem.h"

/* With AddressSanitizer nothing is kept: reuse would hide a use after free. */
#if defined(__SANITIZE_ADDRESS__)
enum { KEEPS = 0 };
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
enum { KEEPS = 0 };
#else
enum { KEEPS = 1 };
#endif
#else
enum { KEEPS = 1 };
#endif

struct recycled {
	alignas(max_align_t) size_t room; /* behind this */
	struct recycled *next; /* while it is kept; else the memory's first bytes */
};

enum { HEAD = alignof(max_align_t) };
_Static_assert(offsetof(struct recycled, next) <= HEAD, "the head is one unit of alignment");

void recycler_init(struct recycler *r)
{
	*r = (struct recycler){ 0 };
}

void recycler_release(struct recycler *r)
{
	struct recycled *it;

	for (size_t i = 0; i < RECYCLER_SIZES; i++)
		while ((it = r->free[i])) {
			r->free[i] = it->next;
			free(it);
		}
	r->kept = 0;
}

/* The list for blocks of that size; RECYCLER_SIZES if they are not kept. */
static size_t list_of(size_t room)
{
	size_t at = room ? (room - 1) / RECYCLER_STEP : 0;

	return KEEPS ? MIN(at, (size_t)RECYCLER_SIZES) : RECYCLER_SIZES;
}

void *recycler_alloc(struct recycler *r, size_t n)
{
	size_t at = list_of(n), room = at < RECYCLER_SIZES ? (at + 1) * RECYCLER_STEP : n;
	struct recycled *it = r && at < RECYCLER_SIZES ? r->free[at] : NULL;

	if (it) {
		r->free[at] = it->next;
		r->kept -= room;
	} else {
		it = xmalloc(HEAD + room);
		it->room = room;
	}
	return (char *)it + HEAD;
}

static struct recycled *block_of(void *p)
{
	return (struct recycled *)((char *)p - HEAD);
}

void recycler_free(struct recycler *r, void *p)
{
	struct recycled *it = p ? block_of(p) : NULL;
	size_t at = it && r ? list_of(it->room) : RECYCLER_SIZES;

	if (at == RECYCLER_SIZES || r->kept + it->room > RECYCLER_KEPT) {
		free(it);
		return;
	}
	it->next = r->free[at];
	r->free[at] = it;
	r->kept += it->room;
}

void *recycler_realloc(struct recycler *r, void *p, size_t n)
{
	size_t room = p ? block_of(p)->room : 0;
	void *to;

	if (p && n <= room)
		return p;
	to = recycler_alloc(r, n);
	if (p)
		memcpy(to, p, room);
	recycler_free(r, p);
	return to;
}
