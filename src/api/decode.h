/*
 * decode - a request body becomes a tree that fits its schema.
 *
 * JSON or YAML is parsed, checked against the type (a wrong type is an error,
 * as upstream's decoder says it), and pruned: unknown fields, null where null
 * means absent, zero values that upstream would not print. Unknown and
 * repeated fields are reported, and it is the caller who refuses, warns or
 * ignores (fieldValidation).
 */
#ifndef API_DECODE_H
#define API_DECODE_H

#include "api/schema.h"
#include "base/json.h"

enum decode_format { DECODE_JSON, DECODE_YAML };

/* A list of texts in an arena, in order. */
struct text_list {
	struct text_list *next;
	struct str text;
};

struct decode_report {
	/* `unknown field "spec.foo"`, `duplicate field "spec.foo"`: upstream's words; at most 100. */
	struct text_list *faults;
	size_t n;
};

/*
 * Parses text of one object. -ERR_BAD_REQUEST with upstream's wording for what
 * is no JSON or YAML. Duplicate names go to the report. No schema yet.
 */
int decode_parse(struct arena *a, struct str body, enum decode_format format,
		 struct decode_report *report, struct json **ret_tree, struct error *err);

/*
 * Makes the tree fit the type, in place: types checked, quantities given as
 * numbers made text, times normalised as upstream prints them, unknown fields
 * removed and reported. -ERR_BAD_REQUEST naming the field for a value of the
 * wrong type.
 */
int decode_fit(struct arena *a, struct json *tree, const struct schema_type *type,
	       struct decode_report *report, struct error *err);

/*
 * Drops fields whose gate is off. A field that `old` (may be NULL) has as well is
 * kept: what was stored before the gate was switched off stays.
 */
void decode_drop_gated(struct json *tree, const struct json *old, const struct schema_type *type,
		       const struct gates *gates);

/*
 * What is served: fields whose gate is off and that are marked SERVED are
 * dropped, even when they are stored. True when the tree was changed.
 */
bool decode_drop_served(struct json *tree, const struct schema_type *type,
			const struct gates *gates);

/* Whether decode_drop_served() could change any object of this type. */
bool decode_drops_served(const struct schema_type *type, const struct gates *gates);

#endif
