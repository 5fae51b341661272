/*
 * validate - defaults, and whether an object is valid.
 *
 * One walker over schema and tree applies what the tables say (required,
 * limits, formats, enums, unions, list keys, immutability), in upstream's words,
 * and calls the named checks of the rows. All faults are gathered, none hides
 * another.
 */
#ifndef API_VALIDATE_H
#define API_VALIDATE_H

#include "api/decode.h"
#include "api/schema.h"
#include "base/field_errors.h"
#include "base/json.h"

struct validation {
	struct field_errors *errs;
	struct arena *arena;
	const struct gates *gates;
	const struct schema_kind *kind;
	const struct json *old; /* the whole stored object, for an update; NULL when created */
	const struct json *object; /* the whole object */
	int64_t now_ns;
	struct text_list **warnings; /* a check may warn: append here; upstream's texts */
	/* Labels of the object's namespace (a JSON object or NULL): admin access needs one. */
	const struct json *namespace_labels;
};

/* Fills in what is absent, all through the tree. */
void defaults_fill(struct arena *a, struct json *tree, const struct schema_type *type,
		   int64_t now_ns);

/*
 * An object that is to be created: metadata, fields, kind check. The object has
 * its name by now.
 */
void validate_create(struct validation *v);

/* An update of the main resource, or of its status (only the status is looked at). */
void validate_update(struct validation *v);
void validate_status_update(struct validation *v);

/* Only the walker, for types that are no kind (pod templates in others, DeleteOptions). */
void validate_type(struct validation *v, const struct json *tree, const struct schema_type *type,
		   const struct field_path *path);

/* Metadata alone; part of the above. */
void validate_meta(struct validation *v, const struct json *meta, const struct json *old_meta);

void validation_warn(struct validation *v, const char *fmt, ...) PRINTF_LIKE(2, 3);

#endif
