/*
 * jsonpath - the paths of printer columns, in kubectl's dialect of JSONPath.
 *
 * Without the braces, as in a CustomResourceDefinition: `.spec.x`,
 * `.metadata.annotations.example\.com/y`, `.items[0]`, `[-1]`, `[0:2]`, `[*]`, `['x']`, `.*`,
 * `..x`, `[0,2]`, `.status.conditions[?(@.type=="Ready")].status` with == != < <= > >= and bare
 * existence. `$` and `@` at the beginning are the object.
 *
 * A column needs only the first value found, so the search stops there. It also stops after
 * JSONPATH_WORK_MAX values, whatever the path and object.
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

/* Returns the first value, in the order of the tree; NULL if not found. */
const struct json *jsonpath_first(const struct jsonpath *path, const struct json *root);

#endif
