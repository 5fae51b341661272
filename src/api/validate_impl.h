/*
 * validate_impl - what the files of validate share.
 */
#ifndef API_VALIDATE_IMPL_H
#define API_VALIDATE_IMPL_H

#include "api/validate.h"

/* The field's rules for one value: of the field itself, or an element of it. */
void validate_scalar(struct validation *v, const struct schema_field *field,
		     const struct json *value, const struct field_path *path);

/* The field's rules when it is unset and the type has it always. */
void validate_unset_scalar(struct validation *v, const struct schema_field *field,
			   const struct field_path *path);

/* Elements of a list may not repeat, or their keys may not. */
void validate_unique(struct validation *v, const struct schema_field *field,
		     const struct json *list, const struct field_path *path);

/* The members that tell elements of a list apart; NULL when only the whole element does. */
const struct str *validate_keys(const struct schema_field *field);
bool validate_same_keys(const struct str *keys, const struct json *a, const struct json *b);

#endif
