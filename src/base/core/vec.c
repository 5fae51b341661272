/*
 * The one function behind the macros of vec.h.
 */
#include "base/core/vec.h"

#include "base/core/mem.h"

enum { VEC_FIRST = 8 };

bool vec_reserve_raw(void **v, size_t *cap, size_t n, size_t max, size_t more, size_t size)
{
	size_t want;

	if (LIKELY(more <= *cap - n))
		return true;
	if (more > max || n > max - more)
		return false;
	want = MAX(*cap * 2, MAX(n + more, (size_t)VEC_FIRST));
	want = MIN(want, max);
	*v = xrealloc(*v, want * size);
	*cap = want;
	return true;
}
