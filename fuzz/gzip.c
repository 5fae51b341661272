/*
 * Inflates the input, whole and in small steps: both must say the same. Then
 * deflates it, whatever it is, and wants it back.
 */
#include <stdint.h>

#include "base/core/limits.h"
#include "net/loop/gzip.h"
#include "target.h"

/* Small enough to be reached often: what stops bombs is tried too. */
#define OUT_MAX (64UL * KIB)

static int inflate_in_steps(struct str in, struct buf *out)
{
	CLEANUP(gzip_free) struct gzip *z = gzip_inflate_new();
	struct str piece;
	int r;

	do {
		piece = str_of(in.p, MIN(in.n, (size_t)13));
		r = gzip_step(z, &piece, piece.n == in.n, out, 61, NULL);
		in = str_skip(in, (size_t)(piece.p - in.p));
	} while (r == 0);
	return r;
}

static void check_inflate(struct str in)
{
	CLEANUP(buf_release) struct buf whole = BUF_INIT(OUT_MAX);
	CLEANUP(buf_release) struct buf steps = BUF_INIT(OUT_MAX);
	int r = gzip_inflate(in, &whole, OUT_MAX, NULL);
	int s = inflate_in_steps(in, &steps);

	if ((r < 0) != (s < 0) || (r < 0 && r != s))
		abort();
	if (r == 0 && !str_eq(buf_str(&whole), buf_str(&steps)))
		abort();
}

static void check_round_trip(struct str in)
{
	CLEANUP(buf_release) struct buf packed = BUF_INIT(in.n + KIB + in.n / 100);
	CLEANUP(buf_release) struct buf back = BUF_INIT(in.n);

	if (gzip_deflate(in, 1, &packed, NULL) < 0)
		abort();
	if (gzip_inflate(buf_str(&packed), &back, in.n, NULL) < 0)
		abort();
	if (!str_eq(buf_str(&back), in))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	check_inflate(str_of(data, size));
	check_round_trip(str_of(data, size));
	return 0;
}
