/*
 * Decodes bodies of HTTP/1.1 in place. Chunk lines are read byte by byte: they are short, and may
 * be split anywhere. Parsing is strict, except for extensions, which RFC 9112, 7.1.1, requires to
 * be ignored. Extensions and leading zeros cost us work and bring nothing, so they have a limit.
 */
#include "net/http/http1.h"
#include "net/net_limits.h"

void http1_body_begin(struct http1_body *b, const struct http1_head *head)
{
	*b = (struct http1_body){ .state = HTTP1_BODY_PLAIN };
	if (head->ended)
		b->state = HTTP1_BODY_END;
	else if (head->chunked)
		b->state = HTTP1_BODY_SIZE;
	else if (head->length >= 0)
		b->left = (uint64_t)head->length;
	else
		b->state = HTTP1_BODY_ENDLESS;
}

static bool read_size(struct http1_body *b, char ch)
{
	int digit = str_hex_digit(ch);

	if (digit < 0 || b->left > (uint64_t)INT64_MAX >> 4)
		return false;
	b->left = b->left << 4 | (uint64_t)digit;
	b->state = HTTP1_BODY_DIGITS;
	return true;
}

static bool http1_body_step(struct http1_body *b, bool ok, enum http1_body_state next)
{
	b->state = next;
	return ok;
}

/* One byte of chunk framing. */
static bool read_framing(struct http1_body *b, char ch)
{
	switch (b->state) {
	case HTTP1_BODY_SIZE:
		return read_size(b, ch);
	case HTTP1_BODY_DIGITS:
		if (ch == '\r')
			return http1_body_step(b, true, HTTP1_BODY_SIZE_LF);
		return ch == ';' ? http1_body_step(b, true, HTTP1_BODY_EXTENSION)
				 : read_size(b, ch);
	case HTTP1_BODY_EXTENSION:
		if (ch == '\r')
			return http1_body_step(b, true, HTTP1_BODY_SIZE_LF);
		return http1_is_value(str_of(&ch, 1));
	case HTTP1_BODY_SIZE_LF:
		return http1_body_step(b, ch == '\n',
				       b->left ? HTTP1_BODY_CHUNK : HTTP1_BODY_TRAILERS);
	case HTTP1_BODY_CHUNK_CR:
		return http1_body_step(b, ch == '\r', HTTP1_BODY_CHUNK_LF);
	case HTTP1_BODY_CHUNK_LF:
		return http1_body_step(b, ch == '\n', HTTP1_BODY_SIZE);
	default:
		return false;
	}
}

static struct str read_piece(struct http1_body *b, struct str in)
{
	size_t n = b->state == HTTP1_BODY_ENDLESS ? in.n : (size_t)MIN(b->left, (uint64_t)in.n);

	b->size += n;
	if (b->state == HTTP1_BODY_ENDLESS)
		return in;
	b->left -= n;
	if (b->left == 0)
		b->state = b->state == HTTP1_BODY_CHUNK ? HTTP1_BODY_CHUNK_CR : HTTP1_BODY_END;
	return str_of(in.p, n);
}

ssize_t http1_body_next(struct http1_body *b, struct str in, struct str *ret_piece,
			struct http1_fault *ret_fault)
{
	size_t at = 0;

	*ret_piece = STR_NULL;
	while (at < in.n && b->state < HTTP1_BODY_TRAILERS) {
		if (b->state == HTTP1_BODY_PLAIN || b->state == HTTP1_BODY_ENDLESS ||
		    b->state == HTTP1_BODY_CHUNK) {
			*ret_piece = read_piece(b, str_skip(in, at));
			return (ssize_t)(at + ret_piece->n);
		}
		if (!read_framing(b, in.p[at++]))
			return http1_blame(ret_fault, 400, "the chunked body is malformed");
		if (++b->framing > HTTP1_FRAMING_MAX + HTTP1_FRAMING_FACTOR * b->size)
			return http1_blame(ret_fault, 400, "the chunked body is mostly framing");
	}
	return (ssize_t)at;
}
