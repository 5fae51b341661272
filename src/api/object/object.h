/*
 * object - a committed object: a small header and its encoded bytes.
 *
 * Immutable and reference-counted. The bytes are the JSON text that clients get, with its
 * resourceVersion, in one contiguous piece: GET, LIST and WATCH send it by reference. The header
 * holds what selectors and indexes need, mostly as offsets into the text. Nothing else of the
 * object is kept in memory, except its protobuf message once a client has requested it.
 *
 * The stored bytes (a store's value) are the same without the resourceVersion, which on etcd is
 * known only after the commit, and without fields that only the served form has.
 * Threads: any thread may read and hold references.
 */
#ifndef API_OBJECT_OBJECT_H
#define API_OBJECT_OBJECT_H

#include "api/schema/gates.h"
#include "api/schema/schema.h"
#include "base/core/bytes.h"

/*
 * Encodes a tree as it is stored: compact JSON with apiVersion and kind first, metadata third, and
 * the rest in the tree's order. A resourceVersion in the tree is left out. -ERR_TOO_LARGE beyond
 * OBJECT_MAX.
 */
int object_encode(const struct json *tree, struct bytes **ret_stored, struct error *err);

struct object_label {
	uint32_t key, value; /* offsets in the text */
	uint16_t key_n, value_n;
};

/* The value of a selectable field; read it with object_field_at(). */
struct object_value {
	uint32_t at; /* offset in the text; 0: absent; with OBJECT_VALUE_OWN: after the struct */
	uint32_t n;
};
#define OBJECT_VALUE_OWN (UINT32_C(1) << 31)

struct object {
	_Atomic(struct bytes *) message; /* protobuf, if it was made: object/message.h */
	atomic_uint refs;
	/* Constant from here on. */
	uint32_t nlabels;
	uint16_t nfields;
	uint16_t ns_n; /* length of the namespace in `key` */
	uint16_t item_at; /* offset at which the text of a list item starts: object_item() */
	bool deleting; /* metadata.deletionTimestamp is set */
	uint32_t rv_at, rv_n; /* the resourceVersion member, with one comma, in the text */
	uint32_t status_at; /* offset of the status' value in the text; 0: none */
	/* The key that the value is sealed with (store_note_seal()); set before it is shared. */
	uint32_t seal;
	int64_t revision; /* its resourceVersion */
	int64_t created_s; /* metadata.creationTimestamp, seconds since 1970; 0: none */
	struct bytes *json; /* text as sent */
	/* Text as stored, if it differs from `json` without its resourceVersion; or NULL. */
	struct bytes *stored;
	struct str key; /* "namespace/name" or "name"; lies after the struct */
	struct str uid; /* in the text */
	struct object_label *labels; /* lie after the struct, sorted by key */
	/* Values of the kind's selectables, in their order; lie after the struct. */
	struct object_value *fields;
};

/*
 * Makes an object from a store's value. `kind` may be any version: the header is that of the
 * storage version. -ERR_INTERNAL if the value is not an object: the data is damaged.
 */
int object_new(const struct schema_kind *kind, struct str stored, int64_t revision,
	       const struct gates *gates, struct object **ret_object, struct error *err);

/*
 * The same if the tree of `stored` is available: saves a parse when the served form differs. The
 * tree is not changed and not kept.
 */
int object_new_from_tree(const struct schema_kind *kind, const struct json *tree, struct str stored,
			 int64_t revision, const struct gates *gates, struct object **ret_object,
			 struct error *err);

/* Makes the same object at a later revision: the last state of a deleted object. */
struct object *object_at(const struct object *o, int64_t revision);

/*
 * The text from the value of the status on, to be read with a cursor; empty if there is no status.
 * It saves a scan of all that precedes the status.
 */
static inline struct str object_from_status(const struct object *o)
{
	struct str text = bytes_str(o->json);

	return o->status_at ? str_of(text.p + o->status_at, text.n - o->status_at) : STR("");
}

struct object *object_ref(struct object *o);
void object_unref(struct object *o); /* NULL allowed */
DEFINE_CLEANUP(object_unref, struct object *);

/* The approximate number of bytes of memory that it uses. */
size_t object_weight(const struct object *o);

/*
 * Returns its text as an item of a list, without the opening brace. As upstream, items of built-in
 * kinds have no apiVersion and kind, because the list has them. A new reference.
 */
static inline size_t object_item_size(const struct object *o)
{
	return o->json->n - o->item_at;
}

static inline struct slice object_item(const struct object *o)
{
	return slice_part(o->json, o->item_at, object_item_size(o));
}

struct str object_ns(const struct object *o);
struct str object_name(const struct object *o);

/*
 * Returns the value of the i-th selectable; `kind` must be the storage version. If the field is
 * absent, returns the selectable's `initial`. p is never NULL.
 */
struct str object_field_at(const struct object *o, const struct schema_kind *kind, size_t i);

/* For selector_matches(): `source` is a struct object_source. Return p NULL if not found. */
struct object_source {
	const struct object *object;
	const struct schema_kind *kind;
};
struct str object_label(const void *source, struct str key);
struct str object_field(const void *source,
			struct str path); /* metadata.name, .namespace, selectables */

/* Whether it was stored in another version than the kind's current storage version. */
bool object_is_stale(const struct object *o, const struct schema_kind *kind);

/*
 * Parses the stored form (not the served form) into a tree of the storage version, with
 * resourceVersion. The arena holds the text that the tree points into.
 */
int object_tree(const struct object *o, struct arena *a, struct json **ret_tree, struct error *err);

#endif
