/*
 * A pod and a strategic merge patch, one line each. The patch stays as it was; the result is an
 * object that prints and reads back the same; failures are those of the contract.
 */
#include "api/patch/strategic.h"
#include "base/core/limits.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct schema_kind *pods = schema_find_resource(STR(""), STR("v1"), STR("pods"));
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * MIB);
	struct str rest = str_of(data, size), first;
	struct json *doc, *patch, *before, *back;
	struct error err = { 0 };

	arena_init(&a, 256 * MIB);
	if (!str_split(&rest, '\n', &first) || json_parse(&a, first, NULL, &doc, NULL) < 0 ||
	    json_parse(&a, rest, NULL, &patch, NULL) < 0 || !json_is(doc, JSON_OBJECT) ||
	    json_copy(&a, patch, &before, NULL) < 0)
		return 0;
	if (patch_strategic(&a, &doc, pods->type, patch, &err) < 0) {
		require(err.code == ERR_BAD_REQUEST || err.code == ERR_INVALID ||
			err.code == ERR_TOO_LARGE);
		require(err.msg[0] != '\0');
	} else {
		require(json_is(doc, JSON_OBJECT));
		require(json_print(&out, doc, NULL) == 0);
		require(json_parse(&a, buf_str(&out), NULL, &back, NULL) == 0);
		require(json_equal(doc, back));
	}
	require(json_equal(before, patch));
	return 0;
}
