/*
 * frame - cuts a gRPC byte stream into messages, without I/O.
 *
 * Bytes go in as they arrive, whole messages come out, decompressed. A message
 * that lies whole in one piece is not copied. One that comes in pieces is
 * gathered in memory that grows with what has arrived, never with what its
 * prefix announces, and that is given back once the message is used. Sizes are
 * checked before any memory is taken.
 */
#ifndef GRPC_FRAME_H
#define GRPC_FRAME_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "base/core/str.h"
#include "grpc/message.h"

struct grpc_frame {
	size_t max; /* largest message, before and after decompression */
	bool gzip; /* grpc-encoding allows compressed messages */
	unsigned char prefix[GRPC_PREFIX];
	unsigned nprefix; /* bytes of the prefix that are there */
	struct buf body; /* a message that comes in pieces */
	struct buf plain; /* a message decompressed */
};

/* `max` 0: GRPC_MESSAGE_MAX. Owns nothing until a message comes in pieces. */
void grpc_frame_init(struct grpc_frame *f, size_t max);
void grpc_frame_release(struct grpc_frame *f);

/*
 * The peer's grpc-encoding field; empty means identity. -ERR_UNIMPLEMENTED for
 * what we do not know.
 */
int grpc_frame_set_encoding(struct grpc_frame *f, struct str encoding, struct error *err);

/*
 * Takes bytes from the front of *in. 1: *ret_message is a message, borrowed
 * from *in's memory or from the frame until grpc_frame_drop(). 0: all of *in
 * was taken, more is needed. Failures are final:
 *   -ERR_TOO_LARGE  longer than the limit,
 *   -ERR_PROTOCOL   malformed prefix or compression.
 */
int grpc_frame_next(struct grpc_frame *f, struct str *in, struct str *ret_message,
		    struct error *err);

/* The message has been used. Memory is kept for the next one only if it is small. */
void grpc_frame_drop(struct grpc_frame *f);

/* In the middle of a message: the stream may not end here. */
bool grpc_frame_partial(const struct grpc_frame *f);

/* What we send as grpc-accept-encoding. */
#define GRPC_ACCEPT_ENCODING "identity,gzip"

#endif
