/*
 * protobuf_wire - fields of protobuf messages, without any schema.
 *
 * Reading takes one field after the other off the front of a message and
 * borrows from it. Writing appends to a buffer, whose `overflow` tells at the end
 * whether all found room; until then nothing needs to be checked.
 * The texts of errors are those of upstream's decoder.
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
	WIRE_GROUP = 3, /* of old; nothing here uses it, but it can be skipped */
	WIRE_GROUP_END = 4,
	WIRE_FIXED32 = 5,
};

enum { WIRE_VARINT_MAX = 10 }; /* bytes of the longest varint */

struct wire_field {
	uint32_t number; /* from 1 */
	enum wire_type type; /* never GROUP_END */
	uint64_t value; /* of a varint or of fixed bits */
	struct str bytes; /* of BYTES; of a GROUP what stands between its tags, the last included */
};

/* --- reading ---------------------------------------------------------------------- */

/* Takes a number off the front. -ERR_BAD_REQUEST when it is cut off or beyond 64 bits. */
int wire_take_varint(struct str *rest, uint64_t *ret_value, struct error *err);

/*
 * Takes a field off the front: 1; 0 when *rest is empty; -ERR_BAD_REQUEST when
 * what is there is no field, or only a part of one. Costs the length of the
 * field's head, or of the whole group.
 */
int wire_next(struct str *rest, struct wire_field *ret_field, struct error *err);

/* --- writing ---------------------------------------------------------------------- */

void wire_put_varint(struct buf *b, uint64_t v);

/* The same without a buffer: how many bytes it takes, and into a place that has room. */
size_t wire_varint_size(uint64_t v);
size_t wire_print_varint(uint64_t v, char *out);

/* Fields. A negative integer is given as its 64 bits, also where it is an int32. */
void wire_put_uint(struct buf *b, uint32_t number, uint64_t v);
void wire_put_fixed64(struct buf *b, uint32_t number, uint64_t bits);
void wire_put_bytes(struct buf *b, uint32_t number, struct str bytes);

/*
 * A message within the message: opened, filled by the functions above, closed
 * with what opening returned. Closing moves the content by a byte or two when its
 * length takes more than one.
 */
size_t wire_open(struct buf *b, uint32_t number);
void wire_close(struct buf *b, size_t mark);

#endif
