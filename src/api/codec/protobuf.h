/*
 * protobuf - API objects as Kubernetes' protobuf, by the same schema as JSON.
 *
 * Go clients send bodies so by default. Such a body is four bytes of magic and
 * a message runtime.Unknown, the envelope, which names apiVersion and kind
 * and holds the object's message. Decoding makes the tree that the object's
 * JSON would have given, before decode_fit(): Time is RFC 3339 text, bytes
 * are base64 text, messages that JSON inlines are flattened, and zero values
 * are there when they were sent, which is what Go does for all that are no
 * pointers. Encoding is the way back, of a tree that fits its schema.
 *
 * What differs from upstream's encoder: zero values that the tree does not have
 * are not written. Readers cannot tell.
 * Threads: no state.
 */
#ifndef API_CODEC_PROTOBUF_H
#define API_CODEC_PROTOBUF_H

#include "api/schema/schema.h"
#include "base/json/json.h"

/* --- decoding --------------------------------------------------------------------- */

/* What stands around an object. Borrows from the body. */
struct protobuf_envelope {
	struct str api_version, kind; /* may be empty */
	struct str message; /* the object */
	struct str content_encoding, content_type; /* of the message; empty: plain protobuf */
};

/* -ERR_BAD_REQUEST, in upstream's words, for a body that is none. */
int protobuf_open(struct str body, struct protobuf_envelope *ret_envelope, struct error *err);

/*
 * A message of that type becomes a tree in the arena that borrows text from
 * it. Fields that the type does not have are skipped and counted in
 * *ret_unknown (may be NULL). -ERR_BAD_REQUEST for what is malformed, nested
 * too deep, or cannot be said in JSON; -ERR_TOO_LARGE at the arena's limit.
 * Linear in the length of the message.
 */
int protobuf_decode(struct arena *a, const struct schema_type *type, struct str message,
		    size_t *ret_unknown, struct json **ret_tree, struct error *err);

/*
 * A whole body: what it is comes from its envelope, and from `kind` where that
 * does not say. A kind that there is not is no failure here: of such an object
 * the tree has apiVersion and kind alone, for the caller to refuse. An envelope
 * around JSON is understood, too.
 *
 * When the envelope could be read and the object could not, *ret_tree is set all the
 * same, to apiVersion and kind alone: see decode_wrap().
 */
int protobuf_decode_body(struct arena *a, const struct schema_kind *kind, struct str body,
			 size_t *ret_unknown, struct json **ret_tree, struct error *err);

/* --- encoding --------------------------------------------------------------------- */

/*
 * All append. -ERR_TOO_LARGE at the buffer's limit, with a part of it left
 * there; -ERR_INTERNAL for a tree that does not fit the type: all that fits is there.
 */

/* The object's message: fields in the order of their numbers, maps in that of their keys. */
int protobuf_encode(const struct schema_type *type, const struct json *tree, struct buf *b,
		    struct error *err);

/*
 * The same with magic and envelope: a body, or an answer. Lists are kinds, too. See
 * protobuf_frame.h for messages that are encoded already.
 */
int protobuf_encode_object(const struct schema_kind *kind, const struct json *tree, struct buf *b,
			   struct error *err);

/* Whether there is protobuf of that kind: its fields have numbers. Custom resources have none. */
bool protobuf_has_kind(const struct schema_kind *kind);

#endif
