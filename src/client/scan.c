/*
 * Strings are passed many bytes at a time, and what is nested by counting brackets
 * outside strings: which bracket closes which is not looked at.
 */
#include "client/scan.h"

#include "base/json.h"
#include "base/json_scan.h"

static bool scan_fail(struct scan *s)
{
	s->p = NULL;
	return false;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r';
}

/* False at the end of the text. */
static bool skip_spaces(struct scan *s)
{
	if (!s->p)
		return false;
	while (s->p < s->end && is_space(*s->p))
		s->p++;
	return s->p < s->end || scan_fail(s);
}

/* At the opening quote. Leaves the position behind the closing one. */
static bool pass_string(struct scan *s, struct str *ret_raw, bool *ret_escaped)
{
	const char *from = s->p + 1, *p = from;

	*ret_escaped = false;
	while ((p = json_scan_plain(p, s->end)) < s->end && *p != '"') {
		if (*p == '\\') {
			*ret_escaped = true;
			if (++p == s->end)
				break;
		}
		p++;
	}
	if (p >= s->end)
		return scan_fail(s);
	*ret_raw = str_of(from, (size_t)(p - from));
	s->p = p + 1;
	return true;
}

static bool pass_nested(struct scan *s)
{
	size_t depth = 0;
	struct str raw;
	bool escaped;

	while (s->p < s->end) {
		char c = *s->p;

		if (c == '"') {
			if (!pass_string(s, &raw, &escaped))
				return false;
			continue;
		}
		s->p++;
		if (c == '{' || c == '[')
			depth++;
		else if ((c == '}' || c == ']') && --depth == 0)
			return true;
	}
	return scan_fail(s);
}

static void pass_scalar(struct scan *s)
{
	while (s->p < s->end && *s->p != ',' && *s->p != '}' && *s->p != ']' && !is_space(*s->p))
		s->p++;
}

bool scan_enter(struct scan *s, char bracket)
{
	if (!skip_spaces(s) || *s->p != bracket)
		return scan_fail(s);
	s->p++;
	s->inside = false;
	return true;
}

/* Before a member or element: false when the end has been passed, or for damaged text. */
static bool begin_next(struct scan *s, char end)
{
	if (!skip_spaces(s))
		return false;
	if (*s->p == end) {
		s->p++;
		s->inside = true; /* back in the parent, behind a value */
		return false;
	}
	if (s->inside) {
		if (*s->p != ',')
			return scan_fail(s);
		s->p++;
	}
	s->inside = true;
	return skip_spaces(s);
}

bool scan_member(struct scan *s, struct str *ret_key, const char **ret_from)
{
	bool escaped;

	if (!begin_next(s, '}'))
		return false;
	if (ret_from)
		*ret_from = s->p;
	if (*s->p != '"' || !pass_string(s, ret_key, &escaped))
		return scan_fail(s);
	if (!skip_spaces(s) || *s->p != ':')
		return scan_fail(s);
	s->p++;
	return skip_spaces(s);
}

bool scan_element(struct scan *s)
{
	return begin_next(s, ']');
}

bool scan_value(struct scan *s, struct str *ret_raw, enum scan_type *ret_type)
{
	const char *from;
	bool escaped;

	if (!skip_spaces(s))
		return false;
	from = s->p;
	if (*from == '"') {
		if (!pass_string(s, ret_raw, &escaped))
			return false;
		*ret_type = escaped ? SCAN_ESCAPED_TEXT : SCAN_TEXT;
		return true;
	}
	if (*from == '{' || *from == '[') {
		if (!pass_nested(s))
			return false;
		*ret_type = SCAN_NESTED;
	} else {
		pass_scalar(s);
		if (s->p == from)
			return scan_fail(s);
		*ret_type = *from == 'n' ? SCAN_NOTHING : SCAN_NUMBER_OR_BOOL;
	}
	*ret_raw = str_of(from, (size_t)(s->p - from));
	return true;
}

bool scan_find(struct scan *s, struct str key)
{
	enum scan_type type;
	struct str name, raw;

	if (!scan_enter(s, '{'))
		return false;
	while (scan_member(s, &name, NULL)) {
		if (str_eq(name, key))
			return true;
		if (!scan_value(s, &raw, &type))
			return false;
	}
	return scan_fail(s);
}

struct str scan_text(struct str raw, enum scan_type type, struct arena *a)
{
	struct json *v;

	if (type == SCAN_TEXT)
		return raw;
	if (type != SCAN_ESCAPED_TEXT || !a)
		return STR_NULL;
	/* With its quotes, which lie around it, it is a document of its own. */
	if (json_parse(a, str_of(raw.p - 1, raw.n + 2), NULL, &v, NULL) < 0)
		return STR_NULL;
	return json_str(v);
}
