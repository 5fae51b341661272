/*
 * validate_impl - what the files of validate share.
 */
#ifndef API_VALIDATE_VALIDATE_IMPL_H
#define API_VALIDATE_VALIDATE_IMPL_H

#include "api/validate/validate.h"
#include "base/json/index.h"

/* The field's rules for one value: of the field itself, or an element of it. */
void validate_scalar(struct validation *v, const struct schema_field *field,
		     const struct json *value, const struct field_path *path);

/* The field's rules when it is unset and the type has it always. */
void validate_unset_scalar(struct validation *v, const struct schema_field *field,
			   const struct field_path *path);

/* Elements of a list may not repeat, or their keys may not. */
void validate_unique(struct validation *v, const struct schema_field *field,
		     const struct json *list, const struct field_path *path);

/*
 * The stored counterparts of the values of a list or map, one by one: an element's has the same
 * keys, or where there are none the same place; a member's the same name.
 */
struct validate_old {
	const struct json *old; /* the stored list or map, or NULL */
	const struct str *keys; /* of a list, or NULL */
	const struct json *place; /* the one at the place of the next */
	struct json_index names; /* of a map */
	struct map map; /* of a list: the first that has these keys */
	enum { OLD_UNMAPPED, OLD_MAPPED, OLD_SEARCHED } how;
};

void validate_old_init(struct validate_old *o, const struct str *keys, const struct json *old);
void validate_old_release(struct validate_old *o);
/* For each value in turn; NULL: it is new. */
const struct json *validate_old_next(struct validation *v, struct validate_old *o,
				     const struct json *value);

/*
 * A text that elements with the same keys have in common and others have not; p NULL where there
 * is none. `keys` may be NULL: then it is the element.
 */
struct str validate_key_text(struct arena *a, const struct str *keys, const struct json *item);

/* The members that tell elements of a list apart; NULL when only the whole element does. */
const struct str *validate_keys(const struct schema_field *field);
bool validate_same_keys(const struct str *keys, const struct json *a, const struct json *b);

#endif
