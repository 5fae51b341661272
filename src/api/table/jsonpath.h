/*
 * jsonpath - the paths of printer columns, in kubectl's dialect of JSONPath.
 *
 * Without the braces, as a CustomResourceDefinition has them: `.spec.x`,
 * `.metadata.annotations.example\.com/y`, `.items[0]`, `[-1]`, `[0:2]`, `[*]`, `['x']`,
 * `.*`, `..x`, `[0,2]`, `.status.conditions[?(@.type=="Ready")].status` with == != < <= > >=
 * and bare existence. `$` and `@` at the beginning are the object.
 *
 * Only the first value found is of use to a column, and the search stops there. It
 * ends after JSONPATH_WORK_MAX values, whatever path and object.
 * Threads: a path is immutable; any thread may use it.
 */
#ifndef API_TABLE_JSONPATH_H
#define API_TABLE_JSONPATH_H

#include "base/core/arena.h"
#include "base/json/json.h"

struct jsonpath;

/* All memory is the arena's. -ERR_BAD_REQUEST in the words of client-go's parser. */
int jsonpath_compile(struct arena *a, struct str text, const struct jsonpath **ret_path,
		     struct error *err);

/* The first value, in the order of the tree; NULL: there is none. */
const struct json *jsonpath_first(const struct jsonpath *path, const struct json *root);

#endif
