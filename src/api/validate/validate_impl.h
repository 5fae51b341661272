/*
 * validate_impl - functions that the files of validate share.
 */
#ifndef API_VALIDATE_VALIDATE_IMPL_H
#define API_VALIDATE_VALIDATE_IMPL_H

#include "api/validate/validate.h"
#include "base/json/index.h"

/* Applies the field's rules to one value: the field's own, or one of its elements. */
void validate_scalar(struct validation *v, const struct schema_field *field,
		     const struct json *value, const struct field_path *path);

/* Applies the field's rules if it is unset and its type always prints it. */
void validate_unset_scalar(struct validation *v, const struct schema_field *field,
			   const struct field_path *path);

/* Checks that the elements of a list, or their keys, do not repeat. */
void validate_unique(struct validation *v, const struct schema_field *field,
		     const struct json *list, const struct field_path *path);

/*
 * Finds the stored counterparts of the values of a list or map, one by one. The counterpart of an
 * element has the same keys or, in a list without keys, the same position. That of a map's member
 * has the same name.
 */
struct validate_old {
	const struct json *old; /* the stored list or map, or NULL */
	const struct str *keys; /* of a list, or NULL */
	const struct json *place; /* the stored element at the position of the next value */
	struct json_index names; /* of a map */
	struct map map; /* of a list: keys to the first element that has them */
	enum { OLD_UNMAPPED, OLD_MAPPED, OLD_SEARCHED } how;
};

void validate_old_init(struct validate_old *o, const struct str *keys, const struct json *old);
void validate_old_release(struct validate_old *o);
/* Call it for each value in turn. Returns NULL if the value is new. */
const struct json *validate_old_next(struct validation *v, struct validate_old *o,
				     const struct json *value);

/*
 * Returns a text that is equal exactly for elements with the same keys. Returns p NULL if that is
 * impossible. If `keys` is NULL, the whole element is the key.
 */
struct str validate_key_text(struct arena *a, const struct str *keys, const struct json *item);

/* Returns the members that distinguish elements of a list; NULL if only the whole element does. */
const struct str *validate_keys(const struct schema_field *field);
bool validate_same_keys(const struct str *keys, const struct json *a, const struct json *b);

#endif
