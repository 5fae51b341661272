/*
 * The input is a pattern, a newline and a text. Matching a pattern that compiles must not read
 * beyond pattern or text. A quoted pattern must match itself. If an anchored pattern matches, the
 * pattern without anchors must match too. The program, its table and its search must agree.
 */
#include "base/core/limits.h"
#include "base/regex/regex.h"
#include "target.h"

static bool matches(struct arena *a, const char *fmt, struct str pattern, struct str text)
{
	struct str whole = str_from(arena_printf(a, fmt, STR_ARG(pattern)));
	const struct regex *re;

	return regex_compile(a, whole, &re, NULL) == 0 && regex_matches(re, text);
}

/* All ways to match agree, and repeated searches advance to the end of the text. */
static void check_ways(struct arena *a, const struct regex *re, struct str text)
{
	const struct regex *table = regex_tabulate(a, re, NULL);
	bool matches = regex_matches(re, text);
	size_t at = 0, start, end, again_start, again_end;

	require(regex_matches(table, text) == matches);
	require(regex_find(re, text, 0, &start, &end) == matches);
	/* Each search may read all of the text. */
	while (at <= text.n && text.n <= 256 && regex_find(re, text, at, &start, &end)) {
		require(start >= at && end >= start && end <= text.n);
		require(regex_find(table, text, at, &again_start, &again_end));
		require(again_start == start && again_end == end);
		if (start > at)
			require(regex_find(re, text, start, &again_start, &again_end) &&
				again_start == start && again_end == end);
		if (end == text.n)
			break;
		at = end;
		if (end == start)
			(void)str_rune(text, &at);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(arena_release) struct arena a;
	struct str text = str_of(data, size), pattern;
	const struct regex *re;
	struct error err;

	arena_init(&a, 256 * MIB);
	if (size > 4096)
		return 0;
	if (!str_split(&text, '\n', &pattern))
		return 0;
	text = text.p ? text : STR("");
	if (regex_compile(&a, pattern, &re, &err) < 0) {
		require(err.code == ERR_BAD_REQUEST && err.msg[0]);
		return 0;
	}
	check_ways(&a, re, text);
	/* matches() puts the pattern into a C string, which would end at a NUL. */
	if (str_chr(pattern, '\0') >= 0)
		return 0;
	if (matches(&a, "^(?:%.*s)$", pattern, text))
		require(regex_matches(re, text));
	if (str_is_utf8(pattern) && str_find(pattern, STR("\\E")) < 0 && pattern.n &&
	    pattern.p[pattern.n - 1] != '\\')
		require(matches(&a, "^\\Q%.*s\\E$", pattern, pattern));
	return 0;
}
