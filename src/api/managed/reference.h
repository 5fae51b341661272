/*
 * managed_reference - server-side apply in the most obvious way, to hold managed.h against.
 *
 * Slow: for tests and fuzzing, no part of the library. An object is a flat list of paths with
 * what is there, a set of fields is a sorted list of paths, and every operation is a loop over
 * lists. A path is steps joined by REFERENCE_JOIN, in FieldsV1's spelling: "f:spec", "k:{..}",
 * "v:..".
 *
 * It shares with the engine the schema's tables (of which schema_resets() is one), JSON trees and
 * how they are printed (which names elements), and the printing of times. Which values are the
 * same, what is owned, merged, taken away and in conflict it decides by itself. Who compares the
 * two does so before an object fits its type, too: what fits has no null and no empty container
 * left that was wrong.
 *
 * Left out: versions of another shape than the kind's own, elements that repeat in a list, the
 * fold of many updaters, the annotation of client-side apply. The tables of cases have those.
 */
#ifndef API_MANAGED_REFERENCE_H
#define API_MANAGED_REFERENCE_H

#include "api/managed/managed.h"

#define REFERENCE_JOIN '\x01'

struct reference_set {
	struct str *v; /* in byte order, each once */
	size_t n;
};

struct reference_entry {
	struct str manager, operation, api_version, subresource;
	struct str time; /* as printed; p NULL: none */
	struct reference_set set;
};

/* An object beside its entries; `object` has no managedFields of its own. */
struct reference_state {
	struct json *object; /* NULL: there is none */
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
	const struct str *resets; /* dotted names, the last p NULL; NULL: none (schema.h) */
	bool force;
	/* Behind -ERR_APPLY_CONFLICT. */
	struct reference_conflict *conflicts;
	size_t nconflicts;
};

/* The state of a stored object, which is not changed. NULL: none. */
struct reference_state reference_read(struct arena *a, const struct json *object);

/* As managed_apply(); 0 or -ERR_APPLY_CONFLICT. The configuration must fit the schema. */
int reference_apply(struct reference_request *request, const struct reference_state *live,
		    const struct json *config, struct reference_state *ret_state);

/* As managed_update() where the client left managedFields alone. */
void reference_update(const struct reference_request *request, const struct reference_state *live,
		      const struct json *object, struct reference_state *ret_state);

/* The paths of a FieldsV1. */
struct reference_set reference_set_read(struct arena *a, const struct json *fields);
bool reference_set_has(const struct reference_set *set, struct str path);

/* The fields that a configuration would own, strip and resets aside. */
struct reference_set reference_fields(struct arena *a, const struct schema_kind *kind,
				      const struct json *config);

/*
 * Whether two values are the same; NULL: none. Members in any order, elements in theirs; 1 and 1.0
 * are the same number.
 */
bool reference_equal(const struct json *a, const struct json *b);

/*
 * A copy with the zero values that a type has everywhere ("spec": {}), so that it does not matter
 * who of two left them out; nulls stay what they are. NULL for NULL.
 */
struct json *reference_whole(struct arena *a, const struct schema_kind *kind, const struct json *v);

/* Whether the object has null at a path. */
bool reference_is_null(struct arena *a, const struct schema_kind *kind, const struct json *object,
		       struct str path);

/* Appends the entries, one per line, in an order of their own; without times if so told. */
void reference_print(struct buf *out, const struct reference_state *state, bool times);

/* As messages have it: .spec.ports[port=80,protocol="TCP"].name */
struct str reference_path_text(struct arena *a, struct str path);

/* As a cause has it, and its field behind: conflict with "b" using v1 .data.a */
struct str reference_conflict_text(struct arena *a, const struct reference_conflict *c);

#endif
