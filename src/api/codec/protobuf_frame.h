/*
 * protobuf_frame - the bytes around an object's message when it is sent.
 *
 * A response is magic and envelope around the message. An event of a watch is a length and a
 * message WatchEvent that contains such a response. The message itself is not read: only its length
 * matters. So its bytes can be sent from where they are, between a computed head and a constant
 * tail.
 * Threads: no state.
 */
#ifndef API_CODEC_PROTOBUF_FRAME_H
#define API_CODEC_PROTOBUF_FRAME_H

#include "api/schema/schema.h"

struct buf;

struct protobuf_frame {
	struct str event; /* "ADDED"; empty: a response, not an event */
	struct str api_version, kind; /* of the message */
};

/* The frame of a PartialObjectMetadata, or of a list of them; `version` is meta.k8s.io's. */
struct protobuf_frame protobuf_frame_partial(struct str version, bool list);

/* The bytes after the message: the envelope's two empty strings. */
#define PROTOBUF_TAIL STR("\x1a\0\x22\0")

/*
 * The head of a message of n bytes: its length and its type. Writing returns the end. An event must
 * be smaller than 4 GiB; the caller's objects are.
 */
size_t protobuf_head_size(const struct protobuf_frame *f, size_t n);
char *protobuf_put_head(const struct protobuf_frame *f, size_t n, char *to);

/* Head, message and tail: their size, and writing all of them; returns the end. */
size_t protobuf_frame_size(const struct protobuf_frame *f, size_t n);
char *protobuf_put_frame(const struct protobuf_frame *f, struct str message, char *to);

/* The same, appended; -ERR_TOO_LARGE. */
int protobuf_frame_add(const struct protobuf_frame *f, struct str message, struct buf *b);

#endif
