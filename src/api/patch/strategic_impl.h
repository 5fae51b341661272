/*
 * patch_strategic_impl - what the files of strategic merge share.
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

/* What the members of an object are: fields of a type, or values of a map. */
struct place {
	const struct schema_type *type; /* NULL: nothing is known */
	bool map;
};

/* What the type says of a member; NULL when it says nothing. */
static inline const struct schema_field *field_of(struct place place, struct str key)
{
	return place.type && !place.map ? schema_field(place.type, key) : NULL;
}

/* Where the value of a member is, or each element of it. */
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

/* How a list of the patch is meant. */
struct merge_list {
	const struct schema_field *field;
	const struct json *order; /* what $setElementOrder gives, or NULL */
	bool removes; /* $deleteFromPrimitiveList: its scalars go */
};

/* What the elements of a list are known by, in their order; those without a key are not there. */
struct merge_keys {
	const struct json **v;
	size_t n;
};

/* Merges `patch` into `object`. The nodes of the patch move into the result. */
int merge_object(struct merge *m, struct json *object, struct json *patch, struct place place);

/* Merges lists element by element, as `how` says. The nodes of the patch move, too. */
int merge_list(struct merge *m, const struct merge_list *how, struct json *list,
	       struct json *patch);

struct merge_keys merge_keys_of(struct merge *m, const struct schema_field *field,
				const struct json *list);

/* Whether each element of a list that merges by a key is an object that has it. */
int merge_check_keys(struct merge *m, const struct schema_field *field, const struct json *list);

/* Where a key is, or -1. */
ptrdiff_t merge_find_key(struct merge *m, const struct merge_keys *keys, const struct json *key);

/*
 * Orders a merged list: what `wanted` names, in that order, and between it, where `stored`, the
 * order of the object, puts them, the others.
 */
void merge_order(struct merge *m, const struct schema_field *field, struct json *list,
		 const struct merge_keys *wanted, const struct merge_keys *stored);

/*
 * Checks the list of $setElementOrder against the elements of the patch (or NULL): they must be
 * in it, in the same order.
 */
int merge_check_order(struct merge *m, const struct merge_list *how, const struct json *patch);

/* Whether the lists have elements of one type that can be merged. */
int merge_check_types(struct merge *m, const struct json *list, const struct json *patch);

/* --- failures, in upstream's words --------------------------------------------------- */

/* "expected a map[string]interface {}, but received a string" */
int merge_fail_type(struct merge *m, enum json_type expected, const struct json *actual);

/* "map: map[a:1] does not contain declared merge key: name" */
int merge_fail_key(struct merge *m, const struct json *object, struct str key);

/* As Go's %v prints it, maps in the order of their keys. Lives in the arena. */
const char *merge_text(struct merge *m, const struct json *value);

#endif
