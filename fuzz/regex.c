/*
 * A line with a pattern, and a text behind it. What compiles must match, or not, within the
 * bounds of both; the quoted pattern matches itself; and an anchored pattern matches no more
 * than the free one.
 */
#include "base/limits.h"
#include "base/regex.h"
#include "target.h"

static bool matches(struct arena *a, const char *fmt, struct str pattern, struct str text)
{
	struct str whole = str_from(arena_printf(a, fmt, STR_ARG(pattern)));
	const struct regex *re;

	return regex_compile(a, whole, &re, NULL) == 0 && regex_matches(re, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena a;
	struct str text = str_of(data, size), pattern;
	const struct regex *re;
	struct error err;

	if (size > 4096)
		return 0;
	arena_init(&a, 256 * MIB);
	if (!str_split(&text, '\n', &pattern))
		return 0;
	text = text.p ? text : STR("");
	if (regex_compile(&a, pattern, &re, &err) < 0) {
		require(err.code == ERR_BAD_REQUEST && err.msg[0]);
		return 0;
	}
	/* Whose text ends at a NUL when it is put into another. */
	if (str_chr(pattern, '\0') >= 0)
		return 0;
	if (matches(&a, "^(?:%.*s)$", pattern, text))
		require(regex_matches(re, text));
	if (str_is_utf8(pattern) && str_find(pattern, STR("\\E")) < 0 && pattern.n &&
	    pattern.p[pattern.n - 1] != '\\')
		require(matches(&a, "^\\Q%.*s\\E$", pattern, pattern));
	return 0;
}
