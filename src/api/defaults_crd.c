/*
 * Defaults of definitions of custom resources.
 */
#include "api/checks.h"

void fill_crd_names(struct arena *a, struct json *spec, int64_t now_ns UNUSED)
{
	struct json *names = json_getz(spec, "names");
	struct str kind = json_text_at(names, "kind");

	if (!json_is(names, JSON_OBJECT) || !kind.n)
		return;
	if (!json_text_at(names, "singular").n)
		json_put_str(a, names, "singular", arena_lower(a, kind));
	if (!json_text_at(names, "listKind").n)
		json_put_str(a, names, "listKind",
			     str_from(arena_printf(a, "%.*sList", STR_ARG(kind))));
}
