/*
 * protobuf - API objects in Kubernetes' protobuf encoding, by the same schema as JSON.
 *
 * Go clients send such bodies by default. A body is four bytes of magic and a message
 * runtime.Unknown, the envelope, which names apiVersion and kind and holds the object's message.
 * Decoding makes the tree that the object's JSON would have given, before decode_fit(). Time is RFC
 * 3339 text, bytes are base64 text, and messages that JSON inlines are flattened. Zero values are
 * present if they were sent, which Go does for all fields that are not pointers. Encoding is the
 * reverse, for a tree that fits its schema.
 *
 * One difference from upstream's encoder: zero values that the tree does not have are not written.
 * Readers cannot notice that.
 * Threads: no state.
 */
#ifndef API_CODEC_PROTOBUF_H
#define API_CODEC_PROTOBUF_H

#include "api/schema/schema.h"
#include "base/json/json.h"

/* --- decoding --------------------------------------------------------------------- */

/* The envelope of an object. Borrows from the body. */
struct protobuf_envelope {
	struct str api_version, kind; /* may be empty */
	struct str message; /* the object */
	struct str content_encoding, content_type; /* of the message; empty: plain protobuf */
};

/* -ERR_BAD_REQUEST, with upstream's message, if the body has no valid envelope. */
int protobuf_open(struct str body, struct protobuf_envelope *ret_envelope, struct error *err);

/*
 * Decodes a message of that type into a tree in the arena, which borrows text from the message.
 * Unknown fields are skipped and counted in *ret_unknown (may be NULL). -ERR_BAD_REQUEST for a
 * message that is malformed, nested too deep, or not representable in JSON; -ERR_TOO_LARGE at the
 * arena's limit. Linear in the length of the message.
 */
int protobuf_decode(struct arena *a, const struct schema_type *type, struct str message,
		    size_t *ret_unknown, struct json **ret_tree, struct error *err);

/*
 * Decodes a whole body. Its kind comes from its envelope, or from `kind` if the envelope has none.
 * An unknown kind is not an error here: the tree then has only apiVersion and kind, for the caller
 * to reject. An envelope around JSON is also accepted.
 *
 * If the envelope could be read and the object could not, *ret_tree is set nevertheless, with only
 * apiVersion and kind: see decode_wrap().
 */
int protobuf_decode_body(struct arena *a, const struct schema_kind *kind, struct str body,
			 size_t *ret_unknown, struct json **ret_tree, struct error *err);

/* --- encoding --------------------------------------------------------------------- */

/*
 * All functions append. -ERR_TOO_LARGE at the buffer's limit, with partial output left there;
 * -ERR_INTERNAL for a tree that does not fit the type: everything that fits is written.
 */

/* Encodes the object's message: fields sorted by number, maps sorted by key. */
int protobuf_encode(const struct schema_type *type, const struct json *tree, struct buf *b,
		    struct error *err);

/*
 * The same with magic and envelope: a request or response body. Lists are kinds, too. For messages
 * that are encoded already, see protobuf_frame.h.
 */
int protobuf_encode_object(const struct schema_kind *kind, const struct json *tree, struct buf *b,
			   struct error *err);

/* Whether the kind has a protobuf encoding: its fields have numbers. Custom resources do not. */
bool protobuf_has_kind(const struct schema_kind *kind);

#endif
