/*
 * protobuf_frame - what stands around an object's message when it is sent.
 *
 * An answer is magic and envelope around the message; an event of a watch is a
 * length, a message WatchEvent, and in that such an answer. The message itself is
 * not looked at: only its length counts, so that its bytes can be sent from where
 * they are, between a head that is computed and a tail that is always the same.
 * Threads: no state.
 */
#ifndef API_CODEC_PROTOBUF_FRAME_H
#define API_CODEC_PROTOBUF_FRAME_H

#include "api/schema/schema.h"

struct buf;

struct protobuf_frame {
	struct str event; /* "ADDED"; empty: no event but an answer */
	struct str api_version, kind; /* of the message */
};

/* The frame of a PartialObjectMetadata, or of a list of them; `version` is meta.k8s.io's. */
struct protobuf_frame protobuf_frame_partial(struct str version, bool list);

/* What follows the message: the envelope's two empty texts. */
#define PROTOBUF_TAIL STR("\x1a\0\x22\0")

/*
 * The head of a message of n bytes: how long it is, and what it is. Writing returns
 * where it ends. An event is less than 4 GiB: the caller's objects are.
 */
size_t protobuf_head_size(const struct protobuf_frame *f, size_t n);
char *protobuf_put_head(const struct protobuf_frame *f, size_t n, char *to);

/* Head, message and tail: their size, and all of them written; returns where they end. */
size_t protobuf_frame_size(const struct protobuf_frame *f, size_t n);
char *protobuf_put_frame(const struct protobuf_frame *f, struct str message, char *to);

/* The same, appended; -ERR_TOO_LARGE. */
int protobuf_frame_add(const struct protobuf_frame *f, struct str message, struct buf *b);

#endif
