/*
 * check_crd - what the files that check definitions share.
 *
 * Schemas are looked at as the trees that they are: JSONSchemaProps after decoding, where an
 * absent member is a zero value. Paths are those that upstream tells: it moves what all versions
 * have in common to the top of the spec before it looks.
 */
#ifndef API_CRD_DEFINITION_H
#define API_CRD_DEFINITION_H

#include "api/crd/crd_impl.h"

/*
 * The schema of a version, of which `path` is `..schema`; `status`: it has that subresource;
 * `stored`: it was stored as it is.
 */
void check_crd_validation(struct validation *v, const struct json *validation, bool status,
			  bool stored, const struct field_path *path);

/*
 * Whether the schema is structural. False when it cannot even be read as one: *ret_why says
 * why, and nothing was told of.
 */
bool check_crd_structural(struct validation *v, const struct json *schema,
			  const struct field_path *path, const char **ret_why);

/* Defaults must be valid, and have no fields that pruning would take. */
void check_crd_defaults(struct validation *v, const struct crd_schema *schema,
			const struct field_path *path);

/* What a valid definition is warned of. */
void check_crd_warn(struct validation *v);

#endif
