/*
 * object - a committed object: a small header and its encoded bytes.
 *
 * Immutable and counted. The bytes are the JSON text that clients are sent,
 * with its resourceVersion, as one contiguous piece: GET, LIST and WATCH send
 * it by reference. The header holds what selectors and indexes need; nothing
 * else of the object is resident.
 *
 * The stored bytes (what a store's value is) are the same without the
 * resourceVersion, which on etcd is known only after the commit, and without
 * what only the served form has.
 * Threads: any may read and hold references.
 */
#ifndef API_OBJECT_H
#define API_OBJECT_H

#include "api/gates.h"
#include "api/schema.h"
#include "base/bytes.h"

/* Bytes as stored: compact JSON with apiVersion and kind first, metadata third. */
int object_encode(const struct json *tree, struct bytes **ret_stored, struct error *err);

struct object_label {
	uint32_t key, value; /* offsets in the text */
	uint16_t key_n, value_n;
};

struct object {
	atomic_uint refs;
	uint16_t nlabels, nfields;
	bool deleting; /* metadata.deletionTimestamp is set */
	int64_t revision; /* its resourceVersion */
	int64_t created_s; /* metadata.creationTimestamp, seconds since 1970 */
	struct bytes *json; /* text as sent */
	struct bytes *
		stored; /* text as stored when it is not `json` less its resourceVersion; else NULL */
	uint32_t rv_at,
		rv_n; /* where the resourceVersion member (with its comma) lies in the text */
	struct str key; /* "namespace/name" or "name": behind the struct */
	uint16_t ns_n; /* of the key */
	struct str uid; /* in the text */
	struct object_label *labels; /* behind the struct, sorted by key */
	struct str
		*fields; /* values of the kind's selectables, in their order; behind the struct */
};

/* From a store's value. -ERR_INTERNAL when it is no object: the data is damaged. */
int object_new(const struct schema_kind *kind, struct str stored, int64_t revision,
	       const struct gates *gates, struct object **ret_object, struct error *err);

/* The same when the tree of `stored` is at hand: spares the parse. */
int object_new_from_tree(const struct schema_kind *kind, const struct json *tree, struct str stored,
			 int64_t revision, const struct gates *gates, struct object **ret_object,
			 struct error *err);

/* The same object at a later revision: the last state of what was deleted. */
struct object *object_at(const struct object *o, int64_t revision);

struct object *object_ref(struct object *o);
void object_unref(struct object *o); /* NULL allowed */

struct str object_ns(const struct object *o);
struct str object_name(const struct object *o);

/* For selector_matches(): `source` is a struct object_source. */
struct object_source {
	const struct object *object;
	const struct schema_kind *kind;
};
struct str object_label(const void *source, struct str key);
struct str object_field(const void *source,
			struct str path); /* metadata.name, .namespace, selectables */

/* Its tree of the storage version, with resourceVersion, as stored (not the served form). */
int object_tree(const struct object *o, struct arena *a, struct json **ret_tree, struct error *err);

#endif
