/*
 * A server reads objects by the hundred thousand at its start, and a client lists and watches as
 * many. So text is read once, strings are skipped many bytes at a time, and nested values by
 * counting brackets outside strings, without matching their kinds.
 */
#include "base/json/cursor.h"

#include "base/json/json.h"
#include "base/json/scan.h"

static bool cursor_fail(struct json_cursor *c)
{
	c->p = NULL;
	return false;
}

/* Returns false at the end of the text. */
static bool skip_spaces(struct json_cursor *c)
{
	if (!c->p)
		return false;
	if (!c->compact)
		while (c->p < c->end && json_is_space(*c->p))
			c->p++;
	return c->p < c->end || cursor_fail(c);
}

/* The closing quote of the string whose first byte is at p; `end` if it is missing. */
static const char *string_end(const char *p, const char *end, bool *ret_escaped)
{
	*ret_escaped = false;
	while ((p = json_scan_plain(p, end)) < end && *p != '"') {
		if (*p == '\\') {
			*ret_escaped = true;
			if (++p == end)
				break;
		}
		p++;
	}
	return p;
}

/* At the opening quote. Leaves the position after the closing one. */
static bool pass_string(struct json_cursor *c, struct str *ret_raw, bool *ret_escaped)
{
	const char *from = c->p + 1, *p = string_end(from, c->end, ret_escaped);

	if (p == c->end)
		return cursor_fail(c);
	*ret_raw = str_of(from, (size_t)(p - from));
	c->p = p + 1;
	return true;
}

static bool pass_nested(struct json_cursor *c)
{
	const char *p = c->p, *end = c->end;
	size_t depth = 0;
	bool escaped;

	for (; p < end; p++) {
		if (*p == '"') {
			p = string_end(p + 1, end, &escaped);
			if (p == end)
				break;
		} else if (*p == '{' || *p == '[') {
			depth++;
		} else if ((*p == '}' || *p == ']') && --depth == 0) {
			c->p = p + 1;
			return true;
		}
	}
	return cursor_fail(c);
}

static bool pass_scalar(struct json_cursor *c)
{
	const char *from = c->p;

	while (c->p < c->end && *c->p != ',' && *c->p != '}' && *c->p != ']' &&
	       !json_is_space(*c->p))
		c->p++;
	return c->p > from || cursor_fail(c);
}

bool json_cursor_enter(struct json_cursor *c, char bracket)
{
	if (!skip_spaces(c) || *c->p != bracket)
		return cursor_fail(c);
	c->p++;
	c->inside = false;
	return true;
}

/* Before a member or element: returns false after the end, or for damaged text. */
static bool begin_next(struct json_cursor *c, char end)
{
	if (!skip_spaces(c))
		return false;
	if (*c->p == end) {
		c->p++;
		c->inside = true; /* back in the parent, after a value */
		return false;
	}
	if (c->inside) {
		if (*c->p != ',')
			return cursor_fail(c);
		c->p++;
	}
	c->inside = true;
	return skip_spaces(c);
}

bool json_cursor_member(struct json_cursor *c, struct str *ret_key, const char **ret_from)
{
	bool escaped;

	if (!begin_next(c, '}'))
		return false;
	if (ret_from)
		*ret_from = c->p;
	if (*c->p != '"' || !pass_string(c, ret_key, &escaped))
		return cursor_fail(c);
	if (!skip_spaces(c) || *c->p != ':')
		return cursor_fail(c);
	c->p++;
	return skip_spaces(c);
}

bool json_cursor_element(struct json_cursor *c)
{
	return begin_next(c, ']');
}

bool json_cursor_value(struct json_cursor *c, struct str *ret_raw, enum json_cursor_type *ret_type)
{
	const char *from;
	bool escaped;

	if (!skip_spaces(c))
		return false;
	from = c->p;
	if (*from == '"') {
		if (!pass_string(c, ret_raw, &escaped))
			return false;
		*ret_type = escaped ? JSON_CURSOR_ESCAPED : JSON_CURSOR_STRING;
		return true;
	}
	if (*from == '{' || *from == '[') {
		if (!pass_nested(c))
			return false;
		*ret_type = JSON_CURSOR_NESTED;
	} else {
		if (!pass_scalar(c))
			return false;
		*ret_type = *from == 'n' ? JSON_CURSOR_NULL : JSON_CURSOR_SCALAR;
	}
	*ret_raw = str_of(from, (size_t)(c->p - from));
	return true;
}

bool json_cursor_find(struct json_cursor *c, struct str key)
{
	enum json_cursor_type type;
	struct str name, raw;

	if (!json_cursor_enter(c, '{'))
		return false;
	while (json_cursor_member(c, &name, NULL)) {
		if (str_eq(name, key))
			return true;
		if (!json_cursor_value(c, &raw, &type))
			return false;
	}
	return cursor_fail(c);
}

struct str json_cursor_text(struct str raw, enum json_cursor_type type, struct arena *a)
{
	struct json *v;

	if (type == JSON_CURSOR_STRING)
		return raw;
	if (type != JSON_CURSOR_ESCAPED || !a)
		return STR_NULL;
	/* Together with its quotes it is a JSON document. */
	if (json_parse(a, str_of(raw.p - 1, raw.n + 2), NULL, &v, NULL) < 0)
		return STR_NULL;
	return json_str(v);
}
