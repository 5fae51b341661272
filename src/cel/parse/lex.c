/*
 * The longest match wins, as in cel-go's generated scanner, whose messages we reproduce. A scanner
 * for each group of tokens returns the length of its token, or 0 with the length that matched so
 * far. The message shows this text and the character that did not match, and both are skipped.
 */
#include "cel/parse/lex.h"

static const char *const names[TOKEN_KINDS] = {
	[TOKEN_EOF] = "<EOF>",
	[TOKEN_EQUALS] = "'=='",
	[TOKEN_NOT_EQUALS] = "'!='",
	[TOKEN_IN] = "'in'",
	[TOKEN_LESS] = "'<'",
	[TOKEN_LESS_EQUALS] = "'<='",
	[TOKEN_GREATER_EQUALS] = "'>='",
	[TOKEN_GREATER] = "'>'",
	[TOKEN_AND] = "'&&'",
	[TOKEN_OR] = "'||'",
	[TOKEN_LBRACKET] = "'['",
	[TOKEN_RBRACKET] = "']'",
	[TOKEN_LBRACE] = "'{'",
	[TOKEN_RBRACE] = "'}'",
	[TOKEN_LPAREN] = "'('",
	[TOKEN_RPAREN] = "')'",
	[TOKEN_DOT] = "'.'",
	[TOKEN_COMMA] = "','",
	[TOKEN_MINUS] = "'-'",
	[TOKEN_NOT] = "'!'",
	[TOKEN_QUESTION] = "'?'",
	[TOKEN_COLON] = "':'",
	[TOKEN_PLUS] = "'+'",
	[TOKEN_STAR] = "'*'",
	[TOKEN_SLASH] = "'/'",
	[TOKEN_PERCENT] = "'%'",
	[TOKEN_TRUE] = "'true'",
	[TOKEN_FALSE] = "'false'",
	[TOKEN_NULL] = "'null'",
	[TOKEN_FLOAT] = "NUM_FLOAT",
	[TOKEN_INT] = "NUM_INT",
	[TOKEN_UINT] = "NUM_UINT",
	[TOKEN_STRING] = "STRING",
	[TOKEN_BYTES] = "BYTES",
	[TOKEN_IDENT] = "IDENTIFIER",
	[TOKEN_QUOTED_IDENT] = "ESC_IDENTIFIER",
};

static const struct {
	char text[3];
	uint8_t kind;
} symbols[] = {
	/* the longer of two that begin alike first */
	{ "==", TOKEN_EQUALS },      { "!=", TOKEN_NOT_EQUALS },
	{ "<=", TOKEN_LESS_EQUALS }, { ">=", TOKEN_GREATER_EQUALS },
	{ "&&", TOKEN_AND },         { "||", TOKEN_OR },
	{ "<", TOKEN_LESS },         { ">", TOKEN_GREATER },
	{ "[", TOKEN_LBRACKET },     { "]", TOKEN_RBRACKET },
	{ "{", TOKEN_LBRACE },       { "}", TOKEN_RBRACE },
	{ "(", TOKEN_LPAREN },       { ")", TOKEN_RPAREN },
	{ ".", TOKEN_DOT },          { ",", TOKEN_COMMA },
	{ "-", TOKEN_MINUS },        { "!", TOKEN_NOT },
	{ "?", TOKEN_QUESTION },     { ":", TOKEN_COLON },
	{ "+", TOKEN_PLUS },         { "*", TOKEN_STAR },
	{ "/", TOKEN_SLASH },        { "%", TOKEN_PERCENT },
};

struct scan {
	struct str s; /* from the beginning of the token */
	size_t reach; /* bytes that matched, if there is no token */
	uint8_t kind;
};

static bool is_letter(char c)
{
	return str_is_letter(c) || c == '_';
}

static char at(struct str s, size_t i)
{
	return i < s.n ? s.p[i] : '\0';
}

static size_t digits_from(struct str s, size_t i)
{
	while (str_is_digit(at(s, i)))
		i++;
	return i;
}

/* Returns the end of an exponent that begins at i, or i if there is no exponent. */
static size_t exponent_from(struct str s, size_t i)
{
	size_t j = i;

	if (at(s, j) != 'e' && at(s, j) != 'E')
		return i;
	j++;
	if (at(s, j) == '+' || at(s, j) == '-')
		j++;
	return str_is_digit(at(s, j)) ? digits_from(s, j) : i;
}

static size_t scan_hex(struct scan *scan)
{
	size_t i = 2;

	while (str_hex_digit(at(scan->s, i)) >= 0)
		i++;
	scan->kind = TOKEN_INT;
	if (i > 2 && (at(scan->s, i) == 'u' || at(scan->s, i) == 'U')) {
		scan->kind = TOKEN_UINT;
		return i + 1;
	}
	return i > 2 ? i : 1; /* "0x": a zero and a name */
}

static size_t scan_number(struct scan *scan)
{
	struct str s = scan->s;
	size_t i, end;

	if (at(s, 0) == '0' && at(s, 1) == 'x')
		return scan_hex(scan);
	i = end = digits_from(s, 0);
	if (at(s, i) == '.' && str_is_digit(at(s, i + 1)))
		end = digits_from(s, i + 1);
	end = exponent_from(s, end);
	scan->kind = end > i ? TOKEN_FLOAT : TOKEN_INT;
	if (end == i && (at(s, i) == 'u' || at(s, i) == 'U')) {
		scan->kind = TOKEN_UINT;
		return i + 1;
	}
	return end;
}

/*
 * Returns the end of the escape whose backslash is at i. Returns 0 if it is invalid, with the end
 * of the matching text in *ret_reach.
 */
static size_t escape_from(struct str s, size_t i, size_t *ret_reach)
{
	char c = at(s, i + 1);
	size_t want = 0;
	bool octal = c >= '0' && c <= '3';

	*ret_reach = i + 1;
	if (i + 1 >= s.n)
		return 0;
	if (c != '\0' && strchr("abfnrtv\"'\\?`", c))
		return i + 2;
	if (octal || c == 'x' || c == 'X')
		want = 2;
	else if (c == 'u' || c == 'U')
		want = c == 'u' ? 4 : 8;
	else
		return 0;
	for (i += 2; want > 0; i++, want--) {
		bool fits = octal ? at(s, i) >= '0' && at(s, i) <= '7'
				  : str_hex_digit(at(s, i)) >= 0;

		*ret_reach = i;
		if (!fits)
			return 0;
	}
	return i;
}

/* Text in three quotes whose first is at i. 0: none, which is no fault: two quotes are text. */
static size_t scan_long_text(struct str s, size_t i, bool raw)
{
	char quote = s.p[i];
	size_t reach;

	if (at(s, i + 1) != quote || at(s, i + 2) != quote)
		return 0;
	i += 3;
	while (i < s.n) {
		if (s.p[i] == quote && at(s, i + 1) == quote && at(s, i + 2) == quote)
			return i + 3;
		if (s.p[i] == '\\' && !raw)
			i = escape_from(s, i, &reach);
		else
			i++;
		if (i == 0)
			return 0;
	}
	return 0;
}

static size_t scan_text(struct scan *scan, size_t i, bool raw)
{
	struct str s = scan->s;
	char quote = s.p[i];
	size_t end = scan_long_text(s, i, raw);

	if (end > 0)
		return end;
	for (i++; i < s.n && s.p[i] != '\n' && s.p[i] != '\r'; i++) {
		if (s.p[i] == quote)
			return i + 1;
		if (s.p[i] != '\\' || raw)
			continue;
		end = escape_from(s, i, &scan->reach);
		if (end == 0)
			return 0;
		i = end - 1;
	}
	scan->reach = i;
	return 0;
}

/* Text with letters before it: r, b, br in either case. 0: it is a name. */
static size_t scan_prefixed(struct scan *scan)
{
	bool bytes = (at(scan->s, 0) | 0x20) == 'b';
	size_t i = bytes ? 1 : 0;
	bool raw = (at(scan->s, i) | 0x20) == 'r';

	if (raw)
		i++;
	if (at(scan->s, i) != '"' && at(scan->s, i) != '\'')
		return 0;
	scan->kind = bytes ? TOKEN_BYTES : TOKEN_STRING;
	return scan_text(scan, i, raw);
}

static size_t scan_name(struct scan *scan)
{
	static const struct {
		const char *text;
		uint8_t kind;
	} words[] = { { "in", TOKEN_IN },
		      { "true", TOKEN_TRUE },
		      { "false", TOKEN_FALSE },
		      { "null", TOKEN_NULL } };
	size_t n = strchr("rRbB", scan->s.p[0]) ? scan_prefixed(scan) : 0;

	if (n > 0)
		return n;
	n = 1;
	while (is_letter(at(scan->s, n)) || str_is_digit(at(scan->s, n)))
		n++;
	scan->kind = TOKEN_IDENT;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_eqz(str_of(scan->s.p, n), words[i].text))
			scan->kind = words[i].kind;
	return n;
}

static size_t scan_quoted_name(struct scan *scan)
{
	size_t n = 1;
	char c = at(scan->s, n);

	while (is_letter(c) || str_is_digit(c) || (c != '\0' && strchr(".-/ ", c)))
		c = at(scan->s, ++n);
	scan->reach = n;
	scan->kind = TOKEN_QUOTED_IDENT;
	return c == '`' && n > 1 ? n + 1 : 0;
}

static size_t scan_symbol(struct scan *scan)
{
	char c = scan->s.p[0];

	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		if (!str_starts(scan->s, str_from(symbols[i].text)))
			continue;
		scan->kind = symbols[i].kind;
		return strlen(symbols[i].text);
	}
	scan->reach = c == '=' || c == '&' || c == '|' ? 1 : 0;
	return 0;
}

static size_t scan_word(struct scan *scan)
{
	char c = scan->s.p[0];

	if (str_is_digit(c))
		return scan_number(scan);
	if (c == '.' && str_is_digit(at(scan->s, 1))) {
		scan->kind = TOKEN_FLOAT;
		return exponent_from(scan->s, digits_from(scan->s, 1));
	}
	if (is_letter(c))
		return scan_name(scan);
	if (c == '"' || c == '\'') {
		scan->kind = TOKEN_STRING;
		return scan_text(scan, 0, false);
	}
	return c == '`' ? scan_quoted_name(scan) : scan_symbol(scan);
}

/* White space and comments at the front. */
static size_t blank(struct str s)
{
	size_t i = 0;
	const char *line;

	while (i < s.n) {
		if (s.p[i] == '/' && at(s, i + 1) == '/') {
			line = memchr(s.p + i, '\n', s.n - i);
			i = line ? (size_t)(line - s.p) : s.n;
		} else if (s.p[i] != '\0' && strchr("\t \r\n\f", s.p[i])) {
			i++;
		} else {
			break;
		}
	}
	return i;
}

/* Returns the bytes of the character at i, which may be at the end. */
static size_t character_at(struct str s, size_t i)
{
	size_t n = 0;

	if (i >= s.n)
		return 0;
	do
		n++;
	while (i + n < s.n && ((unsigned char)s.p[i + n] & 0xc0) == 0x80);
	return n;
}

void cel_lex(struct cel_issues *issues, struct cel_tokens *ret_tokens)
{
	struct str text = issues->text;
	struct cel_token token = { 0 };
	size_t offset = 0, n;

	vec_init(ret_tokens, text.n + 1);
	vec_init(&ret_tokens->bad, text.n);
	for (;;) {
		struct scan scan = { .s = str_skip(text, offset) };

		offset += blank(scan.s);
		scan.s = str_skip(text, offset);
		if (scan.s.n == 0)
			break;
		n = scan_word(&scan);
		token = (struct cel_token){ (uint32_t)offset, (uint32_t)n, scan.kind };
		if (n > 0) {
			(void)vec_push(ret_tokens, token);
		} else {
			n = scan.reach + character_at(scan.s, scan.reach);
			token.n = (uint32_t)n;
			(void)vec_push(&ret_tokens->bad, token);
			cel_issue_add(issues, offset,
				      "Syntax error: token recognition error at: '%.*s'", (int)n,
				      scan.s.p);
		}
		offset += n;
	}
	token = (struct cel_token){ (uint32_t)text.n, 0, TOKEN_EOF };
	(void)vec_push(ret_tokens, token);
}

void cel_tokens_release(struct cel_tokens *tokens)
{
	vec_release(tokens);
	vec_release(&tokens->bad);
}

const char *cel_token_name(enum cel_token_kind kind)
{
	return names[kind];
}
