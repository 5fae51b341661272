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

enum decode_format { DECODE_JSON, DECODE_YAML, DECODE_PROTOBUF };

/* A list of texts in an arena, in order. */
struct text_list {
	struct text_list *next;
	struct str text;
};

struct decode_report {
	/* `unknown field "spec.foo"`, `duplicate field "spec.foo"`; at most DECODE_FAULTS_MAX. */
	struct text_list *faults;
	size_t n;
};

/*
 * Parses text of one object. -ERR_BAD_REQUEST with upstream's wording for what
 * is no JSON or YAML. Duplicate names go to the report (may be NULL). No schema
 * yet. The tree borrows from the body when that is JSON. Not for protobuf, which
 * cannot be read without a schema: see decode_body().
 */
int decode_parse(struct arena *a, struct str body, enum decode_format format,
		 struct decode_report *report, struct json **ret_tree, struct error *err);

/*
 * The same for a body of any format that should be of `kind`. Of protobuf
 * nothing is reported: what it does not know it has no names for. On failure
 * *ret_tree is NULL, or has apiVersion and kind alone when those could be
 * read: for decode_wrap().
 */
int decode_body(struct arena *a, struct str body, enum decode_format format,
		const struct schema_kind *kind, struct decode_report *report,
		struct json **ret_tree, struct error *err);

/*
 * Makes the tree fit the type, in place: types checked, quantities given as
 * numbers made text, times normalised as upstream prints them, unknown fields
 * removed and reported (report may be NULL). -ERR_BAD_REQUEST naming the field
 * for a value of the wrong type; the tree is then in between and of no use.
 *
 * What upstream's typed objects would lose or add when they are printed is
 * lost and added: zero values of optional fields that are no pointers go, and
 * fields that are always printed (SCHEMA_ALWAYS) come with their zero value
 * unless a default fills them. Fitting twice changes nothing more.
 */
int decode_fit(struct arena *a, struct json *tree, const struct schema_type *type,
	       struct decode_report *report, struct error *err);

/*
 * Puts before the message of a failure `r` of the two above what upstream's
 * handlers say of a body that should be of `kind`; returns r. `tree` is NULL
 * when the body could not be parsed.
 */
int decode_wrap(struct error *err, int r, const struct schema_kind *kind, const struct json *tree,
		struct str body);

/*
 * The faults of a report as one -ERR_BAD_REQUEST: `strict decoding error: unknown
 * field "spec.foo", ..`. For fieldValidation=Strict; decode_wrap() it.
 */
int decode_strict_error(const struct decode_report *report, struct error *err);

/*
 * Drops fields whose gate is off. Those of a gate that `old` (may be NULL) uses in
 * any field are kept: what was stored before the gate was switched off stays.
 */
void decode_drop_gated(struct json *tree, const struct json *old, const struct schema_type *type,
		       const struct gates *gates);

/*
 * What is served: fields whose gate is off and that are marked SERVED are
 * dropped, even when they are stored. True when the tree was changed.
 */
bool decode_drop_served(struct json *tree, const struct schema_type *type,
			const struct gates *gates);

/*
 * Whether decode_drop_served() could change any object of this type. Walks the
 * type and all below it (about a microsecond): who asks often keeps the answer.
 */
bool decode_drops_served(const struct schema_type *type, const struct gates *gates);

#endif
