/*
 * A message's length precedes it but is known only after it. One byte is reserved for it, which
 * nearly always suffices; larger messages are moved. That happens once per level, and costs less
 * than computing all sizes first.
 */
#include "api/codec/protobuf_wire.h"

#include <assert.h>
#include <inttypes.h>

enum {
	TYPE_BITS = 3,
	NUMBER_MAX = (1 << 29) - 1,
	MORE = 0x80, /* in a byte of a varint: another byte follows */
};

/* --- reading ---------------------------------------------------------------------- */

static int cut_off(struct error *err)
{
	return error_set(err, ERR_BAD_REQUEST, "unexpected EOF");
}

int wire_take_varint(struct str *rest, uint64_t *ret_value, struct error *err)
{
	uint64_t value = 0;

	for (size_t i = 0; i < WIRE_VARINT_MAX; i++) {
		unsigned char c;

		if (i == rest->n)
			return cut_off(err);
		c = (unsigned char)rest->p[i];
		value |= (uint64_t)(c & (MORE - 1)) << (7 * i);
		if (c & MORE)
			continue;
		*rest = str_of(rest->p + i + 1, rest->n - i - 1);
		*ret_value = value;
		return 0;
	}
	return error_set(err, ERR_BAD_REQUEST, "proto: integer overflow");
}

static int take_fixed(struct str *rest, size_t n, uint64_t *ret_value, struct error *err)
{
	uint64_t value = 0;

	if (rest->n < n)
		return cut_off(err);
	for (size_t i = 0; i < n; i++)
		value |= (uint64_t)(unsigned char)rest->p[i] << (8 * i);
	*rest = str_of(rest->p + n, rest->n - n);
	*ret_value = value;
	return 0;
}

static int take_bytes(struct str *rest, struct str *ret_bytes, struct error *err)
{
	uint64_t n;
	int r = wire_take_varint(rest, &n, err);

	if (r < 0)
		return r;
	if (n > INT64_MAX)
		return error_set(err, ERR_BAD_REQUEST,
				 "proto: negative length found during unmarshaling");
	if (n > rest->n)
		return cut_off(err);
	*ret_bytes = str_of(rest->p, (size_t)n);
	*rest = str_of(rest->p + n, rest->n - (size_t)n);
	return 0;
}

static int take_tag(struct str *rest, struct wire_field *f, struct error *err)
{
	uint64_t tag;
	int r = wire_take_varint(rest, &tag, err);

	if (r < 0)
		return r;
	if (tag >> TYPE_BITS == 0 || tag >> TYPE_BITS > NUMBER_MAX)
		return error_set(err, ERR_BAD_REQUEST,
				 "proto: illegal tag %" PRIu64 " (wire type %" PRIu64 ")",
				 tag >> TYPE_BITS, tag & ((1 << TYPE_BITS) - 1));
	*f = (struct wire_field){ .number = (uint32_t)(tag >> TYPE_BITS),
				  .type = (enum wire_type)(tag & ((1 << TYPE_BITS) - 1)) };
	return 0;
}

/* Reads what follows the tag of a field that is not a group. */
static int take_content(struct str *rest, struct wire_field *f, struct error *err)
{
	switch (f->type) {
	case WIRE_VARINT:
		return wire_take_varint(rest, &f->value, err);
	case WIRE_FIXED64:
		return take_fixed(rest, 8, &f->value, err);
	case WIRE_FIXED32:
		return take_fixed(rest, 4, &f->value, err);
	case WIRE_BYTES:
		return take_bytes(rest, &f->bytes, err);
	case WIRE_GROUP:
	case WIRE_GROUP_END:
		break;
	}
	return error_set(err, ERR_BAD_REQUEST, "proto: illegal wireType %d", (int)f->type);
}

/* Groups may be nested; they are counted, not parsed. */
static int take_group(struct str *rest, struct wire_field *f, struct error *err)
{
	struct str begin = *rest;
	struct wire_field inner;
	size_t depth = 1;
	int r;

	while (depth > 0) {
		r = take_tag(rest, &inner, err);
		if (r == 0 && inner.type != WIRE_GROUP && inner.type != WIRE_GROUP_END)
			r = take_content(rest, &inner, err);
		if (r < 0)
			return r;
		depth += inner.type == WIRE_GROUP;
		depth -= inner.type == WIRE_GROUP_END;
	}
	f->bytes = str_of(begin.p, begin.n - rest->n);
	return 0;
}

int wire_next(struct str *rest, struct wire_field *ret_field, struct error *err)
{
	struct wire_field f;
	int r;

	if (rest->n == 0)
		return 0;
	r = take_tag(rest, &f, err);
	if (r < 0)
		return r;
	if (f.type == WIRE_GROUP_END)
		return error_set(err, ERR_BAD_REQUEST, "proto: wiretype end group for non-group");
	r = f.type == WIRE_GROUP ? take_group(rest, &f, err) : take_content(rest, &f, err);
	if (r < 0)
		return r;
	*ret_field = f;
	return 1;
}

/* --- writing ---------------------------------------------------------------------- */

size_t wire_varint_size(uint64_t v)
{
	size_t n = 1;

	while (v >>= 7)
		n++;
	return n;
}

size_t wire_print_varint(uint64_t v, char *out)
{
	size_t n = 0;

	for (; v >= MORE; v >>= 7)
		out[n++] = (char)(v | MORE);
	out[n++] = (char)v;
	return n;
}

void wire_put_varint(struct buf *b, uint64_t v)
{
	char text[WIRE_VARINT_MAX];

	(void)buf_add(b, text, wire_print_varint(v, text));
}

static void put_tag(struct buf *b, uint32_t number, enum wire_type type)
{
	assert(number > 0 && number <= NUMBER_MAX);
	wire_put_varint(b, (uint64_t)number << TYPE_BITS | type);
}

void wire_put_uint(struct buf *b, uint32_t number, uint64_t v)
{
	put_tag(b, number, WIRE_VARINT);
	wire_put_varint(b, v);
}

void wire_put_fixed64(struct buf *b, uint32_t number, uint64_t bits)
{
	char bytes[8];

	put_tag(b, number, WIRE_FIXED64);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(bits >> (8 * i));
	(void)buf_add(b, bytes, sizeof(bytes));
}

void wire_put_bytes(struct buf *b, uint32_t number, struct str bytes)
{
	put_tag(b, number, WIRE_BYTES);
	wire_put_varint(b, bytes.n);
	(void)buf_add(b, bytes.p, bytes.n);
}

size_t wire_open(struct buf *b, uint32_t number)
{
	put_tag(b, number, WIRE_BYTES);
	(void)buf_addc(b, 0);
	return b->n;
}

void wire_close(struct buf *b, size_t mark)
{
	static const char room[WIRE_VARINT_MAX] = { 0 };
	char text[WIRE_VARINT_MAX];
	size_t length, n;

	if (b->overflow)
		return;
	length = b->n - mark;
	n = wire_print_varint(length, text);
	if (n > 1) {
		if (buf_add(b, room, n - 1) < 0)
			return;
		memmove(b->p + mark + n - 1, b->p + mark, length);
	}
	memcpy(b->p + mark - 1, text, n);
}
