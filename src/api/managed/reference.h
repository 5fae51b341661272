/*
 * managed_reference - server-side apply in the most obvious way, to compare managed.h with.
 *
 * Slow: for tests and fuzzing, not part of the library. An object is a flat list of paths and
 * values, a set of fields is a sorted list of paths, and every operation is a loop over lists. A
 * path is steps joined by REFERENCE_JOIN, in FieldsV1's spelling: "f:spec", "k:{..}", "v:..".
 *
 * It shares with the engine the schema's tables (including schema_resets()), JSON trees and their
 * printing (which names elements), and the printing of times. It decides by itself which values are
 * equal, and what is owned, merged, removed and in conflict. Compare the two also before an object
 * is fitted to its type, because fitting removes wrong nulls and empty containers.
 *
 * Left out: versions of another shape than the kind's own, repeated elements in a list, the merging
 * of many updaters, the annotation of client-side apply. The tables of cases cover those.
 */
#ifndef API_MANAGED_REFERENCE_H
#define API_MANAGED_REFERENCE_H

#include "api/managed/managed.h"

#define REFERENCE_JOIN '\x01'

struct reference_set {
	struct str *v; /* sorted by bytes, without duplicates */
	size_t n;
};

struct reference_entry {
	struct str manager, operation, api_version, subresource;
	struct str time; /* as printed; p NULL: none */
	struct reference_set set;
};

/* An object and its entries; `object` has no managedFields itself. */
struct reference_state {
	struct json *object; /* NULL: no object */
	struct reference_entry *v;
	size_t n;
};

struct reference_conflict {
	struct reference_entry *owner;
	struct str path;
};

struct reference_request {
	struct arena *arena;
	const struct schema_kind *kind;
	const struct managed_writer *writer;
	const struct str *resets; /* dotted names, ended by p NULL; or NULL (schema.h) */
	bool force;
	/* The conflicts of -ERR_APPLY_CONFLICT. */
	struct reference_conflict *conflicts;
	size_t nconflicts;
};

/* Reads the state of a stored object (or NULL), which is not changed. */
struct reference_state reference_read(struct arena *a, const struct json *object);

/* As managed_apply(); 0 or -ERR_APPLY_CONFLICT. The configuration must fit the schema. */
int reference_apply(struct reference_request *request, const struct reference_state *live,
		    const struct json *config, struct reference_state *ret_state);

/* As managed_update() if the client did not edit managedFields. */
void reference_update(const struct reference_request *request, const struct reference_state *live,
		      const struct json *object, struct reference_state *ret_state);

/* The paths of a FieldsV1. */
struct reference_set reference_set_read(struct arena *a, const struct json *fields);
bool reference_set_has(const struct reference_set *set, struct str path);

/* The fields that a configuration would own, before nobody's fields and resets are removed. */
struct reference_set reference_fields(struct arena *a, const struct schema_kind *kind,
				      const struct json *config);

/*
 * Whether two values are equal (NULL: absent). The order of members does not matter, that of
 * elements does; 1 equals 1.0.
 */
bool reference_equal(const struct json *a, const struct json *b);

/*
 * Makes a copy with the zero values that a type always prints ("spec": {}), so that two objects
 * compare equal if only one of them has those. Nulls stay. NULL for NULL.
 */
struct json *reference_whole(struct arena *a, const struct schema_kind *kind, const struct json *v);

/* Whether the object has null at a path. */
bool reference_is_null(struct arena *a, const struct schema_kind *kind, const struct json *object,
		       struct str path);

/* Appends the entries, one per line, sorted; with or without times. */
void reference_print(struct buf *out, const struct reference_state *state, bool times);

/* The path as messages show it: .spec.ports[port=80,protocol="TCP"].name */
struct str reference_path_text(struct arena *a, struct str path);

/* The conflict as a cause shows it, followed by its field: conflict with "b" using v1 .data.a */
struct str reference_conflict_text(struct arena *a, const struct reference_conflict *c);

#endif
