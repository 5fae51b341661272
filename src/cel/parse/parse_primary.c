/*
 * Parses primary expressions: names, function calls, parentheses, lists, maps, messages. A dotted
 * name before a brace is a message, which needs lookahead. All others are known by their first
 * token.
 */
#include "cel/cel_limits.h"
#include "cel/parse/parse_impl.h"

static bool is_reserved(struct str name)
{
	static const char *const words[] = { "as",   "break",     "const",   "continue", "else",
					     "for",  "function",  "if",      "import",   "let",
					     "loop", "namespace", "package", "return",   "var",
					     "void", "while" };

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (str_eqz(name, words[i]))
			return true;
	return false;
}

/* Joins the texts of n tokens from `first` on, without white space and comments. */
static struct str parse_primary_join(struct parser *p, const struct cel_token *first, size_t n)
{
	const struct cel_token *last = first + n - 1;
	size_t length = 0, span = last->offset + last->n - first->offset;
	char *out;

	for (size_t i = 0; i < n; i++)
		length += first[i].n;
	if (length == span)
		return str_of(p->x.issues->text.p + first->offset, span);
	out = arena_alloc(p->x.issues->arena, length);
	for (size_t i = 0, at = 0; i < n; at += first[i++].n)
		memcpy(out + at, p->x.issues->text.p + first[i].offset, first[i].n);
	return str_of(out, length);
}

/* --- elements, entries, fields --------------------------------------------------------- */

/* The contents of braces or brackets during parsing. */
struct members {
	struct parsed_list values; /* including keys of a map */
	VEC(bool) optional;
	VEC(struct str) names;
	VEC(uint32_t) places; /* of the colons */
};

static void members_release(struct members *m)
{
	vec_release(&m->values);
	vec_release(&m->optional);
	vec_release(&m->names);
	vec_release(&m->places);
}

static void members_init(struct members *m)
{
	*m = (struct members){ 0 };
	vec_init(&m->optional, CEL_TEXT_MAX);
	vec_init(&m->names, CEL_TEXT_MAX);
	vec_init(&m->places, CEL_TEXT_MAX);
}

/* Takes a question mark, if there is one. */
static void take_mark(struct parser *p, struct members *m)
{
	bool optional = parser_peek(p, 0) == TOKEN_QUESTION;
	uint32_t offset;

	if (optional) {
		offset = parser_take(p)->offset;
		if (!p->optional_syntax)
			(void)parser_issue(p, offset, "unsupported syntax '?'");
	}
	(void)vec_push(&m->optional, optional);
}

static void parse_element(struct parser *p, struct members *m, uint64_t follow)
{
	bool ok;

	parser_push(p, follow);
	ok = parser_sync(p, SITE_ELEMENT, TOKENS_EXPR | TOKENS(TOKEN_QUESTION));
	take_mark(p, m);
	if (ok)
		parsed_list_add(p, &m->values, parse_expr(p, TOKENS_END));
	else
		parser_fail(p);
	if (!ok)
		parsed_list_add(p, &m->values, parser_nothing(p));
	parser_pop(p);
}

/* Whether a comma is followed by one more, rather than the end. */
static bool at_next(const struct parser *p, uint64_t set)
{
	return parser_peek(p, 0) == TOKEN_COMMA && (set & TOKENS(parser_peek(p, 1)));
}

static bool parse_colon_value(struct parser *p, struct members *m, enum parse_site site)
{
	uint32_t offset = parser_token(p)->offset;

	if (!parser_match(p, site, TOKEN_COLON, TOKENS_EXPR)) {
		parser_fail(p);
		return false;
	}
	(void)vec_push(&m->places, offset);
	parsed_list_add(p, &m->values, parse_expr(p, TOKENS(TOKEN_COMMA) | TOKENS_END));
	return true;
}

static bool parse_list_member(struct parser *p, struct members *m)
{
	parse_element(p, m, TOKENS(TOKEN_COMMA) | TOKENS_END);
	return true;
}

static bool parse_map_member(struct parser *p, struct members *m)
{
	parse_element(p, m, TOKENS(TOKEN_COLON));
	return parse_colon_value(p, m, SITE_MAP_COLON);
}

static bool parse_struct_member(struct parser *p, struct members *m)
{
	struct str name = STR_NULL;

	parser_push(p, TOKENS(TOKEN_COLON));
	if (parser_sync(p, SITE_FIELD, TOKENS_FIELD)) {
		take_mark(p, m);
		name = parse_field_name(p, TOKENS_END);
	} else {
		(void)vec_push(&m->optional, false);
		parser_fail(p);
	}
	parser_pop(p);
	(void)vec_push(&m->names, name);
	return parse_colon_value(p, m, SITE_STRUCT_COLON);
}

/* How the three kinds of literals with members differ. */
struct braces {
	uint64_t first; /* first tokens of a member */
	uint8_t close; /* enum cel_token_kind */
	uint8_t site; /* of the first member; those of the comma and the end are next */
	bool (*member)(struct parser *p, struct members *m);
};

static const struct braces list_braces = {
	.first = TOKENS_EXPR | TOKENS(TOKEN_QUESTION),
	.close = TOKEN_RBRACKET,
	.site = SITE_LIST,
	.member = parse_list_member,
};

static const struct braces map_braces = {
	.first = TOKENS_EXPR | TOKENS(TOKEN_QUESTION),
	.close = TOKEN_RBRACE,
	.site = SITE_MAP,
	.member = parse_map_member,
};

static const struct braces struct_braces = {
	.first = TOKENS_FIELD,
	.close = TOKEN_RBRACE,
	.site = SITE_STRUCT,
	.member = parse_struct_member,
};

/* Parses from after the opening brace up to and including the closing one. */
static void parse_members(struct parser *p, const struct braces *b, struct members *m)
{
	uint64_t end = TOKENS(TOKEN_COMMA) | TOKENS(b->close);
	bool ok = parser_sync(p, b->site, b->first | end);

	if (ok && parser_at(p, b->first)) {
		parser_push(p, end);
		ok = b->member(p, m);
		while (ok && at_next(p, b->first)) {
			(void)parser_take(p);
			ok = b->member(p, m);
		}
		parser_pop(p);
		ok = true; /* a fault in there has been dealt with */
	}
	ok = ok && parser_sync(p, b->site + 1, end);
	if (ok && parser_peek(p, 0) == TOKEN_COMMA)
		(void)parser_take(p);
	if (!ok || !parser_match(p, b->site + 2, b->close, TOKENS_END))
		parser_fail(p);
}

/* The marks, if any is set. */
static const bool *optionals(struct parser *p, const struct members *m)
{
	bool *copy;

	if (m->optional.n == 0 || !memchr(m->optional.v, true, m->optional.n))
		return NULL;
	copy = ARENA_ARRAY(p->x.issues->arena, bool, m->optional.n);
	memcpy(copy, m->optional.v, m->optional.n);
	return copy;
}

static void set_fields(struct parser *p, struct cel_expr *e, const struct members *m)
{
	struct str *fields = ARENA_ARRAY(p->x.issues->arena, struct str, e->n + 1);
	uint32_t *places = ARENA_ARRAY(p->x.issues->arena, uint32_t, e->n + 1);

	for (size_t i = 0; i < MIN(e->n, MIN(m->names.n, m->places.n)); i++) {
		fields[i] = m->names.v[i];
		places[i] = m->places.v[i];
	}
	e->fields = fields;
	e->field_offsets = places;
}

/* A list, map or message; its opening brace is next. */
static struct cel_expr *parse_aggregate(struct parser *p, enum cel_expr_kind kind,
					const struct braces *braces, struct str name)
{
	uint32_t offset = parser_take(p)->offset;
	struct members m;
	struct cel_expr *e;

	members_init(&m);
	parse_members(p, braces, &m);
	p->x.offset = offset;
	e = cel_make_aggregate(&p->x, kind, m.values.v, m.values.n);
	e->name = name;
	e->optionals = optionals(p, &m);
	if (kind == CEL_EXPR_STRUCT)
		set_fields(p, e, &m);
	p->visits = m.values.visits;
	members_release(&m);
	return e;
}

/* --- names ------------------------------------------------------------------------------ */

/* Returns the number of tokens of a message's name that comes next, or 0. */
static size_t message_name(const struct parser *p)
{
	size_t n = parser_peek(p, 0) == TOKEN_DOT ? 2 : 1;

	while (parser_peek(p, n) == TOKEN_DOT && parser_peek(p, n + 1) == TOKEN_IDENT)
		n += 2;
	return parser_peek(p, n) == TOKEN_LBRACE ? n : 0;
}

static struct cel_expr *parse_message(struct parser *p, size_t words)
{
	const struct cel_token *first = parser_token(p);

	for (size_t i = 0; i < words; i++)
		(void)parser_take(p);
	return parse_aggregate(p, CEL_EXPR_STRUCT, &struct_braces,
			       parse_primary_join(p, first, words));
}

static struct cel_expr *parse_global_call(struct parser *p, const struct cel_token *first,
					  struct str name, bool reserved)
{
	struct parsed_list args = { 0 };
	uint32_t offset = parser_take(p)->offset;

	(void)parse_args(p, SITE_GLOBAL_ARGS, TOKENS_END, &args);
	p->visits = args.visits;
	if (!reserved)
		return parser_call(p, offset, name, NULL, &args);
	vec_release(&args);
	return parser_issue(p, first->offset, "reserved identifier: %.*s", STR_ARG(name));
}

/* Parses a name, perhaps with a leading dot. */
static struct cel_expr *parse_name(struct parser *p)
{
	const struct cel_token *first = parser_token(p), *ident;
	size_t words = message_name(p);
	bool dot = first->kind == TOKEN_DOT, reserved;
	struct str name;

	if (words > 0)
		return parse_message(p, words);
	if (dot)
		(void)parser_take(p);
	ident = parser_take(p);
	name = parser_text(p, ident);
	reserved = is_reserved(name);
	if (!reserved)
		name = parse_primary_join(p, first, dot ? 2 : 1);
	if (parser_peek(p, 0) == TOKEN_LPAREN)
		return parse_global_call(p, first, name, reserved);
	if (reserved)
		return parser_issue(p, first->offset, "reserved identifier: %.*s", STR_ARG(name));
	p->x.offset = ident->offset;
	return cel_make_ident(&p->x, name);
}

static struct cel_expr *parse_nested(struct parser *p)
{
	struct cel_expr *e;

	(void)parser_take(p);
	e = parse_expr(p, TOKENS(TOKEN_RPAREN));
	if (!parser_match(p, SITE_NESTED_END, TOKEN_RPAREN, TOKENS_END))
		parser_fail(p);
	return e;
}

static bool at_literal(const struct parser *p)
{
	enum cel_token_kind next = parser_peek(p, 1);

	if (parser_peek(p, 0) == TOKEN_MINUS)
		return next == TOKEN_INT || next == TOKEN_FLOAT;
	return parser_at(p, TOKENS_LITERAL);
}

/* No alternative begins like this: a sign without a number, a dot without a name. */
static struct cel_expr *parse_primary_refuse(struct parser *p)
{
	bool inner = parser_peek(p, 0) == TOKEN_MINUS;

	parser_no_way(p, SITE_PRIMARY, inner || parser_peek(p, 0) == TOKEN_DOT);
	if (inner)
		parser_push(p, TOKENS_END);
	parser_fail(p);
	if (inner)
		parser_pop(p);
	return parser_nothing(p);
}

static struct cel_expr *parse_alternative(struct parser *p)
{
	size_t dot = parser_peek(p, 0) == TOKEN_DOT;

	if (parser_peek(p, dot) == TOKEN_IDENT)
		return parse_name(p);
	if (at_literal(p))
		return parse_literal(p);
	switch (parser_peek(p, 0)) {
	case TOKEN_LPAREN:
		return parse_nested(p);
	case TOKEN_LBRACKET:
		return parse_aggregate(p, CEL_EXPR_LIST, &list_braces, STR_NULL);
	case TOKEN_LBRACE:
		return parse_aggregate(p, CEL_EXPR_MAP, &map_braces, STR_NULL);
	default:
		return parse_primary_refuse(p);
	}
}

struct cel_expr *parse_primary(struct parser *p, uint64_t follow)
{
	struct cel_expr *e;

	parser_push(p, follow);
	p->visits = 0;
	if (parser_sync(p, SITE_PRIMARY, TOKENS_MEMBER)) {
		e = parse_alternative(p);
	} else {
		parser_fail(p);
		e = parser_nothing(p);
	}
	parser_pop(p);
	return e;
}
