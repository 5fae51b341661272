/*
 * yaml_resolve - the meaning of a plain scalar in YAML 1.1, like go-yaml v2.
 *
 * Private to the YAML files. The parser uses it for the type of a scalar, the printer to check
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
 * Sets type and value of *v. A string or timestamp becomes a JSON_STRING that borrows `text`; a
 * float becomes a JSON_DOUBLE, which may be infinite or NaN; the caller must reject those.
 */
enum yaml_kind yaml_resolve(struct str text, struct json *v);

/* Whether the text must be quoted so that every YAML 1.1 reader takes it for a string. */
bool yaml_needs_quotes(struct str text);

#endif
