/*
 * jsonpath - kubectl's dialect of JSONPath: printer columns, `get -o jsonpath=`, `--sort-by`.
 *
 * Without the braces, as in a CustomResourceDefinition: `.spec.x`,
 * `.metadata.annotations.example\.com/y`, `.items[0]`, `[-1]`, `[0:2]`, `[*]`, `['x']`, `.*`,
 * `..x`, `[0,2]`, `.status.conditions[?(@.type=="Ready")].status` with == != < <= > >= and bare
 * existence. `$` and `@` at the beginning are the object.
 *
 * The work of a search is bounded, whatever the path and object.
 * Threads: a path is immutable; any thread may use it.
 */
#ifndef API_TABLE_JSONPATH_H
#define API_TABLE_JSONPATH_H

#include "base/core/arena.h"
#include "base/json/json.h"

struct jsonpath;

/* All memory is the arena's. -ERR_BAD_REQUEST with the message of client-go's parser. */
int jsonpath_compile(struct arena *a, struct str text, const struct jsonpath **ret_path,
		     struct error *err);

/* Borrowed from the tree and the path. */
struct jsonpath_values {
	const struct json **v;
	size_t n;
};

/*
 * Finds all values, in the order of the tree; a name that does not exist is no error. The list is
 * in the arena. *work is the number of values that the search may visit, and is counted down.
 * Returns -ERR_TOO_LARGE at its end; -ERR_BAD_REQUEST with client-go's message for an index out of
 * bounds, a step into the wrong type, or a comparison of different types.
 */
int jsonpath_find(const struct jsonpath *path, const struct json *root, struct arena *a,
		  size_t *work, struct jsonpath_values *ret_values, struct error *err);

/*
 * Returns the first of these values, for a printer column. Returns NULL if the path finds nothing
 * or fails. Visits at most JSONPATH_WORK_MAX values.
 */
const struct json *jsonpath_first(const struct jsonpath *path, const struct json *root);

#endif
