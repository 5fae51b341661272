/*
 * protobuf_impl - functions that the files of the codec share.
 */
#ifndef API_CODEC_PROTOBUF_IMPL_H
#define API_CODEC_PROTOBUF_IMPL_H

#include "api/codec/protobuf_wire.h"
#include "api/schema/schema.h"
#include "base/json/building.h"

#define PROTOBUF_MAGIC STR("k8s\0")

/* Field numbers of the envelope, and of its TypeMeta, whose order differs from meta/v1. */
enum {
	PROTOBUF_TYPE_META = 1,
	PROTOBUF_RAW = 2,
	PROTOBUF_CONTENT_ENCODING = 3,
	PROTOBUF_CONTENT_TYPE = 4,
};
enum { PROTOBUF_API_VERSION = 1, PROTOBUF_KIND = 2 };
/* Field numbers of WatchEvent, and of the RawExtension in it. */
enum { PROTOBUF_EVENT_TYPE = 1, PROTOBUF_EVENT_OBJECT = 2, PROTOBUF_EVENT_RAW = 1 };

/* A decoded map; names may repeat in it. */
struct protobuf_map {
	struct protobuf_map *next;
	struct json *map;
};

/* The state of decoding one message. */
struct protobuf_read {
	struct arena *arena;
	struct error *err;
	struct buf scratch; /* for text being built; empty between uses */
	struct protobuf_map *maps;
	size_t unknown; /* number of skipped fields */
	unsigned depth;
};

/* -ERR_BAD_REQUEST if the field has another wire type. `name` is for the message. */
int protobuf_expect(const struct protobuf_read *d, const struct wire_field *w, enum wire_type type,
		    struct str name);

/* Reads text, which must be UTF-8. */
int protobuf_read_text(const struct protobuf_read *d, const struct schema_field *f,
		       const struct wire_field *w, struct str *ret_text);

/*
 * Reads a message of a few fields, such as a map's entry: the last field of each number from 1 on;
 * `number` is 0 if absent. Other fields are counted as unknown.
 */
enum { PROTOBUF_SMALL = 3 };
int protobuf_read_small(struct protobuf_read *d, struct str message,
			struct wire_field ret_fields[static PROTOBUF_SMALL]);

/* Reads a single value that is not a SCHEMA_OBJECT. */
int protobuf_read_scalar(struct protobuf_read *d, const struct schema_field *f,
			 const struct wire_field *w, struct json **ret_value);

/* protobuf_decode() into an existing object, which has at most apiVersion and kind. */
int protobuf_read_message(struct arena *a, const struct schema_type *type, struct str message,
			  size_t *ret_unknown, struct json *object, struct error *err);

/* Adds the message's fields to the object. */
int protobuf_read_object(struct protobuf_read *d, const struct schema_type *type,
			 struct str message, struct json *object);

/* Sets the error for a full buffer. */
int protobuf_too_large(const struct buf *b, struct error *err);

#endif
