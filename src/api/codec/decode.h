/*
 * decode - turns a request body into a tree that fits its schema.
 *
 * It parses JSON or YAML, checks it against the type (a wrong type is an error, with the message of
 * upstream's decoder), and prunes it: unknown fields, null where null means absent, zero values
 * that upstream would not print. Unknown and repeated fields are reported; the caller rejects,
 * warns or ignores (fieldValidation).
 *
 * Faults are reported in upstream's order: that of a decoder that sees repeated names and, for
 * YAML, sorted members. The first reading only notes that there are faults of this sort. To report
 * them, read the body again (decode_reparse()).
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

/* Sorts texts by their bytes. */
void text_list_sort(struct arena *a, struct text_list **list);

struct decode_report {
	/* YAML only: `line 9: key "foo" already set in map`. */
	struct text_list *lines;
	/* `unknown field "spec.foo"`, `duplicate field "spec.foo"`; at most DECODE_FAULTS_MAX. */
	struct text_list *faults;
	size_t n; /* number of faults */
	size_t met; /* number of faults found, including repeated ones that were reported already */
	bool repeats; /* names occurred twice in the parsed text, reported or not */
	bool plain; /* paths are reported unchanged, not quoted as Go does */
};

/*
 * Parses the text of one object, without a schema. -ERR_BAD_REQUEST with upstream's message if it
 * is not JSON or YAML. If a name occurs twice, the last one counts, and report->repeats is set
 * (report may be NULL). For JSON, the tree borrows from the body. Not for protobuf, which needs a
 * schema: see decode_body().
 */
int decode_parse(struct arena *a, struct str body, enum decode_format format,
		 struct decode_report *report, struct json **ret_tree, struct error *err);

/*
 * The same for a body of any format that should be of `kind`. Protobuf reports no faults, because
 * it has no names for unknown fields. On failure *ret_tree is NULL or, if they could be read, has
 * only apiVersion and kind: for decode_wrap().
 */
int decode_body(struct arena *a, struct str body, enum decode_format format,
		const struct schema_kind *kind, struct decode_report *report,
		struct json **ret_tree, struct error *err);

/*
 * Makes the tree fit the type, in place. Checks types, converts quantities given as numbers to
 * text, formats times as upstream prints them, and removes and reports unknown fields (report may
 * be NULL). -ERR_BAD_REQUEST, naming the field, for a value of the wrong type; the tree is then
 * unusable.
 *
 * It removes and adds what upstream's typed objects would lose or add when they are printed. Zero
 * values of optional fields that are not pointers are removed. Fields that are always printed
 * (SCHEMA_ALWAYS) are added with their zero value, unless a default fills them. Fitting again
 * changes nothing.
 */
int decode_fit(struct arena *a, struct json *tree, const struct schema_type *type,
	       struct decode_report *report, struct error *err);

/*
 * Whether a parsed and fitted body must be read again for its faults, because the report is
 * incomplete or not in order.
 */
bool decode_is_unordered(const struct decode_report *report, enum decode_format format);

/*
 * Parses a body again, only for its faults. Empties the report and adds YAML's lines; the tree's
 * members are sorted. For JSON, repeated names are all in the tree. Pass the tree only to
 * decode_refit() and decode_tell_repeats().
 */
int decode_reparse(struct arena *a, struct str body, enum decode_format format,
		   struct decode_report *report, struct json **ret_tree, struct error *err);

/* decode_fit() of such a tree: reports unknown and repeated names in the order of a Go decoder. */
int decode_refit(struct arena *a, struct json *tree, const struct schema_type *type,
		 struct decode_report *report, struct error *err);

/* Reports all repeated names in a tree of decode_reparse(). */
void decode_tell_repeats(struct arena *a, const struct json *tree, struct decode_report *report);

/*
 * Reports the faults of a patch's text, if `report` (of decode_parse()) says that there are some:
 * repeated names and, with `operations` (a JSON patch), unknown ones. `tree` is the patch.
 */
void decode_tell_patch(struct arena *a, struct str body, enum decode_format format,
		       const struct json *tree, bool operations, struct decode_report *report);

/*
 * If decoding a body of `kind` failed with `r`, puts the text of upstream's handlers before the
 * error message. Returns r. `tree` is NULL if the body could not be parsed.
 */
int decode_wrap(struct error *err, int r, const struct schema_kind *kind, const struct json *tree,
		struct str body);

/*
 * The faults of a report as one text, `strict decoding error: unknown field "spec.foo", ..`; and as
 * -ERR_BAD_REQUEST, which has space only for its beginning. For fieldValidation=Strict; pass the
 * error to decode_wrap().
 */
struct str decode_strict_text(struct arena *a, const struct decode_report *report);
int decode_strict_error(const struct decode_report *report, struct error *err);

/* Appends the lines of YAML as go-yaml's single error. */
void decode_print_lines(const struct text_list *lines, struct buf *out);

/*
 * Drops fields whose gate is off. If `old` (may be NULL) uses any field of a gate, all fields of
 * that gate are kept: data stored before the gate was switched off stays.
 */
void decode_drop_gated(struct json *tree, const struct json *old, const struct schema_type *type,
		       const struct gates *gates);

/*
 * Prepares a tree to be served: drops fields with SCHEMA_GATE_SERVED whose gate is off, even if
 * they are stored. Returns true if the tree was changed.
 */
bool decode_drop_served(struct json *tree, const struct schema_type *type,
			const struct gates *gates);

/*
 * Whether decode_drop_served() could change any object of this type. Walks the type and all types
 * below it (about a microsecond), so cache the result if you need it often.
 */
bool decode_drops_served(const struct schema_type *type, const struct gates *gates);

#endif
