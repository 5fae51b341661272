/*
 * patch_strategic_impl - structs and functions that the files of strategic merge share.
 */
#ifndef API_PATCH_STRATEGIC_IMPL_H
#define API_PATCH_STRATEGIC_IMPL_H

#include "api/patch/strategic.h"

struct merge {
	struct arena *arena;
	struct error *err;
	size_t budget; /* comparisons left */
	unsigned depth;
};

/* Describes the members of an object: fields of a type, or values of a map. */
struct place {
	const struct schema_type *type; /* NULL: unknown */
	bool map;
};

/* Returns the schema's field of a member; NULL if unknown. */
static inline const struct schema_field *field_of(struct place place, struct str key)
{
	return place.type && !place.map ? schema_field(place.type, key) : NULL;
}

/* Returns the place of a member's value, or of each of its elements. */
static inline struct place place_of(struct place place, const struct schema_field *field)
{
	if (place.map)
		return (struct place){ place.type, false };
	if (!field)
		return (struct place){ 0 };
	return (struct place){ field->type, field->shape == SCHEMA_MAP };
}

/* Whether a list is merged element by element. */
static inline bool merges(const struct schema_field *field)
{
	return field && field->shape == SCHEMA_LIST && (field->patch_key.p || field->patch_merge);
}

/* How to merge a list of the patch. */
struct merge_list {
	const struct schema_field *field;
	const struct json *order; /* the list of $setElementOrder, or NULL */
	bool removes; /* $deleteFromPrimitiveList: its scalars are removed */
};

/* The merge keys of a list's elements, in their order. Elements without a key are left out. */
struct merge_keys {
	const struct json **v;
	size_t n;
};

/* Merges `patch` into `object`. The nodes of the patch move into the result. */
int merge_object(struct merge *m, struct json *object, struct json *patch, struct place place);

/* Merges lists element by element, as `how` says. The nodes of the patch move into the result. */
int merge_list(struct merge *m, const struct merge_list *how, struct json *list,
	       struct json *patch);

struct merge_keys merge_keys_of(struct merge *m, const struct schema_field *field,
				const struct json *list);

/* Checks that each element of a list that merges by key is an object that has the key. */
int merge_check_keys(struct merge *m, const struct schema_field *field, const struct json *list);

/* Returns the index of a key, or -1 if not found. */
ptrdiff_t merge_find_key(struct merge *m, const struct merge_keys *keys, const struct json *key);

/*
 * Orders a merged list. The elements that `wanted` names come in that order. The others are placed
 * between them by `stored`, the order of the object.
 */
void merge_order(struct merge *m, const struct schema_field *field, struct json *list,
		 const struct merge_keys *wanted, const struct merge_keys *stored);

/*
 * Checks the list of $setElementOrder against the elements of the patch (or NULL): it must contain
 * them in the same order.
 */
int merge_check_order(struct merge *m, const struct merge_list *how, const struct json *patch);

/* Checks that the lists have elements of one type, which can be merged. */
int merge_check_types(struct merge *m, const struct json *list, const struct json *patch);

/* --- failures, in upstream's words --------------------------------------------------- */

/* "expected a map[string]interface {}, but received a string" */
int merge_fail_type(struct merge *m, enum json_type expected, const struct json *actual);

/* "map: map[a:1] does not contain declared merge key: name" */
int merge_fail_key(struct merge *m, const struct json *object, struct str key);

/* Formats a value as Go's %v does, with maps sorted by key. Lives in the arena. */
const char *merge_text(struct merge *m, const struct json *value);

#endif
