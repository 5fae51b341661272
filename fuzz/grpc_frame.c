/*
 * The gRPC frame decoder: the same bytes whole and cut at random must give the
 * same messages and end in the same way, with messages within the limit.
 * Byte 0 chooses the encoding and the seed of the cuts.
 */
#include <stdint.h>

#include "base/core/map.h"
#include "base/core/random.h"
#include "grpc/frame.h"
#include "target.h"

enum { MESSAGE_MAX = 4 * 1024 };

struct outcome {
	uint64_t hash; /* of all messages in order */
	size_t messages;
	int result; /* 0, or the failure */
	bool partial;
};

/* Feeds one piece; false when the stream has failed. */
static bool feed(struct grpc_frame *f, struct str piece, struct outcome *o)
{
	struct str message;
	struct error err;
	int r;

	while ((r = grpc_frame_next(f, &piece, &message, &err)) > 0) {
		if (message.n > MESSAGE_MAX)
			abort();
		o->hash = hash_bytes(message, o->hash);
		o->messages++;
		grpc_frame_drop(f);
	}
	if (r == 0 && piece.n)
		abort();
	o->result = r;
	return r == 0;
}

static struct outcome decode(struct str in, bool gzip, struct prng *cuts)
{
	struct outcome o = { 0 };
	struct grpc_frame f;

	grpc_frame_init(&f, MESSAGE_MAX);
	(void)grpc_frame_set_encoding(&f, gzip ? STR("gzip") : STR_NULL, NULL);
	while (in.n) {
		size_t n = cuts ? 1 + (size_t)prng_below(cuts, MIN(in.n, (size_t)64)) : in.n;

		if (!feed(&f, str_of(in.p, n), &o))
			break;
		in = str_skip(in, n);
	}
	o.partial = grpc_frame_partial(&f);
	grpc_frame_release(&f);
	return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct outcome whole, cut;
	struct prng g;
	struct str in;

	if (size == 0)
		return 0;
	in = str_of(data + 1, size - 1);
	prng_init(&g, data[0]);
	whole = decode(in, data[0] & 1, NULL);
	cut = decode(in, data[0] & 1, &g);
	if (whole.hash != cut.hash || whole.messages != cut.messages ||
	    whole.result != cut.result || whole.partial != cut.partial)
		abort();
	return 0;
}
