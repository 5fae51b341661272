/*
 * Kubernetes' function for paths of JSON patches: a slash becomes ~1, and a tilde ~0 (RFC 6901).
 */
#include "cel/lib/libraries.h"

static struct cel_value escape_key(struct cel_eval *ev, const struct cel_value *args)
{
	struct str key = args[0].s;
	char *text = cel_alloc(ev, 2 * key.n);
	size_t n = 0;

	if (!text)
		return cel_too_large();
	for (size_t i = 0; i < key.n; i++) {
		bool escaped = key.p[i] == '/' || key.p[i] == '~';

		text[n++] = escaped ? '~' : key.p[i];
		if (escaped)
			text[n++] = key.p[i] == '/' ? '1' : '0';
	}
	return CEL_STRING_V(str_of(text, n));
}

static const struct cel_overload overloads[] = {
	{ "jsonpatch.escapeKey",
	  "string_jsonpatch_escapeKey_string",
	  &cel_string,
	  { &cel_string },
	  1,
	  false,
	  escape_key },
};

const struct cel_library cel_lib_json_patch = {
	.name = "kubernetes.jsonpatch",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
};
