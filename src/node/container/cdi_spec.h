/*
 * cdi_spec - one CDI file: read, checked, and its edits applied to a container. Pure.
 */
#ifndef NODE_CONTAINER_CDI_SPEC_H
#define NODE_CONTAINER_CDI_SPEC_H

#include "base/json/json.h"
#include "node/runtime/runtime.h"

/*
 * The tree of a file whose version we know and whose members all have the right types. Unknown
 * members within edits are kept: they are refused when they would be applied.
 * -ERR_BAD_REQUEST, -ERR_INVALID, -ERR_UNIMPLEMENTED (a newer version), -ERR_TOO_LARGE.
 */
int cdi_spec_parse(struct arena *a, struct str text, bool is_json, struct json **ret_spec,
		   struct error *err);

struct str cdi_spec_kind(const struct json *spec);
struct json *cdi_spec_device(const struct json *spec, struct str name); /* NULL: it has none */

/* Whether it is "vendor/class", and the name of a device. */
bool cdi_spec_valid_kind(struct str kind);
bool cdi_spec_valid_device(struct str name);

/* --- cdi_edits.c ---------------------------------------------------------------------------- */

/* Whether the members of a containerEdits are what they must be. */
int cdi_edits_check(const struct json *edits, struct error *err);

/* Applies what cdi_edits_check() has passed. NULL: nothing. Text is borrowed from the tree. */
int cdi_edits_apply(const struct json *edits, struct arena *a, struct container_spec *io,
		    struct error *err);

#endif
