/*
 * validate - checks whether an object is valid.
 *
 * One walker goes over schema and tree. It applies the rules of the tables (required, limits,
 * formats, enums, unions, unique keys, immutability) with upstream's messages, and calls the checks
 * that rows name. It collects all errors; no error hides another.
 *
 * Validation sees only trees of the storage version, after conversion and defaulting, and after
 * gated fields were dropped. Objects of custom kinds are validated by crd.h.
 *
 * An update does not check values again that equal their stored counterpart. They were valid when
 * they were stored, and a rule that became stricter since must not lock out the owner. So a check
 * of a type sees an object only if something in it changed. Attach a rule that depends on siblings
 * to the type that holds both.
 */
#ifndef API_VALIDATE_VALIDATE_H
#define API_VALIDATE_VALIDATE_H

#include "api/codec/decode.h"
#include "api/schema/schema.h"
#include "base/json/json.h"
#include "base/report/field_errors.h"

struct cel_budget;
struct known_selectors;
struct selector_trial;

struct validation {
	struct field_errors *errs;
	struct arena *arena;
	const struct gates *gates;
	const struct schema_kind *kind;
	const struct json *old; /* the whole stored object, for an update; NULL when created */
	const struct json *object; /* the whole object */
	int64_t now_ns;
	struct text_list **warnings; /* checks append upstream's warnings here */
	/* Labels of the object's namespace (a JSON object or NULL): admin access needs one. */
	const struct json *namespace_labels;

	struct known_selectors *selectors; /* or NULL */
	const struct selector_trial *trial; /* verdicts on some of the expressions; or NULL */
	struct cel_budget *budget; /* for compiling the object's expressions; NULL: no limit */

	/* The part of the object that is written: empty, or "ephemeralcontainers", "resize", .. */
	struct str subresource;

	/* The walker's own; zero at the start. */
	const struct json *old_value; /* during a check: the stored counterpart, or NULL */
	unsigned depth;
};

/*
 * Validates an object that is to be created: metadata, fields, the kind's check. The object has its
 * name already. A status that only /status writes is not checked.
 */
void validate_create(struct validation *v);

/*
 * validate_update() checks an update of the main resource: the same, and the kind's check_update.
 * validate_status_update() checks only the status, and calls the kind's check_status_update.
 */
void validate_update(struct validation *v);
void validate_status_update(struct validation *v);

/*
 * Runs only the walker, for types that are not kinds (pod templates in other kinds, DeleteOptions).
 */
void validate_type(struct validation *v, const struct json *tree, const struct schema_type *type,
		   const struct field_path *path);

/* Checks only metadata; part of the functions above. */
void validate_meta(struct validation *v, const struct json *meta, const struct json *old_meta);

/*
 * Checks the ObjectMeta of an embedded object. Its kind is unknown, so any path segment is a valid
 * name.
 */
void validate_embedded_meta(struct validation *v, const struct json *meta,
			    const struct field_path *path);

void validation_warn(struct validation *v, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* --- for checks --------------------------------------------------------------------- */

/* Formats a value for an error: scalars as they are, the rest as JSON. NULL: null. */
struct field_value validate_shown(struct validation *v, const struct json *value);

/* Checks the format of the text; adds one error for each fault. */
void validate_format(struct validation *v, enum schema_format format, struct str text,
		     const struct field_path *path);

/* Adds `field is immutable` unless the two are equal. */
void validate_immutable(struct validation *v, const struct json *value, const struct json *old,
			const struct field_path *path);

/* Check labels and annotations, also those of templates. */
void validate_labels(struct validation *v, const struct json *labels,
		     const struct field_path *path);
void validate_annotations(struct validation *v, const struct json *annotations,
			  const struct field_path *path);

/* Checks that it is a JSON object of at most `max` bytes as compact text (RawExtension). */
void validate_raw_object(struct validation *v, const struct json *value, size_t max,
			 const struct field_path *path);

/* Whether it is absent, null, empty or zero: a value that upstream's omitempty leaves out. */
bool validate_is_unset(const struct json *value);

#endif
