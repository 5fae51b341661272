/*
 * Literals: numbers, text and bytes. The scanner has checked that escapes are complete. So only
 * invalid values are rejected here: numbers out of range, and characters that do not exist.
 */
#include "base/text/number.h"
#include "cel/parse/parse_impl.h"

/* Parses digits in base 10, or in base 16 after "0x". Returns false on overflow. */
static bool parse_digits(struct str s, uint64_t *ret_value)
{
	uint64_t v = 0;

	if (!str_starts(s, STR("0x"))) /* leading zeros are no sign of base 8 */
		return str_to_u64(s, ret_value);
	for (size_t i = 2; i < s.n; i++) {
		if (v >> 60)
			return false;
		v = v << 4 | (uint64_t)str_hex_digit(s.p[i]);
	}
	*ret_value = v;
	return true;
}

static struct cel_expr *parse_int(struct parser *p, struct str text, bool negative)
{
	uint64_t v;

	if (!parse_digits(text, &v) || v > (uint64_t)INT64_MAX + (negative ? 1 : 0))
		return parser_issue(p, p->x.offset, "invalid int literal");
	return cel_make_constant(&p->x, CEL_INT_V((int64_t)(negative ? 0 - v : v)));
}

static struct cel_expr *parse_uint(struct parser *p, struct str text)
{
	uint64_t v;

	text.n--; /* the u */
	if (!parse_digits(text, &v))
		return parser_issue(p, p->x.offset, "invalid uint literal");
	return cel_make_constant(&p->x, CEL_UINT_V(v));
}

static struct cel_expr *parse_double(struct parser *p, struct str text, bool negative)
{
	double v;

	if (!json_number_parse(text, &v))
		return parser_issue(p, p->x.offset, "invalid double literal");
	return cel_make_constant(&p->x, CEL_DOUBLE_V(negative ? -v : v));
}

/* Appends the character in UTF-8; false if it is not valid. */
static bool put_character(char **out, uint32_t c)
{
	unsigned char *o = (unsigned char *)*out;

	if (c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		return false;
	if (c < 0x80) {
		*o++ = (unsigned char)c;
	} else if (c < 0x800) {
		*o++ = (unsigned char)(0xc0 | c >> 6);
		*o++ = (unsigned char)(0x80 | (c & 0x3f));
	} else if (c < 0x10000) {
		*o++ = (unsigned char)(0xe0 | c >> 12);
		*o++ = (unsigned char)(0x80 | (c >> 6 & 0x3f));
		*o++ = (unsigned char)(0x80 | (c & 0x3f));
	} else {
		*o++ = (unsigned char)(0xf0 | c >> 18);
		*o++ = (unsigned char)(0x80 | (c >> 12 & 0x3f));
		*o++ = (unsigned char)(0x80 | (c >> 6 & 0x3f));
		*o++ = (unsigned char)(0x80 | (c & 0x3f));
	}
	*out = (char *)o;
	return true;
}

/* Returns the number in the digits at s.p[*i], and advances *i past them. */
static uint32_t escape_number(struct str s, size_t *i, size_t digits, unsigned bits)
{
	uint32_t v = 0;

	while (digits-- > 0)
		v = v << bits | (uint32_t)str_hex_digit(s.p[(*i)++]);
	return v;
}

/* Replaces the escape at s.p[*i]. Returns its fault, or NULL. */
static const char *unescape_one(struct str s, size_t *i, bool bytes, char **out)
{
	static const char from[] = "abfnrtv\"'\\?`", to[] = "\a\b\f\n\r\t\v\"'\\?`";
	char c = s.p[*i + 1];
	const char *simple = strchr(from, c);
	uint32_t v;

	*i += 2;
	if (simple) {
		*(*out)++ = to[simple - from];
		return NULL;
	}
	if (bytes && (c == 'u' || c == 'U'))
		return "unable to unescape string";
	if (c == 'u' || c == 'U' || c == 'x' || c == 'X') {
		v = escape_number(s, i, c == 'u' ? 4 : c == 'U' ? 8 : 2, 4);
	} else {
		--*i;
		v = escape_number(s, i, 3, 3);
	}
	if (bytes)
		*(*out)++ = (char)v;
	else if (!put_character(out, v))
		return "invalid unicode code point";
	return NULL;
}

/* Converts the text between the quotes: line ends become '\n', and escapes are replaced. */
static const char *parse_literal_unescape(struct arena *a, struct str s, bool raw, bool bytes,
					  struct str *ret_text)
{
	char *start = arena_alloc(a, s.n + 1), *out = start;
	const char *fault = NULL;
	size_t i = 0;

	while (i < s.n && !fault) {
		if (s.p[i] == '\r') {
			i += i + 1 < s.n && s.p[i + 1] == '\n' ? 2 : 1;
			*out++ = '\n';
		} else if (s.p[i] == '\\' && !raw) {
			fault = unescape_one(s, &i, bytes, &out);
		} else {
			*out++ = s.p[i++];
		}
	}
	*ret_text = str_of(start, (size_t)(out - start));
	return fault;
}

/* Removes the quotes, and returns whether there was an r prefix. */
static struct str unquote(struct str s, bool *ret_raw)
{
	size_t quotes;

	*ret_raw = s.p[0] == 'r' || s.p[0] == 'R';
	if (*ret_raw)
		s = str_skip(s, 1);
	quotes = s.n >= 6 && s.p[0] == s.p[1] && s.p[1] == s.p[2] ? 3 : 1;
	return str_of(s.p + quotes, s.n - 2 * quotes);
}

static struct cel_expr *parse_text(struct parser *p, struct str s, bool bytes)
{
	const char *fault = NULL;
	bool raw, plain;
	struct str text = unquote(bytes ? str_skip(s, 1) : s, &raw);

	plain = (raw || str_chr(text, '\\') < 0) && str_chr(text, '\r') < 0;
	if (!plain)
		fault = parse_literal_unescape(p->x.issues->arena, text, raw, bytes, &text);
	if (fault)
		(void)parser_issue(p, p->x.offset, "%s", fault);
	return cel_make_constant(&p->x, bytes ? CEL_BYTES_V(text) : CEL_STRING_V(text));
}

struct cel_expr *parse_literal(struct parser *p)
{
	bool negative = parser_peek(p, 0) == TOKEN_MINUS;
	const struct cel_token *token;
	struct str text;

	p->x.offset = parser_token(p)->offset;
	if (negative)
		(void)parser_take(p);
	token = parser_take(p);
	text = parser_text(p, token);
	switch (token->kind) {
	case TOKEN_INT:
		return parse_int(p, text, negative);
	case TOKEN_UINT:
		return parse_uint(p, text);
	case TOKEN_FLOAT:
		return parse_double(p, text, negative);
	case TOKEN_STRING:
		return parse_text(p, text, false);
	case TOKEN_BYTES:
		return parse_text(p, text, true);
	case TOKEN_NULL:
		return cel_make_constant(&p->x, CEL_NULL_V);
	default:
		return cel_make_constant(&p->x, CEL_BOOL_V(token->kind == TOKEN_TRUE));
	}
}
