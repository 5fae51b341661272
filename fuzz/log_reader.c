/*
 * Any bytes as a container's log: what comes out does not depend on the pieces that it comes in,
 * and limits hold. The first bytes choose the options.
 */
#include "node/logs/reader.h"
#include "target.h"

enum { IN_MAX = 64 * 1024 };

static void read_all(const struct log_reader_opts *o, struct str in, size_t piece, struct buf *out)
{
	struct log_reader r;

	log_reader_init(&r, o);
	while (in.n > 0) {
		struct str now = str_of(in.p, MIN(piece, in.n));
		size_t before = out->n;
		bool done = log_reader_feed(&r, now, out);

		require(out->n - before <= 2 * now.n + LOG_READER_HEAD_MAX);
		if (done)
			break;
		in = str_skip(in, now.n);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct buf whole = BUF_INIT(4 * IN_MAX), pieces = BUF_INIT(4 * IN_MAX);
	struct log_reader_opts o = { .records = -1 };
	struct str in;

	if (size < 4 || size > IN_MAX)
		return 0;
	o.timestamps = data[0] & 1;
	o.no_stdout = data[0] & 2;
	o.no_stderr = data[0] & 4;
	o.has_since = data[0] & 8;
	o.since.seconds = 1700000000;
	o.limit_bytes = data[1];
	o.records = data[2] == 0 ? -1 : data[2];
	in = str_of(data + 4, size - 4);
	read_all(&o, in, SIZE_MAX, &whole);
	read_all(&o, in, 1 + data[3] % 7, &pieces);
	require(!whole.overflow && str_eq(buf_str(&whole), buf_str(&pieces)));
	require(o.limit_bytes == 0 || whole.n <= (size_t)o.limit_bytes);
	buf_release(&whole);
	buf_release(&pieces);
	return 0;
}
