/*
 * yaml_resolve - what a plain scalar means by YAML 1.1, as go-yaml v2 reads it.
 *
 * Private to the YAML files: the parser asks what a scalar is, the printer
 * whether a string would still be one without quotes.
 */
#ifndef BASE_YAML_RESOLVE_H
#define BASE_YAML_RESOLVE_H

#include "base/json/json.h"

enum yaml_kind {
	YAML_KIND_STR,
	YAML_KIND_NULL,
	YAML_KIND_BOOL,
	YAML_KIND_INT,
	YAML_KIND_FLOAT,
	YAML_KIND_TIMESTAMP,
};

/*
 * Sets type and value of *v. A string or time stamp becomes a JSON_STRING that
 * borrows `text`; a float becomes a JSON_DOUBLE, and that may be infinite or
 * not a number, which is for the caller to refuse.
 */
enum yaml_kind yaml_resolve(struct str text, struct json *v);

/* True when the text must be quoted to be read as a string by every YAML 1.1 reader. */
bool yaml_needs_quotes(struct str text);

#endif
