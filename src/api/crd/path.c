/*
 * Paths to fields, as rules and selectable fields of a definition write them: `.name`, or
 * `['name']` where allowed. A path is split into tokens as upstream does, and followed through the
 * schema.
 */
#include "api/crd/crd_impl.h"

/* Returns the next token: '.', '[', ']', a quoted text, or the text between those. */
static struct str next_token(struct str *rest)
{
	struct str token;
	size_t n = 1;

	if (!str_is_one_of(rest->p[0], ".[]")) {
		bool quoted = rest->p[0] == '\'';

		while (n < rest->n && (quoted || !str_is_one_of(rest->p[n], ".[]"))) {
			n++;
			if (quoted && rest->p[n - 1] == '\'' && rest->p[n - 2] != '\\')
				break;
		}
	}
	token = str_of(rest->p, n);
	*rest = str_skip(*rest, n);
	return token;
}

/* Returns the character of a backslash escape; 0 if invalid. */
static char unescaped(char c)
{
	static const char from[] = "abfnrtv'\\", to[] = "\a\b\f\n\r\t\v'\\";
	const char *p = c ? strchr(from, c) : NULL;

	return p ? to[p - from] : 0;
}

/* Returns the text within quotes; p NULL if an escape is invalid. */
static struct str unquoted(struct arena *a, struct str token)
{
	char *text = arena_alloc(a, token.n);
	size_t n = 0;

	for (size_t i = 1; i + 1 < token.n; i++) {
		text[n] = token.p[i];
		if (token.p[i] == '\\' && i + 2 < token.n)
			text[n] = unescaped(token.p[++i]);
		if (!text[n++])
			return STR_NULL;
	}
	return str_of(text, n);
}

static const struct json *step_down(const struct json *schema, struct str name, struct buf *normal,
				    const char **ret_why)
{
	const struct json *properties = json_getz(schema, "properties");
	const struct json *additional = json_getz(schema, "additionalProperties");
	bool named = json_count(properties) > 0;
	const struct json *found = NULL;

	if (named)
		found = json_get(properties, name);
	else if (json_is(additional, JSON_OBJECT))
		found = additional;
	if (!found)
		*ret_why = "does not refer to a valid field";
	else if (normal && named)
		(void)buf_printf(normal, "%s%.*s", normal->n ? "." : "", STR_ARG(name));
	else if (normal)
		(void)buf_printf(normal, "[%.*s]", STR_ARG(name));
	return found;
}

const struct json *crd_field_path(struct arena *a, const struct json *schema, struct str path,
				  bool brackets, struct buf *normal, const char **ret_why)
{
	struct str rest = path, token;
	bool bracket;

	while (schema && rest.n) {
		token = next_token(&rest);
		bracket = str_eqz(token, "[");
		if (!bracket && !str_eqz(token, ".")) {
			*ret_why = arena_printf(a, "expected [ or . but got: %.*s", STR_ARG(token));
			return NULL;
		}
		if (bracket && !brackets) {
			*ret_why = "array notation is not allowed";
			return NULL;
		}
		if (rest.n == 0) {
			*ret_why = "unexpected end of JSON path";
			return NULL;
		}
		token = next_token(&rest);
		if (bracket && (token.n < 2 || token.p[0] != '\'' || token.p[token.n - 1] != '\'' ||
				!str_starts(rest, STR("]")))) {
			*ret_why = "expected single quoted string";
			return NULL;
		}
		if (bracket)
			token = unquoted(a, token);
		schema = step_down(schema, token, normal, ret_why);
		rest = str_skip(rest, bracket);
	}
	return schema;
}
