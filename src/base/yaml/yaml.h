/*
 * yaml - YAML text to and from JSON trees, by the rules of Kubernetes.
 *
 * Reading does what sigs.k8s.io/yaml over go-yaml v2 does, so that a manifest
 * means here what it means to kubectl. YAML 1.1 decides what a plain scalar is:
 * null, ~ and nothing; y, yes, true, on and their opposites in lower, Capital
 * and UPPER case; decimal, 0x, 0o or 0-led octal and 0b integers with
 * underscores; floats. Time stamps stay strings, and so does a number too large
 * for a double. The tags !!str, !!int, !!bool, !!float, !!null, !!binary and
 * !!timestamp are honoured; a scalar with any other tag is a string. Keys that
 * are numbers or booleans become their text. Infinities and NaN, which JSON
 * cannot hold, are errors, as are keys that are null or no scalar.
 *
 * Merge keys (<<) take effect in the order of the source, as go-yaml v2 has
 * it: members after the merge override what it brought, and the merge
 * overrides members before it. Within a list of merged maps the first wins.
 *
 * Writing gives what `kubectl -o yaml` shows: blocks indented by two spaces,
 * lists not indented below their key, lines never folded, strings quoted
 * exactly where they would otherwise be read as something else. Characters
 * beyond U+FFFF are written as escapes, as upstream does; others as they are.
 */
#ifndef BASE_YAML_YAML_H
#define BASE_YAML_YAML_H

#include "base/json/json.h"

/* Zero means the default. */
struct yaml_options {
	size_t size_max; /* bytes of source; UINT32_MAX */
	size_t depth_max; /* of the tree, aliases expanded; YAML_DEPTH_MAX */
	size_t alias_nodes_max; /* made by expanding aliases in a document; YAML_ALIAS_NODES_MAX */
	size_t duplicates_max; /* listed in the report; JSON_DUPLICATES_MAX */
	/*
	 * Filled each time that a document is read or fails to be; NULL when not
	 * wanted. Repeated keys are reported and merged as in JSON. Columns count
	 * characters, and the offset is not set.
	 */
	struct json_report *report;
};

/*
 * A stream of documents. Belongs to one thread; several readers do not share
 * anything.
 */
struct yaml_reader;

/* `text` is borrowed until the reader is freed; `options` may be NULL and is copied. */
struct yaml_reader *yaml_reader_new(struct str text, const struct yaml_options *options);
void yaml_reader_free(struct yaml_reader *r); /* NULL allowed */

/*
 * The next document as a tree in `a`, which borrows nothing from the text. 1,
 * or 0 at the end of the stream. Documents that are empty or null are skipped,
 * as kubectl does. -ERR_BAD_REQUEST for what is no YAML or has no JSON form,
 * -ERR_TOO_LARGE at a limit; after a failure the reader only fails again.
 */
int yaml_reader_next(struct yaml_reader *r, struct arena *a, struct json **ret_value,
		     struct error *err);

/*
 * The only document of a text; a null when it has none. More than one is
 * -ERR_BAD_REQUEST. The rest is as for yaml_reader_next().
 */
int yaml_parse(struct arena *a, struct str text, const struct yaml_options *options,
	       struct json **ret_value, struct error *err);

/* A key that was set before in its map. */
struct yaml_repeat {
	struct yaml_repeat *next;
	size_t line; /* from 1: where its value begins */
	struct str key; /* as Go prints it: "foo", 1, true; cut when it has more than 8 KiB */
};

/*
 * What go-yaml's strict reading finds in the first document of a text, in its order: a key is
 * told behind what is told of its value; keys that are brought by a merge count as set; what an
 * alias names is looked at each time; 1 and "1" are two keys. Results are in `a`, `max` of them
 * at most. Fails as yaml_parse() does.
 */
int yaml_repeats(struct arena *a, struct str text, size_t max, struct yaml_repeat **ret_repeats,
		 struct error *err);

/* Whether upstream would take this text for JSON: its first byte beyond spaces is '{'. */
bool yaml_is_json(struct str text);

struct yaml_style {
	bool sort; /* members by name, as upstream's maps come out; digits compare as numbers */
	bool separate; /* begin with a line of three dashes: for all but the first document */
};

/*
 * Appends one document, ending in a newline. `style` may be NULL. Fails with
 * -ERR_TOO_LARGE at the buffer's limit and then leaves a part behind; with
 * -ERR_INTERNAL if a string is not UTF-8 or has 2 GiB.
 */
int yaml_print(struct buf *b, const struct json *v, const struct yaml_style *style,
	       struct error *err);

DEFINE_CLEANUP(yaml_reader_free, struct yaml_reader *);

#endif
