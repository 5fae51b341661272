/*
 * object - a committed object: a small header and its encoded bytes.
 *
 * Immutable and counted. The bytes are the JSON text that clients are sent,
 * with its resourceVersion, as one contiguous piece: GET, LIST and WATCH send
 * it by reference. The header holds what selectors and indexes need, mostly as
 * places in the text; nothing else of the object is resident, but its protobuf
 * once somebody has asked for it.
 *
 * The stored bytes (what a store's value is) are the same without the
 * resourceVersion, which on etcd is known only after the commit, and without
 * what only the served form has.
 * Threads: any may read and hold references.
 */
#ifndef API_OBJECT_OBJECT_H
#define API_OBJECT_OBJECT_H

#include "api/schema/gates.h"
#include "api/schema/schema.h"
#include "base/core/bytes.h"

/*
 * Bytes as stored: compact JSON with apiVersion and kind first, metadata third,
 * the rest in the tree's order; a resourceVersion that the tree has is left
 * out. -ERR_TOO_LARGE beyond OBJECT_MAX.
 */
int object_encode(const struct json *tree, struct bytes **ret_stored, struct error *err);

struct object_label {
	uint32_t key, value; /* offsets in the text */
	uint16_t key_n, value_n;
};

/* The value of a selectable field; read it by object_field_at(). */
struct object_value {
	uint32_t at; /* in the text; 0: absent; with OBJECT_VALUE_OWN: behind the struct */
	uint32_t n;
};
#define OBJECT_VALUE_OWN (UINT32_C(1) << 31)

struct object {
	_Atomic(struct bytes *) message; /* protobuf, when it was made: object/message.h */
	atomic_uint refs;
	/* From here on nothing changes. */
	uint32_t nlabels;
	uint16_t nfields;
	uint16_t ns_n; /* of the key */
	uint16_t item_at; /* where its text goes on behind what an item leaves out: object_item() */
	bool deleting; /* metadata.deletionTimestamp is set */
	uint32_t rv_at, rv_n; /* the resourceVersion member, with one comma, in the text */
	int64_t revision; /* its resourceVersion */
	int64_t created_s; /* metadata.creationTimestamp, seconds since 1970; 0: none */
	struct bytes *json; /* text as sent */
	struct bytes *stored; /* text as stored, when it is not `json` less its member; or NULL */
	struct str key; /* "namespace/name" or "name": behind the struct */
	struct str uid; /* in the text */
	struct object_label *labels; /* behind the struct, sorted by key */
	struct object_value *fields; /* of the kind's selectables, in their order; behind */
};

/*
 * From a store's value. `kind` may be any version: the header is that of the
 * storage version. -ERR_INTERNAL when it is no object: the data is damaged.
 */
int object_new(const struct schema_kind *kind, struct str stored, int64_t revision,
	       const struct gates *gates, struct object **ret_object, struct error *err);

/*
 * The same when the tree of `stored` is at hand: spares a parse where the served
 * form differs. The tree is not changed and not kept.
 */
int object_new_from_tree(const struct schema_kind *kind, const struct json *tree, struct str stored,
			 int64_t revision, const struct gates *gates, struct object **ret_object,
			 struct error *err);

/* The same object at a later revision: the last state of what was deleted. */
struct object *object_at(const struct object *o, int64_t revision);

struct object *object_ref(struct object *o);
void object_unref(struct object *o); /* NULL allowed */
DEFINE_CLEANUP(object_unref, struct object *);

/* Bytes of memory that it keeps, about. */
size_t object_weight(const struct object *o);

/*
 * Its text as an item of a list, without the brace that it begins with: as upstream's, items of
 * built-in kinds have no apiVersion and kind, which the list has. A new reference.
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
 * The value of the i-th selectable of the storage version, which `kind` must be;
 * what absence means when it is absent. p not NULL.
 */
struct str object_field_at(const struct object *o, const struct schema_kind *kind, size_t i);

/* For selector_matches(): `source` is a struct object_source. p is NULL for what is not there. */
struct object_source {
	const struct object *object;
	const struct schema_kind *kind;
};
struct str object_label(const void *source, struct str key);
struct str object_field(const void *source,
			struct str path); /* metadata.name, .namespace, selectables */

/* Whether it was stored in another version than its kind is stored in now. */
bool object_is_stale(const struct object *o, const struct schema_kind *kind);

/*
 * Its tree of the storage version, with resourceVersion, as stored (not the
 * served form). The arena holds the text that the tree points into.
 */
int object_tree(const struct object *o, struct arena *a, struct json **ret_tree, struct error *err);

#endif
