/* message - converts protobuf-c structs to and from the bytes of a gRPC stream. */
#ifndef GRPC_MESSAGE_H
#define GRPC_MESSAGE_H

#include <protobuf-c/protobuf-c.h>

#include "base/core/arena.h"
#include "base/core/bytes.h"
#include "base/core/error.h"

/* Precedes each message: one byte of flags, four of length in network order. */
enum { GRPC_PREFIX = 5 };

/*
 * The message with its prefix, in one piece, ready to be sent any number of times. Returns NULL if
 * it is 4 GiB or longer.
 */
struct bytes *grpc_message_pack(const ProtobufCMessage *m);

/*
 * Memory for a message of n bytes and its prefix; the caller writes the message at data +
 * GRPC_PREFIX. Returns NULL if it is 4 GiB or longer.
 */
struct bytes *grpc_message_new(size_t n);

/*
 * Unpacks into the arena. The result does not refer to `wire`, which may be freed. Returns
 *   -ERR_TOO_LARGE if the arena's limit is exceeded or the nesting is too deep,
 *   -ERR_PROTOCOL  if the bytes are malformed or a string is not UTF-8.
 * Strings end at their first NUL, because protobuf-c keeps no length.
 */
int grpc_message_unpack(const ProtobufCMessageDescriptor *type, struct str wire, struct arena *a,
			void **ret_message, struct error *err);

#endif
