/*
 * yaml - YAML text to and from JSON trees, by the rules of Kubernetes.
 *
 * Reading works like sigs.k8s.io/yaml with go-yaml v2, so that a manifest means the same as for
 * kubectl. Plain scalars follow YAML 1.1: null, ~ and empty are null; y, yes, true, on and their
 * opposites are booleans, in lower, Capital and UPPER case; integers are decimal, 0x, 0o or 0-led
 * octal and 0b, with underscores; then floats. Timestamps stay strings, and so does a number too
 * large for a double. The tags !!str, !!int, !!bool, !!float, !!null, !!binary and !!timestamp are
 * honoured; a scalar with any other tag is a string. Keys that are numbers or booleans become their
 * text. Infinities and NaN, which JSON cannot express, are errors, as are keys that are null or not
 * scalars.
 *
 * Merge keys (<<) take effect in the order of the source, like in go-yaml v2: members after the
 * merge override merged ones, and the merge overrides members before it. Within a list of merged
 * maps the first wins.
 *
 * Writing gives the format of `kubectl -o yaml`: blocks indented by two spaces, lists not indented
 * below their key, lines never folded, strings quoted only if they would otherwise be read as
 * something else. Characters beyond U+FFFF are written as escapes, like upstream; others unchanged.
 */
#ifndef BASE_YAML_YAML_H
#define BASE_YAML_YAML_H

#include "base/json/json.h"

/* Zero means the default. */
struct yaml_options {
	size_t size_max; /* bytes of source; UINT32_MAX */
	size_t depth_max; /* of the tree, aliases expanded; YAML_DEPTH_MAX */
	size_t alias_nodes_max; /* from expanding aliases, per document; YAML_ALIAS_NODES_MAX */
	size_t duplicates_max; /* listed in the report; JSON_DUPLICATES_MAX */
	/*
	 * Filled in for each document, also if it fails; may be NULL. Repeated keys are reported
	 * and merged as in JSON. Columns count characters, and the offset is not set.
	 */
	struct json_report *report;
};

/* A stream of documents. Belongs to one thread; readers share nothing. */
struct yaml_reader;

/* `text` is borrowed until the reader is freed; `options` may be NULL and is copied. */
struct yaml_reader *yaml_reader_new(struct str text, const struct yaml_options *options);
void yaml_reader_free(struct yaml_reader *r); /* NULL allowed */

/*
 * Reads the next document into a tree in `a`, which borrows nothing from the text. Returns 1, or 0
 * at the end of the stream. Empty and null documents are skipped, like in kubectl. Returns
 * -ERR_BAD_REQUEST for invalid YAML or values without a JSON form, -ERR_TOO_LARGE at a limit. After
 * a failure the reader only fails again.
 */
int yaml_reader_next(struct yaml_reader *r, struct arena *a, struct json **ret_value,
		     struct error *err);

/*
 * Reads the only document of a text; null if it is empty. More than one is -ERR_BAD_REQUEST.
 * Otherwise like yaml_reader_next().
 */
int yaml_parse(struct arena *a, struct str text, const struct yaml_options *options,
	       struct json **ret_value, struct error *err);

/* A key that was already set in its map. */
struct yaml_repeat {
	struct yaml_repeat *next;
	size_t line; /* from 1: where its value begins */
	struct str key; /* as Go prints it: "foo", 1, true; cut at 8 KiB */
};

/*
 * Finds the repeated keys that go-yaml's strict mode reports in the first document of a text, in
 * its order: a key comes after those inside its value. Merged keys count as set, an alias is
 * examined at each use, and 1 and "1" are different keys. Results are in `a`, at most `max` of
 * them. Fails like yaml_parse().
 */
int yaml_repeats(struct arena *a, struct str text, size_t max, struct yaml_repeat **ret_repeats,
		 struct error *err);

/* Whether upstream treats this text as JSON: its first byte after spaces is '{'. */
bool yaml_is_json(struct str text);

struct yaml_style {
	bool sort; /* sort members by name, like upstream's maps; digits compare as numbers */
	bool separate; /* begin with a line "---": for all but the first document */
};

/*
 * Appends one document, with a newline at the end. `style` may be NULL. Returns -ERR_TOO_LARGE at
 * the buffer's limit, which leaves a partial text, and -ERR_INTERNAL if a string is not UTF-8 or
 * has 2 GiB.
 */
int yaml_print(struct buf *b, const struct json *v, const struct yaml_style *style,
	       struct error *err);

DEFINE_CLEANUP(yaml_reader_free, struct yaml_reader *);

#endif
