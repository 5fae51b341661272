/*
 * A template up to a NUL, and an object behind it. Whatever they are, printing ends within its
 * bounds, and prints the same a second time.
 */
#include "api/table/jsonpath_template.h"
#include "base/core/limits.h"
#include "target.h"

static int print(const struct jsonpath_template *t, const struct json *root, struct buf *out)
{
	CLEANUP(arena_release) struct arena a;
	struct error err;
	int r;

	arena_init(&a, 1024 * MIB);
	r = jsonpath_template_print(t, root, &a, out, &err);
	require(r == 0 || (err.code == (enum error_code) - r && err.msg[0]));
	return r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf once = BUF_INIT(MIB), again = BUF_INIT(MIB);
	struct str text = str_of(data, size), line;
	const struct jsonpath_template *t;
	struct json *root;
	struct error err;

	arena_init(&a, 64 * MIB);
	if (!str_split(&text, '\0', &line))
		return 0;
	if (jsonpath_template_compile(&a, line, &t, &err) < 0) {
		require(err.code == ERR_BAD_REQUEST && err.msg[0]);
		return 0;
	}
	if (!text.p || json_parse(&a, text, NULL, &root, NULL) < 0)
		return 0;
	if (print(t, root, &once) == print(t, root, &again))
		require(str_eq(buf_str(&once), buf_str(&again)));
	return 0;
}
