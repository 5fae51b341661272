/*
 * validate - whether an object is valid.
 *
 * One walker over schema and tree applies what the tables say (required,
 * limits, formats, enums, unions, unique keys, immutability), in upstream's words,
 * and calls the named checks of the rows. All faults are gathered, none hides
 * another.
 *
 * Validation sees trees of the storage version only, after conversion, defaults
 * and the dropping of gated fields. Objects of custom kinds are validated by crd.h.
 *
 * On an update, what equals its stored counterpart is not looked at again: it
 * was valid when it was stored, and a rule that became stricter since must not
 * lock its owner out. So a check of a type sees an object only when something in
 * it changed; what depends on siblings belongs to the type that holds both.
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
	struct text_list **warnings; /* a check may warn: append here; upstream's texts */
	/* Labels of the object's namespace (a JSON object or NULL): admin access needs one. */
	const struct json *namespace_labels;

	struct known_selectors *selectors; /* or NULL */
	const struct selector_trial *trial; /* verdicts on some of the expressions; or NULL */
	struct cel_budget *budget; /* of compiling the object's expressions; NULL: none */

	/* Which part of the object is written: empty, or "ephemeralcontainers", "resize", .. */
	struct str subresource;

	/* The walker's; zero at the start. */
	const struct json *old_value; /* during a check: the stored counterpart, or NULL */
	unsigned depth;
};

/*
 * An object that is to be created: metadata, fields, the kind's check. The object
 * has its name by now. A status that only /status writes is not looked at.
 */
void validate_create(struct validation *v);

/*
 * An update of the main resource: the same and the kind's check_update; of its
 * status: only the status is looked at, and the kind's check_status_update.
 */
void validate_update(struct validation *v);
void validate_status_update(struct validation *v);

/* Only the walker, for types that are no kind (pod templates in others, DeleteOptions). */
void validate_type(struct validation *v, const struct json *tree, const struct schema_type *type,
		   const struct field_path *path);

/* Metadata alone; part of the above. */
void validate_meta(struct validation *v, const struct json *meta, const struct json *old_meta);

/* ObjectMeta of an object within another: of any kind, so any name that fits into a path. */
void validate_embedded_meta(struct validation *v, const struct json *meta,
			    const struct field_path *path);

void validation_warn(struct validation *v, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* --- for checks --------------------------------------------------------------------- */

/* How a fault shows the value: scalars as they are, the rest as JSON. NULL: null. */
struct field_value validate_shown(struct validation *v, const struct json *value);

/* Text must have the format; each fault is one error. */
void validate_format(struct validation *v, enum schema_format format, struct str text,
		     const struct field_path *path);

/* The two must be equal, or `field is immutable`. */
void validate_immutable(struct validation *v, const struct json *value, const struct json *old,
			const struct field_path *path);

/* Labels and annotations, also those of templates. */
void validate_labels(struct validation *v, const struct json *labels,
		     const struct field_path *path);
void validate_annotations(struct validation *v, const struct json *annotations,
			  const struct field_path *path);

/* A JSON object of at most `max` bytes as compact text (RawExtension). */
void validate_raw_object(struct validation *v, const struct json *value, size_t max,
			 const struct field_path *path);

/* Absent, null, empty, or zero: what upstream's omitempty leaves out. */
bool validate_is_unset(const struct json *value);

#endif
