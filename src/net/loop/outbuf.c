/*
 * Consecutive copied bytes share an iovec; a slice gets its own. outbuf_room() reserves space for
 * one frame's header, body and padding, so the functions that add need not fail.
 */
#include "net/loop/outbuf.h"

#include <assert.h>

#include "base/core/mem.h"

/*
 * A frame of 16 KiB whose slices are all just too large to be copied, with a small one between each
 * two. A list is like that: objects and commas.
 */
enum { OUTBUF_FRAME = 17 * 1024, OUTBUF_FRAME_IOVS = 2 * (16 + 2) };

struct outbuf *outbuf_new(void)
{
	struct outbuf *o = xmalloc(sizeof(*o));

	o->n = 0;
	o->total = 0;
	o->scratch_n = 0;
	return o;
}

void outbuf_free(struct outbuf *o)
{
	if (!o)
		return;
	outbuf_clear(o);
	free(o);
}

bool outbuf_room(const struct outbuf *o)
{
	return o->n + OUTBUF_FRAME_IOVS <= OUTBUF_IOVS && o->total < OUTBUF_FULL &&
	       o->scratch_n + OUTBUF_FRAME <= OUTBUF_SCRATCH;
}

void outbuf_add(struct outbuf *o, const void *p, size_t n)
{
	char *at = o->scratch + o->scratch_n;
	struct iovec *last = o->n ? &o->iov[o->n - 1] : NULL;

	assert(n <= OUTBUF_SCRATCH - o->scratch_n);
	memcpy(at, p, n);
	o->scratch_n += n;
	o->total += n;
	if (last && !o->owner[o->n - 1] && (char *)last->iov_base + last->iov_len == at) {
		last->iov_len += n;
		return;
	}
	assert(o->n < OUTBUF_IOVS);
	o->owner[o->n] = NULL;
	o->iov[o->n++] = (struct iovec){ .iov_base = at, .iov_len = n };
}

void outbuf_add_slice(struct outbuf *o, struct slice s)
{
	struct iovec *last = o->n ? &o->iov[o->n - 1] : NULL;

	if (s.n <= OUTBUF_COPY_MAX) {
		if (s.n)
			outbuf_add(o, s.p, s.n);
		slice_release(&s);
		return;
	}
	if (last && s.owner && o->owner[o->n - 1] == s.owner &&
	    (const char *)last->iov_base + last->iov_len == s.p) {
		last->iov_len += s.n;
		o->total += s.n;
		slice_release(&s);
		return;
	}
	assert(o->n < OUTBUF_IOVS);
	o->owner[o->n] = s.owner;
	o->iov[o->n++] = (struct iovec){ .iov_base = (void *)(uintptr_t)s.p, .iov_len = s.n };
	o->total += s.n;
}

int outbuf_keep(struct outbuf *o, size_t written, struct slice *ret_rest)
{
	int kept = 0;

	for (int i = 0; i < o->n; i++) {
		char *p = o->iov[i].iov_base;
		size_t n = o->iov[i].iov_len;
		size_t skip = MIN(written, n);

		written -= skip;
		if (skip == n) {
			bytes_unref(o->owner[i]);
			continue;
		}
		ret_rest[kept] = (struct slice){ p + skip, n - skip, o->owner[i] };
		if (p >= o->scratch && p < o->scratch + OUTBUF_SCRATCH) {
			struct bytes *copy = bytes_copy(str_of(p + skip, n - skip));

			ret_rest[kept] = (struct slice){ copy->data, copy->n, copy };
		}
		kept++;
	}
	o->n = 0;
	o->total = 0;
	o->scratch_n = 0;
	return kept;
}

void outbuf_clear(struct outbuf *o)
{
	for (int i = 0; i < o->n; i++)
		bytes_unref(o->owner[i]);
	o->n = 0;
	o->total = 0;
	o->scratch_n = 0;
}
