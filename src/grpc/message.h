/*
 * message - protobuf-c structs to and from the bytes of a gRPC stream.
 */
#ifndef GRPC_MESSAGE_H
#define GRPC_MESSAGE_H

#include <protobuf-c/protobuf-c.h>

#include "base/core/arena.h"
#include "base/core/bytes.h"
#include "base/core/error.h"

/* Before each message: one byte of flags, four of length in network order. */
enum { GRPC_PREFIX = 5 };

/*
 * The message with its prefix in front, in one piece, ready to be sent any
 * number of times. NULL when it is 4 GiB or longer.
 */
struct bytes *grpc_message_pack(const ProtobufCMessage *m);

/*
 * Room for a message of n bytes with its prefix before it; the caller writes them at
 * data + GRPC_PREFIX. NULL when that is 4 GiB or longer.
 */
struct bytes *grpc_message_new(size_t n);

/*
 * Unpacks into the arena; what is returned points nowhere else, so `wire` may
 * go. Fails with
 *   -ERR_TOO_LARGE when the arena's limit is passed or the nesting is too deep,
 *   -ERR_PROTOCOL  when the bytes are malformed or a string is not UTF-8.
 * Strings end at their first NUL: protobuf-c keeps no length.
 */
int grpc_message_unpack(const ProtobufCMessageDescriptor *type, struct str wire, struct arena *a,
			void **ret_message, struct error *err);

#endif
