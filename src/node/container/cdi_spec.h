/*
 * cdi_spec - reads and checks one CDI file, and applies its edits to a container. Pure.
 */
#ifndef NODE_CONTAINER_CDI_SPEC_H
#define NODE_CONTAINER_CDI_SPEC_H

#include "base/json/json.h"
#include "node/runtime/runtime.h"

/*
 * Parses a file. Succeeds if we know its version and all members have the right types. Unknown
 * members within edits are kept; they are rejected when they would be applied. Returns
 * -ERR_BAD_REQUEST, -ERR_INVALID, -ERR_UNIMPLEMENTED (a newer version), -ERR_TOO_LARGE.
 */
int cdi_spec_parse(struct arena *a, struct str text, bool is_json, struct json **ret_spec,
		   struct error *err);

struct str cdi_spec_kind(const struct json *spec);
struct json *cdi_spec_device(const struct json *spec, struct str name); /* NULL: not found */

/* Whether this is a valid "vendor/class", and a valid device name. */
bool cdi_spec_valid_kind(struct str kind);
bool cdi_spec_valid_device(struct str name);

/* --- cdi_edits.c ---------------------------------------------------------------------------- */

/* Checks the members of a containerEdits. */
int cdi_edits_check(const struct json *edits, struct error *err);

/* Applies edits that passed cdi_edits_check(). NULL: nothing. Text is borrowed from the tree. */
int cdi_edits_apply(const struct json *edits, struct arena *a, struct container_spec *io,
		    struct error *err);

#endif
