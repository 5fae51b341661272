/*
 * yaml_scalar - scalars with their tags, and scalars as keys.
 *
 * Private to the YAML files. On failure, *ret_why is the reason; it is unchanged if the arena's
 * limit was reached.
 */
#ifndef BASE_YAML_SCALAR_H
#define BASE_YAML_SCALAR_H

#include "base/json/json.h"

/*
 * Sets type and value of the new node *v to the meaning of `text` under its tag (NULL: no tag).
 * Without a tag, only a plain scalar can be anything but a string. Text is copied into the arena. A
 * JSON_DOUBLE may be infinite or NaN.
 */
bool yaml_scalar_read(struct arena *a, struct str text, const char *tag, bool plain, struct json *v,
		      const char **ret_why);

/* Whether a key merges its value into its map: <<, unless that is quoted or has another tag. */
bool yaml_scalar_is_merge(struct str text, const char *tag, bool plain);

/* The text of a scalar used as a key, borrowed from it or in the arena. */
bool yaml_scalar_key(struct arena *a, const struct json *key, struct str *ret_text,
		     const char **ret_why);

#endif
