/*
 * A prefix is collected in five bytes of our own, unless the piece contains it as a whole. A
 * message that the piece contains as a whole is returned from there. Otherwise it is collected in
 * `body`, whose limit is the message's size: the buffer doubles while the message arrives and never
 * exceeds that.
 */
#include "grpc/frame.h"

#include "grpc/grpc_limits.h"
#include "net/loop/gzip.h"

enum {
	FRAME_COMPRESSED = 1,
	FRAME_KEEP = 16 * 1024, /* larger buffers are freed after use */
};

void grpc_frame_init(struct grpc_frame *f, size_t max)
{
	*f = (struct grpc_frame){ .max = max ? max : GRPC_MESSAGE_MAX };
}

void grpc_frame_release(struct grpc_frame *f)
{
	buf_release(&f->body);
	buf_release(&f->plain);
	f->nprefix = 0;
}

int grpc_frame_set_encoding(struct grpc_frame *f, struct str encoding, struct error *err)
{
	f->gzip = str_eq(encoding, STR("gzip"));
	if (f->gzip || encoding.n == 0 || str_eq(encoding, STR("identity")))
		return 0;
	return error_set(err, ERR_UNIMPLEMENTED,
			 "grpc: Decompressor is not installed for grpc-encoding \"%.*s\"",
			 STR_ARG(encoding));
}

static size_t body_size(const struct grpc_frame *f)
{
	const unsigned char *p = f->prefix + 1;

	return (size_t)p[0] << 24 | (size_t)p[1] << 16 | (size_t)p[2] << 8 | (size_t)p[3];
}

static int check_prefix(const struct grpc_frame *f, struct error *err)
{
	size_t size = body_size(f);

	if (f->prefix[0] > FRAME_COMPRESSED)
		return error_set(err, ERR_PROTOCOL, "grpc: received unexpected payload format %u",
				 f->prefix[0]);
	if (f->prefix[0] == FRAME_COMPRESSED && !f->gzip)
		return error_set(err, ERR_PROTOCOL,
				 "grpc: compressed flag set with identity or empty encoding");
	if (size > f->max)
		return error_set(err, ERR_TOO_LARGE,
				 "grpc: received message larger than max (%zu vs. %zu)", size,
				 f->max);
	return 0;
}

/* Returns 1 if the prefix is complete, 0 if *in is used up. */
static int take_prefix(struct grpc_frame *f, struct str *in, struct error *err)
{
	size_t n = MIN(in->n, GRPC_PREFIX - (size_t)f->nprefix);
	int r;

	if (f->nprefix == GRPC_PREFIX)
		return 1;
	if (n)
		memcpy(f->prefix + f->nprefix, in->p, n);
	f->nprefix += (unsigned)n;
	*in = str_skip(*in, n);
	if (f->nprefix < GRPC_PREFIX)
		return 0;
	r = check_prefix(f, err);
	if (r < 0)
		return r;
	f->body.max = body_size(f);
	return 1;
}

static int take_body(struct grpc_frame *f, struct str *in, struct str *ret_body)
{
	size_t size = body_size(f), n;

	if (f->body.n == 0 && in->n >= size) {
		*ret_body = str_of(in->p, size);
		*in = str_skip(*in, size);
		return 1;
	}
	n = MIN(in->n, size - f->body.n);
	(void)buf_add(&f->body, in->p, n); /* within its limit by construction */
	*in = str_skip(*in, n);
	*ret_body = buf_str(&f->body);
	return f->body.n == size;
}

static int inflate(struct grpc_frame *f, struct str *body, struct error *err)
{
	int r;

	buf_clear(&f->plain);
	f->plain.max = f->max;
	r = gzip_inflate(*body, &f->plain, f->max, err);
	if (r == -ERR_TOO_LARGE)
		return error_set(err, ERR_TOO_LARGE,
				 "grpc: received message after decompression larger than max %zu",
				 f->max);
	if (r < 0)
		return error_set(err, ERR_PROTOCOL, "grpc: failed to decompress the message");
	*body = buf_str(&f->plain);
	return 0;
}

int grpc_frame_next(struct grpc_frame *f, struct str *in, struct str *ret_message,
		    struct error *err)
{
	struct str body;
	int r;

	r = take_prefix(f, in, err);
	if (r <= 0)
		return r;
	if (!take_body(f, in, &body))
		return 0;
	if (f->prefix[0] == FRAME_COMPRESSED) {
		r = inflate(f, &body, err);
		if (r < 0)
			return r;
	}
	f->nprefix = 0;
	*ret_message = body;
	return 1;
}

static void frame_drop(struct buf *b)
{
	if (b->cap > FRAME_KEEP)
		buf_release(b);
	else
		buf_clear(b);
}

void grpc_frame_drop(struct grpc_frame *f)
{
	frame_drop(&f->body);
	frame_drop(&f->plain);
}

bool grpc_frame_partial(const struct grpc_frame *f)
{
	return f->nprefix > 0;
}
