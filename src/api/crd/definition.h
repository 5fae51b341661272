/*
 * check_crd - functions that the files that check definitions share.
 *
 * Schemas are checked as trees: JSONSchemaProps after decoding, where an absent member is a zero
 * value. Paths are those in upstream's errors: upstream moves fields that all versions have in
 * common to the top of the spec before it validates.
 */
#ifndef API_CRD_DEFINITION_H
#define API_CRD_DEFINITION_H

#include "api/crd/crd_impl.h"

/*
 * Checks the schema of a version; `path` is that of `..schema`. `status`: the version has that
 * subresource. `stored`: the schema is stored unchanged.
 */
void check_crd_validation(struct validation *v, const struct json *validation, bool status,
			  bool stored, const struct field_path *path);

/*
 * Checks whether the schema is structural. If it cannot even be read as one, returns false with the
 * reason in *ret_why and reports nothing. Otherwise *ret_why is NULL, and it returns whether no
 * error was reported.
 */
bool check_crd_structural(struct validation *v, const struct json *schema,
			  const struct field_path *path, const char **ret_why);

/* Checks that defaults are valid and have no fields that pruning would remove. */
void check_crd_defaults(struct validation *v, const struct crd_schema *schema,
			const struct field_path *path);

/* Adds the warnings for a valid definition. */
void check_crd_warn(struct validation *v);

#endif
