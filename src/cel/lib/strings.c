/*
 * cel-go's string functions. Positions and lengths count characters. Searches work on bytes, which
 * is equivalent in UTF-8, and only the result is converted to characters. Substrings point into
 * their argument; other results are measured first and then allocated once.
 */
#include "cel/lib/strings.h"

#include <inttypes.h>

#include "cel/lib/libraries.h"

static struct cel_value out_of_range(struct cel_eval *ev, int64_t index)
{
	return cel_errorf(ev, "index out of range: %" PRId64, index);
}

/* The byte at which character `index` begins; false: there are fewer than that. */
static bool byte_of(struct cel_eval *ev, struct str s, int64_t index, size_t *ret_at)
{
	size_t at = 0;

	if (index < 0)
		return false;
	for (; index > 0 && at < s.n; index--)
		at = cel_text_next(s, at);
	(void)cel_work(ev, at >> 2);
	*ret_at = at;
	return index == 0;
}

static int64_t characters_before(struct str s, size_t at)
{
	return (int64_t)str_characters(str_of(s.p, at));
}

/* --- pieces ------------------------------------------------------------------------- */

static struct cel_value char_at(struct cel_eval *ev, const struct cel_value *args)
{
	struct str s = args[0].s;
	size_t at;

	if (!byte_of(ev, s, args[1].i, &at))
		return out_of_range(ev, args[1].i);
	if (at == s.n)
		return CEL_STRING_V(STR(""));
	return CEL_STRING_V(str_of(s.p + at, cel_text_next(s, at) - at));
}

static struct cel_value substring_from(struct cel_eval *ev, const struct cel_value *args)
{
	size_t from;

	if (!byte_of(ev, args[0].s, args[1].i, &from))
		return out_of_range(ev, args[1].i);
	return CEL_STRING_V(str_skip(args[0].s, from));
}

static struct cel_value substring(struct cel_eval *ev, const struct cel_value *args)
{
	int64_t start = args[1].i, end = args[2].i;
	size_t from, length;
	struct str rest;

	if (start > end)
		return cel_errorf(ev, "invalid substring range. start: %" PRId64 ", end: %" PRId64,
				  start, end);
	if (!byte_of(ev, args[0].s, start, &from))
		return out_of_range(ev, start);
	rest = str_skip(args[0].s, from);
	if (!byte_of(ev, rest, end - start, &length))
		return out_of_range(ev, end);
	return CEL_STRING_V(str_of(rest.p, length));
}

/* Unicode white space. */
static bool is_space(uint32_t c)
{
	if (c < 128)
		return c == ' ' || (c >= '\t' && c <= '\r');
	return c == 0x85 || c == 0xa0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200a) ||
	       c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f || c == 0x3000;
}

static struct cel_value trim(struct cel_eval *ev, const struct cel_value *args)
{
	struct str s = args[0].s;
	size_t from = 0, at = 0, end = 0;
	bool any = false;

	(void)cel_work(ev, s.n >> 2);
	while (at < s.n) {
		size_t begin = at;
		bool space = is_space(str_rune(s, &at));

		if (!space && !any)
			from = begin;
		if (!space)
			end = at;
		any |= !space;
	}
	return CEL_STRING_V(any ? str_of(s.p + from, end - from) : STR(""));
}

/* --- searching ---------------------------------------------------------------------- */

static struct cel_value index_from(struct cel_eval *ev, struct str s, struct str part, int64_t from)
{
	ptrdiff_t found;
	size_t at;

	(void)cel_work(ev, s.n >> 4);
	if (from < 0)
		return out_of_range(ev, from);
	if (!byte_of(ev, s, from, &at))
		return CEL_INT_V(part.n ? -1 : characters_before(s, s.n));
	if (part.n == 0)
		return CEL_INT_V(from);
	found = str_find(str_skip(s, at), part);
	return CEL_INT_V(found < 0 ? -1 : from + characters_before(str_skip(s, at), (size_t)found));
}

static struct cel_value strings_index_of(struct cel_eval *ev, const struct cel_value *args)
{
	return index_from(ev, args[0].s, args[1].s, 0);
}

struct cel_value cel_index_of_from(struct cel_eval *ev, const struct cel_value *args)
{
	return index_from(ev, args[0].s, args[1].s, args[2].i);
}

/*
 * The last place at or before byte `at`, as a character's. Searched from the front, which is
 * linear for any two texts; those that begin one after the other are work.
 */
static struct cel_value last_before(struct cel_eval *ev, struct str s, struct str part, size_t at)
{
	struct str rest = str_of(s.p, MIN(s.n, at + part.n));
	ptrdiff_t found, last = -1;

	while ((found = str_find(str_skip(rest, (size_t)(last + 1)), part)) >= 0) {
		last += found + 1;
		if (!cel_work(ev, 1 + part.n / 8 + (uint64_t)found / 8))
			break;
	}
	(void)cel_work(ev, s.n >> 4);
	return CEL_INT_V(last < 0 ? -1 : characters_before(s, (size_t)last));
}

static struct cel_value last_index_of(struct cel_eval *ev, const struct cel_value *args)
{
	if (args[1].s.n == 0)
		return CEL_INT_V(characters_before(args[0].s, args[0].s.n));
	return last_before(ev, args[0].s, args[1].s, args[0].s.n);
}

struct cel_value cel_last_index_of_from(struct cel_eval *ev, const struct cel_value *args)
{
	struct str s = args[0].s, part = args[1].s;
	size_t at;

	if (args[2].i < 0)
		return out_of_range(ev, args[2].i);
	if (!byte_of(ev, s, args[2].i, &at))
		return CEL_INT_V(part.n ? -1 : characters_before(s, s.n));
	if (part.n == 0)
		return CEL_INT_V(args[2].i);
	return at == s.n ? CEL_INT_V(-1) : last_before(ev, s, part, at);
}

/* --- the same, changed -------------------------------------------------------------- */

static struct cel_value in_case(struct cel_eval *ev, struct str s, char first, char last)
{
	char *p = cel_alloc(ev, s.n);

	if (!p)
		return cel_too_large();
	for (size_t i = 0; i < s.n; i++)
		p[i] = (char)(s.p[i] >= first && s.p[i] <= last ? s.p[i] ^ 0x20 : s.p[i]);
	return CEL_STRING_V(str_of(p, s.n));
}

static struct cel_value lower_ascii(struct cel_eval *ev, const struct cel_value *args)
{
	return in_case(ev, args[0].s, 'A', 'Z');
}

static struct cel_value upper_ascii(struct cel_eval *ev, const struct cel_value *args)
{
	return in_case(ev, args[0].s, 'a', 'z');
}

/*
 * Finds the next separator at or after `from`; false if not found. An empty separator matches
 * between any two characters, but not before the first.
 */
static bool next_separator(struct str s, struct str separator, size_t from, size_t *ret_at)
{
	ptrdiff_t found;

	if (separator.n == 0) {
		*ret_at = from < s.n ? cel_text_next(s, from) : s.n;
		return *ret_at < s.n;
	}
	found = str_find(str_skip(s, from), separator);
	*ret_at = from + (size_t)MAX(found, (ptrdiff_t)0);
	return found >= 0;
}

static size_t strings_count(struct cel_eval *ev, struct str s, struct str part, size_t most)
{
	size_t n = 0;

	for (size_t at = 0; n < most && next_separator(s, part, at, &at); at += part.n)
		n++;
	(void)cel_work(ev, 4 * (uint64_t)n + (s.n >> 3));
	return n;
}

struct text {
	char *p;
	size_t n;
};

static void strings_append(struct text *t, struct str s)
{
	str_put(t->p + t->n, s);
	t->n += s.n;
}

/* Before each character, and at the end, up to `most` times. */
static struct cel_value interleave(struct cel_eval *ev, struct str s, struct str with, size_t most)
{
	size_t n = MIN(str_characters(s) + 1, most), at = 0, end;
	struct text t = { cel_alloc(ev, s.n + n * with.n), 0 };

	if (!t.p)
		return cel_too_large();
	for (; n > 0; n--) {
		strings_append(&t, with);
		end = at < s.n ? cel_text_next(s, at) : at;
		strings_append(&t, str_of(s.p + at, end - at));
		at = end;
	}
	strings_append(&t, str_skip(s, at));
	return CEL_STRING_V(str_of(t.p, t.n));
}

static struct cel_value replace_some(struct cel_eval *ev, const struct cel_value *args, size_t most)
{
	struct str s = args[0].s, old = args[1].s, with = args[2].s;
	size_t n, at = 0, found;
	struct text t = { NULL, 0 };

	if (old.n == 0)
		return interleave(ev, s, with, most);
	n = strings_count(ev, s, old, most);
	if (n == 0)
		return args[0];
	t.p = cel_alloc(ev, s.n - n * old.n + n * with.n);
	if (!t.p)
		return cel_too_large();
	for (; n > 0 && next_separator(s, old, at, &found); n--) {
		strings_append(&t, str_of(s.p + at, found - at));
		strings_append(&t, with);
		at = found + old.n;
	}
	strings_append(&t, str_skip(s, at));
	return CEL_STRING_V(str_of(t.p, t.n));
}

static size_t most_of(int64_t limit)
{
	return limit < 0 ? SIZE_MAX : (size_t)limit;
}

static struct cel_value strings_replace(struct cel_eval *ev, const struct cel_value *args)
{
	return replace_some(ev, args, SIZE_MAX);
}

static struct cel_value replace_n(struct cel_eval *ev, const struct cel_value *args)
{
	return replace_some(ev, args, most_of(args[3].i));
}

/* Into at most `most` pieces, the last of which is all the rest. */
static struct cel_value split_some(struct cel_eval *ev, struct str s, struct str separator,
				   size_t most)
{
	struct cel_value *pieces;
	size_t n, at = 0, found;

	/* Nothing has no characters, but it is one piece between separators. */
	if (most == 0 || (s.n == 0 && separator.n == 0))
		return cel_list(ev, NULL, 0);
	n = strings_count(ev, s, separator, most - 1) + 1;
	pieces = cel_alloc(ev, n * sizeof(*pieces));
	if (!pieces)
		return cel_too_large();
	for (size_t i = 0; i < n; i++) {
		if (i == n - 1 || !next_separator(s, separator, at, &found))
			found = s.n;
		pieces[i] = CEL_STRING_V(str_of(s.p + at, found - at));
		at = found + separator.n;
	}
	return cel_list(ev, pieces, n);
}

static struct cel_value strings_split(struct cel_eval *ev, const struct cel_value *args)
{
	return split_some(ev, args[0].s, args[1].s, SIZE_MAX);
}

static struct cel_value split_n(struct cel_eval *ev, const struct cel_value *args)
{
	return split_some(ev, args[0].s, args[1].s, most_of(args[2].i));
}

/* --- joining ------------------------------------------------------------------------ */

static struct cel_value no_text(struct cel_eval *ev, const struct cel_value *v)
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(256);

	cel_value_text(ev, v, &text);
	return cel_errorf(ev, "join: invalid input: %.*s", STR_ARG(buf_str(&text)));
}

static struct cel_value join_with(struct cel_eval *ev, const struct cel_value *list,
				  struct str separator)
{
	size_t n = cel_list_size(list), size = n ? (n - 1) * separator.n : 0;
	struct text t = { NULL, 0 };
	struct cel_value v;

	(void)cel_work(ev, 2 * (uint64_t)n);
	for (size_t i = 0; i < n; i++) {
		v = cel_list_at(ev, list, i);
		if (v.kind != CEL_STRING)
			return cel_is_error(v) ? v : no_text(ev, &v);
		size += v.s.n;
	}
	t.p = cel_alloc(ev, size);
	if (!t.p)
		return cel_too_large();
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			strings_append(&t, separator);
		v = cel_list_at(ev, list, i);
		strings_append(&t, v.s);
	}
	return CEL_STRING_V(str_of(t.p, t.n));
}

static struct cel_value strings_join(struct cel_eval *ev, const struct cel_value *args)
{
	return join_with(ev, &args[0], STR(""));
}

static struct cel_value join_separated(struct cel_eval *ev, const struct cel_value *args)
{
	return join_with(ev, &args[0], args[1].s);
}

/* --- quoting ------------------------------------------------------------------------ */

/* Returns the letter after the backslash, or 0 if the character needs no escape. */
static char escape_of(char c)
{
	static const char special[] = "\a\b\f\n\r\t\v\\\"", letters[] = "abfnrtv\\\"";
	const char *hit = c ? strchr(special, c) : NULL;

	return hit ? letters[hit - special] : '\0';
}

static struct cel_value quote(struct cel_eval *ev, const struct cel_value *args)
{
	struct str s = args[0].s;
	/* A byte becomes at most three: U+FFFD replaces invalid UTF-8. */
	struct text t = { cel_alloc(ev, 3 * s.n + 2), 0 };
	size_t at = 0, begin;

	if (!t.p)
		return cel_too_large();
	strings_append(&t, STR("\""));
	while (at < s.n) {
		char escape = escape_of(s.p[at]);

		begin = at;
		if (escape) {
			strings_append(&t, STR("\\"));
			strings_append(&t, str_of(&escape, 1));
			at++;
		} else if (str_rune(s, &at) == 0xfffd && at == begin + 1) {
			strings_append(&t, STR("\xef\xbf\xbd"));
		} else {
			strings_append(&t, str_of(s.p + begin, at - begin));
		}
	}
	strings_append(&t, STR("\""));
	return CEL_STRING_V(str_of(t.p, t.n));
}

/* --- rows --------------------------------------------------------------------------- */

#define S  &cel_string
#define I  &cel_int
#define LS &cel_list_string

/* clang-format off */
static const struct cel_overload overloads[] = {
	{ "charAt", "string_char_at_int", S, { S, I }, 2, true, char_at },
	{ "indexOf", "string_index_of_string", I, { S, S }, 2, true, strings_index_of },
	{ "join", "list_join", S, { LS }, 1, true, strings_join },
	{ "join", "list_join_string", S, { LS, S }, 2, true, join_separated },
	{ "lastIndexOf", "string_last_index_of_string", I, { S, S }, 2, true, last_index_of },
	{ "lowerAscii", "string_lower_ascii", S, { S }, 1, true, lower_ascii },
	{ "replace", "string_replace_string_string", S, { S, S, S }, 3, true, strings_replace },
	{ "replace", "string_replace_string_string_int", S, { S, S, S, I }, 4, true, replace_n },
	{ "split", "string_split_string", LS, { S, S }, 2, true, strings_split },
	{ "split", "string_split_string_int", LS, { S, S, I }, 3, true, split_n },
	{ "strings.quote", "strings_quote", S, { S }, 1, false, quote },
	{ "substring", "string_substring_int", S, { S, I }, 2, true, substring_from },
	{ "substring", "string_substring_int_int", S, { S, I, I }, 3, true, substring },
	{ "trim", "string_trim", S, { S }, 1, true, trim },
	{ "upperAscii", "string_upper_ascii", S, { S }, 1, true, upper_ascii },
};
/* clang-format on */

const struct cel_library cel_lib_strings = {
	.name = "strings",
	.overloads = overloads,
	.n = ARRAY_SIZE(overloads),
};
