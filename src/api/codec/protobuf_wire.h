/*
 * protobuf_wire - fields of protobuf messages, without any schema.
 *
 * Reading takes one field after the other off the front of a message and borrows from it. Writing
 * appends to a buffer. Check the buffer's `overflow` once at the end, not after each call. Error
 * messages are those of upstream's decoder.
 */
#ifndef API_CODEC_PROTOBUF_WIRE_H
#define API_CODEC_PROTOBUF_WIRE_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/core/str.h"

enum wire_type {
	WIRE_VARINT = 0,
	WIRE_FIXED64 = 1,
	WIRE_BYTES = 2, /* text, bytes, messages and packed numbers */
	WIRE_GROUP = 3, /* obsolete; not used here, but it can be skipped */
	WIRE_GROUP_END = 4,
	WIRE_FIXED32 = 5,
};

enum { WIRE_VARINT_MAX = 10 }; /* bytes of the longest varint */

struct wire_field {
	uint32_t number; /* from 1 */
	enum wire_type type; /* never GROUP_END */
	uint64_t value; /* of a varint or of fixed bits */
	/* Of BYTES; for a GROUP, everything after its start tag, including the end tag. */
	struct str bytes;
};

/* --- reading ---------------------------------------------------------------------- */

/* Takes a number off the front. -ERR_BAD_REQUEST if it is truncated or exceeds 64 bits. */
int wire_take_varint(struct str *rest, uint64_t *ret_value, struct error *err);

/*
 * Takes a field off the front. Returns 1; 0 if *rest is empty; -ERR_BAD_REQUEST if the field is
 * malformed or truncated. Takes time linear in the field's head or, for a group, in the whole
 * group.
 */
int wire_next(struct str *rest, struct wire_field *ret_field, struct error *err);

/* --- writing ---------------------------------------------------------------------- */

void wire_put_varint(struct buf *b, uint64_t v);

/*
 * The same without a buffer: the number of bytes, and writing them to `out`, which must have space.
 */
size_t wire_varint_size(uint64_t v);
size_t wire_print_varint(uint64_t v, char *out);

/* Write a field. Pass a negative integer as its 64 bits, also for an int32. */
void wire_put_uint(struct buf *b, uint32_t number, uint64_t v);
void wire_put_fixed64(struct buf *b, uint32_t number, uint64_t bits);
void wire_put_bytes(struct buf *b, uint32_t number, struct str bytes);

/*
 * A nested message: open it, fill it with the functions above, and close it with the value that
 * opening returned. Closing moves the content by a byte or more if its length needs more than one
 * byte.
 */
size_t wire_open(struct buf *b, uint32_t number);
void wire_close(struct buf *b, size_t mark);

#endif
