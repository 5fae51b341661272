/*
 * zlib behind one step function, for both directions.
 *
 * Output goes straight into the caller's buffer, which grows piece by piece and never exceeds its
 * limit. If a stream fills the buffer to the last byte, one more byte of scratch space shows
 * whether it ends there or is too large. zlib's memory comes from xmalloc(), so creating a stream
 * cannot fail.
 */
#include "net/loop/gzip.h"

#include <assert.h>
#include <limits.h>

#include <zlib.h>

#include "base/core/mem.h"

enum {
	GZIP_WINDOW_BITS = 15 + 16, /* 16: gzip's header and trailer, and no other format's */
	GZIP_MEM_LEVEL = 8,
	GZIP_PIECE = 16 * 1024, /* by which the output buffer grows */
};

struct gzip {
	z_stream z;
	bool deflate;
	bool member; /* inflate: at least one member was read */
	bool done;
};

static void *gzip_alloc(void *opaque UNUSED, unsigned count, unsigned size)
{
	return xcalloc(count, size);
}

static void gzip_dealloc(void *opaque UNUSED, void *p)
{
	free(p);
}

static struct gzip *gzip_new(bool deflate)
{
	struct gzip *z = XNEW(struct gzip);

	z->z.zalloc = gzip_alloc;
	z->z.zfree = gzip_dealloc;
	z->deflate = deflate;
	return z;
}

struct gzip *gzip_deflate_new(int level)
{
	struct gzip *z = gzip_new(true);
	int r;

	r = deflateInit2(&z->z, level, Z_DEFLATED, GZIP_WINDOW_BITS, GZIP_MEM_LEVEL,
			 Z_DEFAULT_STRATEGY);
	assert(r == Z_OK);
	(void)r;
	return z;
}

struct gzip *gzip_inflate_new(void)
{
	struct gzip *z = gzip_new(false);
	int r = inflateInit2(&z->z, GZIP_WINDOW_BITS);

	assert(r == Z_OK);
	(void)r;
	return z;
}

void gzip_free(struct gzip *z)
{
	if (!z)
		return;
	if (z->deflate)
		(void)deflateEnd(&z->z);
	else
		(void)inflateEnd(&z->z);
	free(z);
}

static int deflate_once(struct gzip *z, bool last)
{
	int r = deflate(&z->z, last ? Z_FINISH : Z_NO_FLUSH);

	assert(r != Z_STREAM_ERROR);
	z->done = r == Z_STREAM_END;
	return 0;
}

static int inflate_once(struct gzip *z, struct error *err)
{
	int r = inflate(&z->z, Z_NO_FLUSH);

	if (r == Z_STREAM_END) {
		z->member = true;
		(void)inflateReset(&z->z); /* total_in is 0 again: between members */
		return 0;
	}
	if (r == Z_OK || r == Z_BUF_ERROR)
		return 0;
	return error_set(err, ERR_BAD_REQUEST, "gzip: %s%s",
			 z->member ? "after a complete stream: " : "",
			 z->z.msg ? z->z.msg : "broken data");
}

/* One call of zlib. Advances *in; *ret_made is the number of bytes written to `out`. */
static int once(struct gzip *z, struct str *in, bool last, char *out, size_t room, size_t *ret_made,
		struct error *err)
{
	size_t most = MIN(in->n, (size_t)UINT_MAX);
	bool end = last && most == in->n;
	int r;

	z->z.next_in = (Bytef *)(uintptr_t)in->p;
	z->z.avail_in = (unsigned)most;
	z->z.next_out = (Bytef *)out;
	z->z.avail_out = (unsigned)room;
	r = z->deflate ? deflate_once(z, end) : inflate_once(z, err);
	*in = str_skip(*in, most - z->z.avail_in);
	*ret_made = room - z->z.avail_out;
	return r;
}

/* Appends output to *out, at most `max` bytes. TOO_LARGE if it is full and there is more. */
static int step_into(struct gzip *z, struct str *in, bool last, struct buf *out, size_t max,
		     size_t *ret_made, struct error *err)
{
	size_t room = MIN(out->max - out->n, max);
	char probe;
	int r;

	if (room == 0) {
		r = once(z, in, last, &probe, 1, ret_made, err);
		if (r == 0 && *ret_made)
			return error_set(err, ERR_TOO_LARGE,
					 "gzip: the uncompressed data exceeds %zu bytes", out->max);
		return r;
	}
	(void)buf_reserve(out, MIN(room, (size_t)GZIP_PIECE));
	room = MIN(MIN(room, out->cap - out->n), (size_t)UINT_MAX);
	r = once(z, in, last, out->p + out->n, room, ret_made, err);
	out->n += *ret_made;
	out->p[out->n] = '\0';
	return r;
}

static int inflate_end(struct gzip *z, struct error *err)
{
	if (z->z.total_in || !z->member)
		return error_set(err, ERR_BAD_REQUEST, "gzip: the stream ends too early");
	z->done = true;
	return 1;
}

int gzip_step(struct gzip *z, struct str *in, bool last, struct buf *out, size_t out_max,
	      struct error *err)
{
	size_t made;
	int r;

	while (!z->done && out_max > 0) {
		r = step_into(z, in, last, out, out_max, &made, err);
		if (r < 0)
			return r;
		out_max -= made;
		/* Output space is left and input is not: nothing more can be produced now. */
		if (z->z.avail_out && in->n == 0)
			return !z->deflate && last ? inflate_end(z, err) : z->done;
	}
	return z->done;
}

/* Everything at once; on failure *out is unchanged. */
static int whole(struct gzip *z, struct str in, struct buf *out, struct error *err)
{
	size_t before = out->n;
	int r = gzip_step(z, &in, true, out, SIZE_MAX, err);

	if (r >= 0)
		return 0;
	if (out->p) {
		out->n = before;
		out->p[before] = '\0';
	}
	return r;
}

int gzip_inflate(struct str in, struct buf *out, size_t max, struct error *err)
{
	CLEANUP(gzip_free) struct gzip *z = gzip_inflate_new();
	size_t limit = out->max;
	int r;

	out->max = out->n + MIN(max, limit - out->n);
	r = whole(z, in, out, err);
	out->max = limit;
	return r;
}

int gzip_deflate(struct str in, int level, struct buf *out, struct error *err)
{
	CLEANUP(gzip_free) struct gzip *z = gzip_deflate_new(level);

	return whole(z, in, out, err);
}

uint32_t gzip_crc32(struct str s)
{
	return (uint32_t)crc32_z(0, (const Bytef *)s.p, s.n);
}
