/*
 * Field selectors: terms separated by commas, split at the first operator. Only values have
 * escapes: a backslash, a comma or an equals sign in a value must follow a backslash.
 */
#include "api/api_limits.h"
#include "api/selector/selector.h"

/* Returns the position of the first unescaped comma, or the end. */
static size_t term_end(struct str s)
{
	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == '\\')
			i++;
		else if (s.p[i] == ',')
			return i;
	}
	return s.n;
}

/* Returns the maximum number of terms. */
static size_t count_terms(struct str s)
{
	size_t n = 1;

	for (size_t at = term_end(s); at < s.n && n < SELECTOR_TERMS_MAX; at = term_end(s)) {
		s = str_skip(s, at + 1);
		n++;
	}
	return n;
}

/* Splits at the first of !=, == and =; returns false if not found. */
static bool split_term(struct str term, struct selector_term *ret_term, struct str *ret_value)
{
	for (size_t i = 0; i < term.n; i++) {
		struct str rest = str_skip(term, i);
		bool no = str_starts(rest, STR("!="));

		if (!no && rest.p[0] != '=')
			continue;
		ret_term->key = str_of(term.p, i);
		ret_term->op = no ? SELECTOR_NOT_EQUALS : SELECTOR_EQUALS;
		*ret_value = str_skip(rest, no || str_starts(rest, STR("==")) ? 2 : 1);
		return true;
	}
	return false;
}

static int fields_unescape(struct arena *a, struct str s, struct str *ret_value, struct error *err)
{
	char *out = arena_alloc(a, s.n + 1);
	size_t n = 0;

	for (size_t i = 0; i < s.n; i++) {
		if (s.p[i] == ',' || s.p[i] == '=')
			return error_set(err, ERR_BAD_REQUEST,
					 "invalid field selector: unescaped character in value: %d",
					 s.p[i]);
		if (s.p[i] == '\\') {
			i++;
			if (i == s.n || !strchr("\\,=", s.p[i]) || !s.p[i])
				return error_set(err, ERR_BAD_REQUEST,
						 "invalid field selector: invalid escape sequence: "
						 "%.*s",
						 i == s.n ? 1 : 2, s.p + i - 1);
		}
		out[n++] = s.p[i];
	}
	out[n] = '\0';
	*ret_value = str_of(out, n);
	return 0;
}

static int parse_term(struct arena *a, struct str all, struct str text,
		      struct selector_term *ret_term, struct error *err)
{
	struct str *value = ARENA_NEW(a, struct str), raw;
	struct selector_term t = { .values = value, .nvalues = 1 };
	int r;

	if (!split_term(text, &t, &raw))
		return error_set(err, ERR_BAD_REQUEST,
				 "invalid selector: '%.*s'; can't understand '%.*s'", STR_ARG(all),
				 STR_ARG(text));
	r = fields_unescape(a, raw, value, err);
	if (r < 0)
		return r;
	*ret_term = t;
	return 0;
}

int selector_parse_fields(struct arena *a, struct str text, struct selector *ret_selector,
			  struct error *err)
{
	struct selector_term *terms = ARENA_ARRAY(a, struct selector_term, count_terms(text));
	struct str rest = arena_str(a, text), piece;
	size_t n = 0;
	int r;

	while (rest.n) {
		piece = str_of(rest.p, term_end(rest));
		rest = str_skip(rest, piece.n + 1);
		if (piece.n == 0)
			continue;
		if (n == SELECTOR_TERMS_MAX)
			return error_set(err, ERR_BAD_REQUEST,
					 "a selector may have at most %d requirements",
					 SELECTOR_TERMS_MAX);
		r = parse_term(a, text, piece, &terms[n], err);
		if (r < 0)
			return r;
		/* "=" and "!=" alone have no effect. */
		if (terms[n].key.n || terms[n].values[0].n)
			n++;
	}
	*ret_selector = (struct selector){ terms, n };
	return 0;
}
