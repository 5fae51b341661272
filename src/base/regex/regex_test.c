#include "base/regex/regex.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/core/buf.h"
#include "base/core/limits.h"

struct match_case {
	const char *pattern, *text;
	bool matches;
};

/* By the program, which the table and the search have to agree with. */
static bool matches(const char *pattern, struct str text)
{
	CLEANUP(arena_release) struct arena a;
	const struct regex *re;
	struct error err;
	size_t start, end;
	bool matches;

	arena_init(&a, 64 * MIB);
	if (regex_compile(&a, str_from(pattern), &re, &err) < 0)
		fail_msg("%s: %s", pattern, err.msg);
	matches = regex_matches(re, text);
	if (regex_matches(regex_tabulate(&a, re, NULL), text) != matches)
		fail_msg("`%s` on `%.*s`: the table differs", pattern, STR_ARG(text));
	if (regex_find(re, text, 0, &start, &end) != matches)
		fail_msg("`%s` on `%.*s`: the search differs", pattern, STR_ARG(text));
	return matches;
}

static void check_all(const struct match_case *cases, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (matches(cases[i].pattern, str_from(cases[i].text)) != cases[i].matches)
			fail_msg("`%s` on `%s` should%s match", cases[i].pattern, cases[i].text,
				 cases[i].matches ? "" : " not");
}

static void text_is_searched_unless_it_is_anchored(void **state)
{
	static const struct match_case cases[] = {
		{ "", "", true },
		{ "", "abc", true },
		{ "b", "abc", true },
		{ "^b", "abc", false },
		{ "^a", "abc", true },
		{ "b$", "abc", false },
		{ "c$", "abc", true },
		{ "c$", "abc\n", false },
		{ "^abc$", "abc", true },
		{ "\\Ab", "ab", false },
		{ "a\\z", "ab", false },
		{ "^$", "", true },
		{ "^$", "a", false },
		{ "(?m)^b$", "a\nb\nc", true },
		{ "^b$", "a\nb\nc", false },
		{ "(^a|b)c", "xbc", true },
		{ "(^a|b)c", "xac", false },
		{ "a^b", "ab", false },
	};

	check_all(cases, ARRAY_SIZE(cases));
}

static void repetition_counts(void **state)
{
	static const struct match_case cases[] = {
		{ "^a*$", "", true },
		{ "^a*$", "aaaa", true },
		{ "^a+$", "", false },
		{ "^a?b$", "b", true },
		{ "^a?b$", "aab", false },
		{ "^a{3}$", "aa", false },
		{ "^a{3}$", "aaa", true },
		{ "^a{3}$", "aaaa", false },
		{ "^a{2,}$", "a", false },
		{ "^a{2,}$", "aaaaa", true },
		{ "^a{2,4}$", "aaaa", true },
		{ "^a{2,4}$", "aaaaa", false },
		{ "^a{0}$", "", true },
		{ "^a{0}$", "a", false },
		{ "^(ab){2}$", "abab", true },
		{ "^(a*)*$", "aaab", false },
		{ "^(a*)*b$", "aaab", true },
		{ "^(a|b)*?c$", "ababc", true },
		{ "^a{,2}$", "a{,2}", true },
		{ "^a{x$", "a{x", true },
		{ "^((a{0,5}){0,5}){0,5}$", "aaaaaaaa", true },
		{ "^(|a)+$", "aaa", true },
	};

	check_all(cases, ARRAY_SIZE(cases));
}

/* The match is written in brackets: "a[b]c"; no brackets: no match. */
static void check_found(const char *pattern, const char *marked, size_t from)
{
	CLEANUP(arena_release) struct arena a;
	struct str all = str_from(marked), text;
	ptrdiff_t open = str_chr(all, '['), close = str_chr(all, ']');
	size_t start = 0, end = 0;
	const struct regex *re;
	bool found;
	char *p;

	arena_init(&a, 64 * MIB);
	p = arena_alloc(&a, all.n + 1);
	text = str_of(p, 0);
	for (size_t i = 0; i < all.n; i++)
		if (all.p[i] != '[' && all.p[i] != ']')
			p[text.n++] = all.p[i];
	assert_int_equal(regex_compile(&a, str_from(pattern), &re, NULL), 0);
	found = regex_find(regex_tabulate(&a, re, NULL), text, from, &start, &end);
	if (found != (open >= 0) || (found && (start != (size_t)open || end != (size_t)close - 1)))
		fail_msg("`%s` on `%s` from %zu: %d, %zu to %zu", pattern, marked, from, found,
			 start, end);
}

static void the_leftmost_match_is_found_and_of_those_the_preferred(void **state)
{
	static const struct {
		const char *pattern, *marked;
	} cases[] = {
		{ "b", "a[b]cb" },
		{ "x", "abc" },
		{ "", "[]abc" },
		{ "a|ab", "[a]b" },
		{ "ab|a", "[ab]" },
		{ "(a|ab)(c|bcd)", "[abcd]" },
		{ "(a|ab)(c|bcd)?$", "[abcd]" },
		{ "a+", "b[aaa]b" },
		{ "a+?", "b[a]aab" },
		{ "a*", "[]baa" },
		{ "a??b", "[ab]" },
		{ "a{2,3}", "[aaa]a" },
		{ "a{2,3}?", "[aa]aa" },
		{ "(?U)a+", "[a]aa" },
		{ "(?U)a+?", "[aaa]" },
		{ "(|a)*", "[]aa" },
		{ "(|a)+", "[]aa" },
		{ "(a|)+", "[aa]b" },
		{ "(a*)+", "[aa]b" },
		{ "(a*?)*b", "[aab]" },
		{ "(?:a|ab|abc)$", "[abc]" },
		{ ".*", "[abc]\ndef" },
		{ "(?s).*", "[abc\ndef]" },
		{ "(?m)^d.*$", "abc\n[def]\nghi" },
		{ "\\bfo", "xfoo [fo]o" },
		{ "c$", "cab[c]" },
		{ "\xc3\xa9+", "a[\xc3\xa9\xc3\xa9]b" },
		{ "[^a]", "a[\xe4\xb8\xad]b" },
		{ "(foo|foobar)baz|foobar", "x[foobarbaz]" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		check_found(cases[i].pattern, cases[i].marked, 0);
}

static void a_search_goes_on_from_a_place_in_the_text(void **state)
{
	(void)state;
	check_found("a", "aab[a]", 3);
	check_found("a", "aab", 3);
	check_found("", "abc[]", 3);
	check_found("^b", "ab", 1);
	check_found("(?m)^b", "a\n[b]", 2);
	check_found("\\bb", "ab", 1);
	check_found("\\Bb", "a[b]", 1);
	check_found("$", "abc[]", 1);
}

static void letters_fold_as_unicode_folds_them(void **state)
{
	static const struct match_case cases[] = {
		{ "(?i)^k$", "\xe2\x84\xaa", true }, /* the sign for kelvin */
		{ "(?i)^\xe2\x84\xaa$", "k", true },
		{ "(?i)^[k]$", "K", true },
		{ "(?i)^s$", "\xc5\xbf", true }, /* long s */
		{ "(?i)^\\w$", "\xc5\xbf", true },
		{ "^\\w$", "\xc5\xbf", false },
		{ "(?i)^\\W$", "s", false },
		{ "(?i)^[^s]$", "\xc5\xbf", false },
		{ "(?i)^\xcf\x83$", "\xcf\x82", true }, /* both small sigmas */
		{ "(?i)^\xce\xa3$", "\xcf\x82", true },
		{ "(?i)^\xc4\x80$", "\xc4\x81", true }, /* a with a line above */
		{ "(?i)^\xc4\x80$", "\xc4\x82", false },
		{ "(?i)^[\xc4\x80-\xc4\x8e]+$", "\xc4\x8f", true },
		{ "(?i)^\\p{Lu}$", "a", true },
		{ "(?i)^\\P{Lu}$", "a", false },
		{ "(?i)^[[:upper:]]$", "a", true },
		{ "(?i)^[[:^upper:]]$", "a", false },
		{ "(?i)^\xc3\x9f$", "\xe1\xba\x9e", true }, /* sharp s */
		{ "(?i)^i$", "\xc4\xb0", false }, /* with a dot: only in Turkish */
	};

	check_all(cases, ARRAY_SIZE(cases));
}

static void scripts_have_their_letters(void **state)
{
	static const struct match_case cases[] = {
		{ "^\\p{Greek}+$", "\xce\xb1\xce\xb2", true },
		{ "^\\p{Greek}+$",
		  "\xce\xb1"
		  "b",
		  false },
		{ "^\\P{Greek}$", "b", true },
		{ "^\\p{^Greek}$", "\xce\xb1", false },
		{ "^[\\p{Latin}\\p{Cyrillic}]+$", "a\xd0\xb1", true },
		{ "^\\p{Han}$", "\xe4\xb8\xad", true },
		{ "^\\p{Common}$", "1", true },
		{ "^\\p{Old_Italic}$", "\xf0\x90\x8c\x80", true },
	};

	check_all(cases, ARRAY_SIZE(cases));
}

/* A program of a thousand states stays a program; one of few has a table. */
static void tables_are_made_where_they_are_small(void **state)
{
	static const struct {
		const char *pattern;
		bool small;
	} cases[] = {
		{ "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$", true },
		{ "abc|abd|xyz", true },
		{ "^\\pL+$", true },
		{ "", true },
		{ "\\bword\\b", false },
		{ "(?m)^line$", false },
		{ "(a|b)*a(a|b){12}$", false },
		{ "a{300}", false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(arena_release) struct arena a;
		const struct regex *re, *table;

		arena_init(&a, 64 * MIB);
		assert_int_equal(regex_compile(&a, str_from(cases[i].pattern), &re, NULL), 0);
		table = regex_tabulate(&a, re, NULL);
		if ((table != re) != cases[i].small)
			fail_msg("`%s`: %s", cases[i].pattern, table != re ? "table" : "none");
	}
}

static void classes_have_their_characters(void **state)
{
	static const struct match_case cases[] = {
		{ "^[a-c]+$", "abcabc", true },
		{ "^[a-c]+$", "abd", false },
		{ "^[^a-c]+$", "xyz\n", true },
		{ "^[^a-c]+$", "xbz", false },
		{ "^[]a]+$", "]a", true },
		{ "^[^]a]+$", "b", true },
		{ "^[a-]+$", "a-", true },
		{ "^[-a]+$", "-a", true },
		{ "^[\\d.]+$", "1.2", true },
		{ "^[\\w-]+$", "a_B-9", true },
		{ "^\\d+$", "0129", true },
		{ "^\\d+$", "\xd9\xa1", false },
		{ "^\\D$", "\xd9\xa1", true },
		{ "^\\s$", "\t", true },
		{ "^\\s$", "\v", false },
		{ "^[[:space:]]$", "\v", true },
		{ "^[[:alpha:][:digit:]]+$", "aZ9", true },
		{ "^[[:^alpha:]]+$", "123", true },
		{ "^.$", "\n", false },
		{ "(?s)^.$", "\n", true },
		{ "^.$", "\xc3\xa9", true },
		{ "^..$", "\xc3\xa9", false },
		{ "^[\xc3\xa0-\xc3\xbf]$", "\xc3\xa9", true },
		{ "^\\x41\\x{42}\\103$", "ABC", true },
		{ "^\\Qa.b\\E.$", "a.bx", true },
		{ "^\\Qa.b\\E.$", "axbx", false },
		{ "^\\.$", ".", true },
		{ "^\\pL+$", "A\xc3\xa9\xe4\xb8\xad", true },
		{ "^\\pL+$", "A1", false },
		{ "^\\p{Lu}$", "\xc3\x89", true },
		{ "^\\p{Lu}$", "\xc3\xa9", false },
		{ "^\\P{Lu}$", "\xc3\xa9", true },
		{ "^\\p{^Lu}$", "\xc3\xa9", true },
		{ "^[\\p{N}x]+$", "\xe2\x85\xa7x1", true },
		{ "^\\p{Any}$", "\n", true },
		{ "^\\p{S}$", "+", true },
	};

	check_all(cases, ARRAY_SIZE(cases));
}

static void flags_hold_for_their_group(void **state)
{
	static const struct match_case cases[] = {
		{ "(?i)^abc$", "aBC", true },
		{ "^(?i)a(?-i)b$", "Ab", true },
		{ "^(?i)a(?-i)b$", "AB", false },
		{ "^(?i:a)b$", "Ab", true },
		{ "^(?i:a)b$", "AB", false },
		{ "^((?i)a)b$", "AB", false },
		{ "(?i)^[a-c]$", "B", true },
		{ "(?i)^[^a-c]$", "B", false },
		{ "(?i)^[0-9a-f]{8}-?[0-9a-f]{4}$", "DEADbeef-0000", true },
		{ "^(?:ab|cd)$", "cd", true },
		{ "^(?P<x>a)(?<y>b)$", "ab", true },
		{ "(?U)^a+$", "aa", true },
		{ "\\bfoo\\b", "a foo b", true },
		{ "\\bfoo\\b", "afoo b", false },
		{ "\\Boo\\b", "foo", true },
	};

	check_all(cases, ARRAY_SIZE(cases));
}

static void patterns_that_schemas_use_work(void **state)
{
	static const struct match_case cases[] = {
		{ "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
		  "a-b.c.example", true },
		{ "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$", "a-.b",
		  false },
		{ "^([0-9]+(\\.[0-9]+)?(s|m|h))+$", "1h30m", true },
		{ "^(\\d+|\\*)(/\\d+)?(\\s+(\\d+|\\*)(/\\d+)?){4}$", "*/5 * * * *", true },
		{ "^(\\d+|\\*)(/\\d+)?(\\s+(\\d+|\\*)(/\\d+)?){4}$", "*/5 * * *", false },
		{ "^(\\+|-)?(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\\+|-)"
		  "?"
		  "(([0-9]+(\\.[0-9]*)?)|(\\.[0-9]+))))?$",
		  "1.5Gi", true },
		{ "^https?://", "http://x", true },
		{ "^([A-Za-z_][A-Za-z0-9_,:]*[A-Za-z0-9_])?$", "", true },
	};

	check_all(cases, ARRAY_SIZE(cases));
}

static void patterns_that_go_rejects_are_rejected_with_its_message(void **state)
{
	static const struct {
		const char *pattern, *words;
	} cases[] = {
		{ "[a", "error parsing regexp: missing closing ]: `[a`" },
		{ "x[a", "error parsing regexp: missing closing ]: `[a`" },
		{ "(a", "error parsing regexp: missing closing ): `(a`" },
		{ "a)", "error parsing regexp: unexpected ): `a)`" },
		{ "a**", "error parsing regexp: invalid nested repetition operator: `**`" },
		{ "*a", "error parsing regexp: missing argument to repetition operator: `*`" },
		{ "a|*", "error parsing regexp: missing argument to repetition operator: `*`" },
		{ "(?=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?=`" },
		{ "(?!a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?!`" },
		{ "(?<=a)", "error parsing regexp: invalid or unsupported Perl syntax: `(?<`" },
		{ "\\1", "error parsing regexp: invalid escape sequence: `\\1`" },
		{ "\\y", "error parsing regexp: invalid escape sequence: `\\y`" },
		{ "\\pX", "error parsing regexp: invalid character class range: `\\pX`" },
		{ "[b-a]", "error parsing regexp: invalid character class range: `b-a`" },
		{ "[[:nope:]]", "error parsing regexp: invalid character class range: `[:nope:]`" },
		{ "a{1001}", "error parsing regexp: invalid repeat count: `{1001}`" },
		{ "a{3,2}", "error parsing regexp: invalid repeat count: `{3,2}`" },
		{ "(a{100}){100}", "error parsing regexp: invalid repeat count: `{100}`" },
		{ "a\\", "error parsing regexp: trailing backslash at end of expression: ``" },
		{ "(?P<n-m>a)", "error parsing regexp: invalid named capture: `(?P<n-m>`" },
		{ "\xff", "error parsing regexp: invalid UTF-8: `\xff`" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		CLEANUP(arena_release) struct arena a;
		const struct regex *re;
		struct error err;

		arena_init(&a, 64 * MIB);
		assert_int_equal(regex_compile(&a, str_from(cases[i].pattern), &re, &err),
				 -ERR_BAD_REQUEST);
		assert_string_equal(err.msg, cases[i].words);
	}
}

static void bounds_on_patterns_hold(void **state)
{
	CLEANUP(arena_release) struct arena a;
	const struct regex *re;
	struct error err;
	char *deep = arena_alloc((arena_init(&a, 64 * MIB), &a), 5001);

	memset(deep, '(', 5000);
	deep[5000] = '\0';
	assert_int_equal(regex_compile(&a, str_from(deep), &re, &err), -ERR_BAD_REQUEST);
	assert_non_null(strstr(err.msg, "nests too deeply"));
	/* Each pair of brackets multiplies; Go's bound on counts is kept, the size's is not. */
	assert_int_equal(regex_compile(&a,
				       STR("(abcdefghij{9}){100}(abcdefghij{9}){100}"
					   "((abcdefghijklmnopqrst){1000}|(abc){999}){1}"
					   "((abcdefghijklmnopqrst){1000}){1}"
					   "((abcdefghijklmnopqrst){1000}){1}"
					   "((abcdefghijklmnopqrst){1000}){1}"
					   "((abcdefghijklmnopqrst){1000}){1}"),
				       &re, &err),
			 -ERR_BAD_REQUEST);
	assert_non_null(strstr(err.msg, "too large"));
}

/* Backtracking would take 2^N steps here. */
/* Compiles `part` so many times in a row behind `head`; what it leaves in the arena, or 0. */
static size_t memory_of(const char *head, const char *part, size_t times, struct error *err)
{
	CLEANUP(buf_release) struct buf pattern = BUF_INIT(REGEX_PATTERN_MAX);
	CLEANUP(arena_release) struct arena a;
	const struct regex *re;

	arena_init(&a, 64 * MIB);
	assert_int_equal(buf_addz(&pattern, head), 0);
	for (size_t i = 0; i < times; i++)
		assert_int_equal(buf_addz(&pattern, part), 0);
	return regex_compile(&a, buf_str(&pattern), &re, err) == 0 ? a.used : 0;
}

static void equal_classes_are_kept_once(void **state)
{
	static const char *const parts[] = { "\\pL", "\\PL", "[\\pL0]", "[^0\\p{Greek}]" };
	struct error err;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		assert_in_range(memory_of("", parts[i], 700, &err), 1, 64 * KIB);
		assert_in_range(memory_of("(?i)", parts[i], 700, &err), 1, 64 * KIB);
	}
	assert_in_range(memory_of("", "\\pL", 20000, &err), 1, MIB);
}

static void classes_that_are_too_much_are_refused(void **state)
{
	struct error err;

	(void)state;
	assert_int_equal(memory_of("", "[\\pL0]", 5000, &err), 0);
	assert_true(str_starts(str_from(err.msg),
			       STR("error parsing regexp: expression too large: `[")));
	assert_int_equal(memory_of("(?i)[^", "\\pL", 20000, &err), 0);
	assert_true(str_starts(str_from(err.msg),
			       STR("error parsing regexp: expression too large: `(?i)[")));
}

static void repeated_nothing_is_bounded(void **state)
{
	CLEANUP(buf_release) struct buf pattern = BUF_INIT(REGEX_PATTERN_MAX);
	CLEANUP(arena_release) struct arena a;
	const struct regex *re;
	struct error err;

	(void)state;
	arena_init(&a, 64 * MIB);
	assert_int_equal(buf_addc(&pattern, '('), 0);
	for (int i = 0; i < 20000; i++)
		assert_int_equal(buf_addz(&pattern, "()"), 0);
	assert_int_equal(buf_addz(&pattern, "){1000}"), 0);
	assert_int_equal(regex_compile(&a, buf_str(&pattern), &re, &err), -ERR_BAD_REQUEST);
	assert_true(str_starts(str_from(err.msg),
			       STR("error parsing regexp: expression too large: `(()")));
}

/* Steps that a pattern takes, built or only judged; UINT64_MAX: it was refused. */
static uint64_t steps_of(const char *pattern, bool build, uint64_t most)
{
	CLEANUP(arena_release) struct arena a;
	const struct regex *re;
	uint64_t steps = most;
	int r;

	arena_init(&a, 64 * MIB);
	r = regex_compile_within(&a, str_from(pattern), &steps, build ? &re : NULL, NULL);
	if (r == 0)
		return most - steps;
	assert_int_equal(r, -ERR_TOO_LARGE);
	assert_int_equal(steps, 0);
	assert_in_range(a.used, 0, 5000); /* its classes alone */
	return UINT64_MAX;
}

static void patterns_are_reckoned_before_they_are_built(void **state)
{
	static const char *const large[] = { "a{1000}", "(ab|cd|ef){500}N", "((a?b){10}c){99}x*" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(large); i++) {
		uint64_t all = steps_of(large[i], true, 1000000);

		assert_in_range(all, 1000, 20000);
		assert_int_equal(steps_of(large[i], true, all), all);
		assert_true(steps_of(large[i], true, all - 1) == UINT64_MAX);
		/* To judge it takes little. */
		assert_in_range(steps_of(large[i], false, all), 1, 100);
	}
	assert_in_range(steps_of("[\\pL\\pN]", true, 1000000), 1000, 20000);
	assert_true(steps_of("abc", false, 2) == UINT64_MAX);
}

static void matching_ends_when_its_steps_are_spent(void **state)
{
	CLEANUP(arena_release) struct arena a;
	const struct regex *re;
	uint64_t steps = 1000000, took;
	char text[64];

	(void)state;
	memset(text, 'a', sizeof(text));
	arena_init(&a, 64 * MIB);
	assert_int_equal(regex_compile(&a, STR("(a?){500}b"), &re, NULL), 0);
	assert_false(regex_matches_in(re, str_of(text, sizeof(text)), &steps));
	took = 1000000 - steps;
	assert_in_range(took, 500 * 64, 1000000);
	text[63] = 'b';
	steps = took;
	assert_true(regex_matches_in(re, str_of(text, sizeof(text)), &steps));
	steps = took / 2;
	assert_false(regex_matches_in(re, str_of(text, sizeof(text)), &steps));
	assert_int_equal(steps, 0);
}

static void tables_take_steps_too(void **state)
{
	CLEANUP(arena_release) struct arena a;
	const struct regex *re;
	uint64_t steps = 100000;

	(void)state;
	arena_init(&a, 64 * MIB);
	assert_int_equal(regex_compile(&a, STR("(a|b)*a(a|b){5}$"), &re, NULL), 0);
	assert_ptr_not_equal(regex_tabulate(&a, re, &steps), re);
	assert_in_range(steps, 1, 99900);
	steps = 100;
	assert_ptr_equal(regex_tabulate(&a, re, &steps), re);
	assert_int_equal(steps, 0);
}

static void time_is_linear(void **state)
{
	char text[2001];

	memset(text, 'a', 2000);
	text[2000] = '\0';
	assert_false(
		matches("^(a+)+$", str_of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab", 45)));
	assert_false(matches("^(a|a)*b$", str_of(text, 2000)));
	assert_false(matches("^(a?){50}a{50}$", str_of(text, 49)));
	assert_true(matches("^(a?){50}a{50}$", str_of(text, 50)));
	assert_false(matches("(x+x+)+y", str_of(text, 2000)));
}

static void text_that_is_no_utf8_is_read_byte_by_byte(void **state)
{
	assert_true(matches("^..$", str_of("\xff\xfe", 2)));
	assert_true(matches("^.$", str_of("\xe4\xb8\xad", 3)));
	assert_true(matches("^..$", str_of("\xe4\xb8", 2)));
	assert_true(matches("^a\\x00b$", str_of("a\0b", 3)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_is_searched_unless_it_is_anchored),
		cmocka_unit_test(repetition_counts),
		cmocka_unit_test(the_leftmost_match_is_found_and_of_those_the_preferred),
		cmocka_unit_test(a_search_goes_on_from_a_place_in_the_text),
		cmocka_unit_test(letters_fold_as_unicode_folds_them),
		cmocka_unit_test(scripts_have_their_letters),
		cmocka_unit_test(tables_are_made_where_they_are_small),
		cmocka_unit_test(classes_have_their_characters),
		cmocka_unit_test(flags_hold_for_their_group),
		cmocka_unit_test(patterns_that_schemas_use_work),
		cmocka_unit_test(patterns_that_go_rejects_are_rejected_with_its_message),
		cmocka_unit_test(bounds_on_patterns_hold),
		cmocka_unit_test(equal_classes_are_kept_once),
		cmocka_unit_test(classes_that_are_too_much_are_refused),
		cmocka_unit_test(repeated_nothing_is_bounded),
		cmocka_unit_test(patterns_are_reckoned_before_they_are_built),
		cmocka_unit_test(matching_ends_when_its_steps_are_spent),
		cmocka_unit_test(tables_take_steps_too),
		cmocka_unit_test(time_is_linear),
		cmocka_unit_test(text_that_is_no_utf8_is_read_byte_by_byte),
	};

	return cmocka_run_group_tests_name("base/regex", tests, NULL, NULL);
}
