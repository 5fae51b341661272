/*
 * A line with a path, and an object behind it. A path that is taken finds a value of the
 * object, or a literal, or nothing; the same each time.
 */
#include "api/table/jsonpath.h"
#include "base/core/limits.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena a;
	struct str text = str_of(data, size), line;
	const struct jsonpath *path;
	const struct json *found;
	struct json *root;
	struct error err;

	arena_init(&a, 64 * MIB);
	if (!str_split(&text, '\n', &line))
		return 0;
	if (jsonpath_compile(&a, line, &path, &err) < 0) {
		require(err.code == ERR_BAD_REQUEST && err.msg[0]);
		return 0;
	}
	if (!text.p || json_parse(&a, text, NULL, &root, NULL) < 0)
		return 0;
	found = jsonpath_first(path, root);
	require(jsonpath_first(path, root) == found);
	return 0;
}
