/*
 * frame - splits a gRPC byte stream into messages, without I/O.
 *
 * It takes bytes as they arrive, and returns whole messages, decompressed. A message that is
 * contained in one piece is not copied. One that comes in pieces is collected in memory that grows
 * with the bytes received, never with the length in its prefix, and is freed once the message is
 * used. Sizes are checked before memory is allocated.
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
	unsigned nprefix; /* bytes of the prefix received so far */
	struct buf body; /* a message that comes in pieces */
	struct buf plain; /* a decompressed message */
};

/* `max` 0: GRPC_MESSAGE_MAX. Owns no memory until a message comes in pieces. */
void grpc_frame_init(struct grpc_frame *f, size_t max);
void grpc_frame_release(struct grpc_frame *f);

/*
 * Sets the peer's grpc-encoding field; empty means identity. Returns -ERR_UNIMPLEMENTED if unknown.
 */
int grpc_frame_set_encoding(struct grpc_frame *f, struct str encoding, struct error *err);

/*
 * Takes bytes from the front of *in. Returns 1 with a message in *ret_message, borrowed from *in's
 * memory or from the frame until grpc_frame_drop(). Returns 0 if all of *in was taken and more is
 * needed. Errors are final:
 *   -ERR_TOO_LARGE  longer than the limit,
 *   -ERR_PROTOCOL   malformed prefix or compression.
 */
int grpc_frame_next(struct grpc_frame *f, struct str *in, struct str *ret_message,
		    struct error *err);

/* Call it after using the message. Memory is kept for the next one only if it is small. */
void grpc_frame_drop(struct grpc_frame *f);

/* True in the middle of a message: the stream must not end here. */
bool grpc_frame_partial(const struct grpc_frame *f);

/* Our grpc-accept-encoding. */
#define GRPC_ACCEPT_ENCODING "identity,gzip"

#endif
