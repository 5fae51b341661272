/*
 * decode - a request body becomes a tree that fits its schema.
 *
 * JSON or YAML is parsed, checked against the type (a wrong type is an error,
 * as upstream's decoder says it), and pruned: unknown fields, null where null
 * means absent, zero values that upstream would not print. Unknown and
 * repeated fields are reported, and it is the caller who refuses, warns or
 * ignores (fieldValidation).
 *
 * Faults are told in upstream's order, which is that of a decoder which meets
 * names twice and, for YAML, members by name. Reading keeps no more than that there
 * is something to tell; who wants to tell it reads once more (decode_reparse()).
 */
#ifndef API_CODEC_DECODE_H
#define API_CODEC_DECODE_H

#include "api/schema/schema.h"
#include "base/json/json.h"

enum decode_format { DECODE_JSON, DECODE_YAML, DECODE_PROTOBUF };

/* A list of texts in an arena, in order. */
struct text_list {
	struct text_list *next;
	struct str text;
};

/* Appends a copy of a text. */
void text_list_add(struct arena *a, struct text_list **list, struct str text);

/* Puts texts into byte order. */
void text_list_sort(struct arena *a, struct text_list **list);

struct decode_report {
	/* Of YAML: `line 9: key "foo" already set in map`. */
	struct text_list *lines;
	/* `unknown field "spec.foo"`, `duplicate field "spec.foo"`; at most DECODE_FAULTS_MAX. */
	struct text_list *faults;
	size_t n; /* faults */
	size_t met; /* those that were told already, too */
	bool repeats; /* names came twice in the text that was parsed, told or not */
	bool plain; /* paths are told as they are, not quoted as Go does */
};

/*
 * Parses text of one object. -ERR_BAD_REQUEST with upstream's wording for what
 * is no JSON or YAML. Of names that come twice the last counts, and report->repeats
 * (report may be NULL) is set. No schema yet. The tree borrows from the body when that is
 * JSON. Not for protobuf, which cannot be read without a schema: see decode_body().
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
 * Whether the faults of a body that was parsed and fitted have to be looked for once more: those
 * that the report has are not all, or not in order.
 */
bool decode_is_unordered(const struct decode_report *report, enum decode_format format);

/*
 * Parses a body that was parsed before, for its faults alone. Empties the report; then YAML's
 * lines are in it, and the tree's members are sorted. The tree of JSON has names as often as they
 * come: for decode_refit() and decode_tell_repeats(), nobody else.
 */
int decode_reparse(struct arena *a, struct str body, enum decode_format format,
		   struct decode_report *report, struct json **ret_tree, struct error *err);

/* decode_fit() of such a tree: tells unknown and repeated names as they come; a Go decoder does. */
int decode_refit(struct arena *a, struct json *tree, const struct schema_type *type,
		 struct decode_report *report, struct error *err);

/* The names that come twice anywhere in a tree of decode_reparse(). */
void decode_tell_repeats(struct arena *a, const struct json *tree, struct decode_report *report);

/*
 * Faults of a patch's text, of which `report` (of decode_parse()) knows that they are there: names
 * that come twice, and with `operations`, a JSON patch's, unknown ones; `tree` is the patch.
 */
void decode_tell_patch(struct arena *a, struct str body, enum decode_format format,
		       const struct json *tree, bool operations, struct decode_report *report);

/*
 * Puts before the message of a failure `r` of the two above what upstream's
 * handlers say of a body that should be of `kind`; returns r. `tree` is NULL
 * when the body could not be parsed.
 */
int decode_wrap(struct error *err, int r, const struct schema_kind *kind, const struct json *tree,
		struct str body);

/*
 * The faults of a report as one text: `strict decoding error: unknown field "spec.foo", ..`; and as
 * -ERR_BAD_REQUEST, which has room for the beginning of it. For fieldValidation=Strict;
 * decode_wrap() it.
 */
struct str decode_strict_text(struct arena *a, const struct decode_report *report);
int decode_strict_error(const struct decode_report *report, struct error *err);

/* The lines of YAML as go-yaml's one error. */
void decode_print_lines(const struct text_list *lines, struct buf *out);

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
