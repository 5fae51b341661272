/*
 * A document and a JSON patch, one line each. After any patch, the result is a document that
 * prints, reads back the same, and is not deeper than the parser allows.
 */
#include "api/patch/patch.h"
#include "base/core/limits.h"
#include "target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena a, b;
	CLEANUP(buf_release) struct buf out = BUF_INIT(64 * MIB);
	struct str rest = str_of(data, size), first;
	struct json *doc, *patch, *back;
	struct error err;

	arena_init(&a, 16 * MIB);
	arena_init(&b, 256 * MIB);
	if (!str_split(&rest, '\n', &first) || json_parse(&a, first, NULL, &doc, NULL) < 0 ||
	    json_parse(&a, rest, NULL, &patch, NULL) < 0 || !json_is(doc, JSON_OBJECT))
		return 0;
	if (patch_json(&a, &doc, patch, &err) < 0) {
		require(err.code == ERR_INVALID || err.code == ERR_BAD_REQUEST ||
			err.code == ERR_TOO_LARGE);
		return 0;
	}
	require(json_print(&out, doc, NULL) == 0);
	require(json_parse(&b, buf_str(&out), NULL, &back, NULL) == 0);
	require(json_equal(doc, back));
	return 0;
}
