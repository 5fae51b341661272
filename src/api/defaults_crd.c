/*
 * Defaults of definitions of custom resources.
 */
#include "api/checks.h"

static struct str text_at(const struct json *object, const char *name)
{
	return json_str(json_getz(object, name));
}

static struct str lower(struct arena *a, struct str text)
{
	char *out = arena_strdup(a, text);

	for (size_t i = 0; i < text.n; i++)
		if (out[i] >= 'A' && out[i] <= 'Z')
			out[i] = (char)(out[i] - 'A' + 'a');
	return str_of(out, text.n);
}

void fill_crd_names(struct arena *a, struct json *spec, int64_t now_ns UNUSED)
{
	struct json *names = json_getz(spec, "names");
	struct str kind = text_at(names, "kind");

	if (!json_is(names, JSON_OBJECT) || !kind.n)
		return;
	if (!text_at(names, "singular").n)
		json_setz(names, "singular", json_make_str(a, lower(a, kind)));
	if (!text_at(names, "listKind").n)
		json_setz(names, "listKind",
			  json_make_str(a, str_from(arena_printf(a, "%.*sList", STR_ARG(kind)))));
}
