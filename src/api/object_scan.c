/*
 * Objects are read from a store by the hundred thousand at start and once per
 * write later, and of each only a dozen places are wanted. So the text is
 * walked once, strings many bytes at a time, and what is not wanted is passed over
 * by counting brackets outside strings.
 *
 * A position of NULL means that the text was damaged; every function keeps it
 * NULL from then on, so callers look once at the end.
 */
#include "api/object_scan.h"

#include "base/json_scan.h"

static bool scan_fail(struct object_scan *s)
{
	s->p = NULL;
	return false;
}

/* At the opening quote. Leaves the position behind the closing one. */
static bool scan_string(struct object_scan *s, struct str *ret_raw, bool *ret_escaped)
{
	const char *from = s->p + 1, *p = from;
	bool escaped = false;

	while ((p = json_scan_plain(p, s->end)) < s->end && *p != '"') {
		if (*p == '\\') {
			escaped = true;
			p++;
		}
		p++;
	}
	if (p >= s->end)
		return scan_fail(s);

	*ret_raw = str_of(from, (size_t)(p - from));
	*ret_escaped = escaped;
	s->p = p + 1;
	return true;
}

/* At an opening bracket. Which bracket closes which is not looked at: we printed it. */
static bool scan_container(struct object_scan *s)
{
	size_t depth = 0;
	struct str raw;
	bool escaped;

	while (s->p && s->p < s->end) {
		char c = *s->p;

		if (c == '"') {
			if (!scan_string(s, &raw, &escaped))
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

static bool scan_scalar(struct object_scan *s, struct str *ret_raw)
{
	const char *from = s->p;

	while (s->p < s->end && *s->p != ',' && *s->p != '}' && *s->p != ']')
		s->p++;
	if (s->p == from || s->p == s->end)
		return scan_fail(s);

	*ret_raw = str_of(from, (size_t)(s->p - from));
	return true;
}

bool object_scan_enter(struct object_scan *s)
{
	if (!s->p || s->p >= s->end || *s->p != '{')
		return scan_fail(s);
	s->p++;
	s->inside = false;
	return true;
}

bool object_scan_member(struct object_scan *s, struct str *ret_key)
{
	bool escaped;

	if (!s->p || s->p >= s->end)
		return scan_fail(s);
	if (*s->p == '}') {
		s->p++;
		s->inside = true; /* back in the parent, behind a member */
		return false;
	}
	if (s->inside && *s->p++ != ',')
		return scan_fail(s);
	if (s->p >= s->end || *s->p != '"' || !scan_string(s, ret_key, &escaped))
		return scan_fail(s);
	if (s->p >= s->end || *s->p != ':')
		return scan_fail(s);
	s->p++;
	s->inside = true;
	return true;
}

bool object_scan_value(struct object_scan *s, struct str *ret_raw, enum object_scan_type *ret_type)
{
	const char *from = s->p;
	bool escaped;

	if (!s->p || s->p >= s->end)
		return scan_fail(s);
	if (*from == '"') {
		if (!scan_string(s, ret_raw, &escaped))
			return false;
		*ret_type = escaped ? SCAN_ESCAPED : SCAN_STRING;
		return true;
	}
	if (*from == '{' || *from == '[') {
		if (!scan_container(s))
			return false;
		*ret_raw = str_of(from, (size_t)(s->p - from));
		*ret_type = SCAN_CONTAINER;
		return true;
	}
	if (!scan_scalar(s, ret_raw))
		return false;
	*ret_type = str_eq(*ret_raw, STR("null")) ? SCAN_NULL : SCAN_SCALAR;
	return true;
}
