/*
 * Parses operators, members and calls, from the lowest to the highest precedence; parse_primary.c
 * has primary expressions. Chains of one operator are loops, so only nesting recurses, bounded by
 * CEL_DEPTH_MAX. Chains of && and || become balanced trees, since they may be long and their order
 * does not matter.
 */
#include "cel/parse/parse.h"

#include "cel/cel_limits.h"
#include "cel/parse/parse_impl.h"

#define TOKENS_RELATION                                                                            \
	(TOKENS(TOKEN_EQUALS) | TOKENS(TOKEN_NOT_EQUALS) | TOKENS(TOKEN_IN) | TOKENS(TOKEN_LESS) | \
	 TOKENS(TOKEN_LESS_EQUALS) | TOKENS(TOKEN_GREATER_EQUALS) | TOKENS(TOKEN_GREATER))
#define TOKENS_PRODUCT (TOKENS(TOKEN_STAR) | TOKENS(TOKEN_SLASH) | TOKENS(TOKEN_PERCENT))
#define TOKENS_SUM     (TOKENS(TOKEN_PLUS) | TOKENS(TOKEN_MINUS))

static const char *const functions[TOKEN_KINDS] = {
	[TOKEN_EQUALS] = CEL_OP_EQUALS,
	[TOKEN_NOT_EQUALS] = CEL_OP_NOT_EQUALS,
	[TOKEN_IN] = CEL_OP_IN,
	[TOKEN_LESS] = CEL_OP_LESS,
	[TOKEN_LESS_EQUALS] = CEL_OP_LESS_EQUALS,
	[TOKEN_GREATER_EQUALS] = CEL_OP_GREATER_EQUALS,
	[TOKEN_GREATER] = CEL_OP_GREATER,
	[TOKEN_AND] = CEL_OP_AND,
	[TOKEN_OR] = CEL_OP_OR,
	[TOKEN_PLUS] = CEL_OP_ADD,
	[TOKEN_MINUS] = CEL_OP_SUBTRACT,
	[TOKEN_STAR] = CEL_OP_MULTIPLY,
	[TOKEN_SLASH] = CEL_OP_DIVIDE,
	[TOKEN_PERCENT] = CEL_OP_MODULO,
};

struct cel_expr *parser_nothing(struct parser *p)
{
	p->x.offset = parser_token(p)->offset;
	return cel_make_constant(&p->x, CEL_STRING_V(STR_NULL));
}

struct cel_expr *parser_issue(struct parser *p, uint32_t offset, const char *fmt, ...)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(2 * CEL_TEXT_MAX);
	va_list ap;

	va_start(ap, fmt);
	(void)buf_vprintf(&b, fmt, ap);
	va_end(ap);
	if (!p->dead)
		cel_issue_add(p->x.issues, offset, "%.*s", STR_ARG(buf_str(&b)));
	p->x.offset = offset;
	return cel_make_constant(&p->x, CEL_NOTHING);
}

/* Enters a rule that recurses. */
static void parse_enter(struct parser *p, uint32_t *depth, uint64_t follow)
{
	parser_push(p, follow);
	if (++*depth > CEL_DEPTH_MAX)
		parser_die(p, "expression recursion limit exceeded: %d", CEL_DEPTH_MAX);
}

static void parse_leave(struct parser *p, uint32_t *depth)
{
	--*depth;
	parser_pop(p);
}

static struct cel_expr *binary(struct parser *p, const struct cel_token *op, struct cel_expr *left,
			       struct cel_expr *right)
{
	p->x.offset = op->offset;
	return cel_make_call2(&p->x, functions[op->kind], left, right);
}

/* --- members -------------------------------------------------------------------------- */

void parsed_list_add(struct parser *p, struct parsed_list *list, struct cel_expr *e)
{
	list->max = CEL_TEXT_MAX;
	(void)vec_push(list, e);
	list->visits = MAX(list->visits, p->visits);
}

static void parse_arg_list(struct parser *p, struct parsed_list *args)
{
	static const uint64_t follow = TOKENS(TOKEN_COMMA) | TOKENS_END;

	parser_push(p, TOKENS(TOKEN_RPAREN));
	parsed_list_add(p, args, parse_expr(p, follow));
	while (parser_peek(p, 0) == TOKEN_COMMA) {
		(void)parser_take(p);
		parsed_list_add(p, args, parse_expr(p, follow));
	}
	parser_pop(p);
}

bool parse_args(struct parser *p, enum parse_site site, uint64_t after,
		struct parsed_list *ret_args)
{
	bool ok = parser_sync(p, site, TOKENS_EXPR | TOKENS(TOKEN_RPAREN));

	if (ok && parser_at(p, TOKENS_EXPR))
		parse_arg_list(p, ret_args);
	ok = ok && parser_match(p, site + 1, TOKEN_RPAREN, after);
	if (!ok)
		parser_fail(p);
	return ok;
}

struct cel_expr *parser_call(struct parser *p, uint32_t offset, struct str name,
			     struct cel_expr *receiver, struct parsed_list *args)
{
	const struct cel_macro *macro = cel_macro_find(p->env, name, receiver, args->n);
	size_t issues = p->x.issues->n;
	struct cel_expr *e = NULL;

	p->x.offset = offset;
	if (macro)
		e = macro->expand(&p->x, offset, receiver, args->v, args->n);
	if (!e && p->x.issues->n > issues) {
		p->x.offset = (uint32_t)p->x.issues->last->offset;
		e = cel_make_constant(&p->x, CEL_NOTHING);
	} else if (!e) {
		e = cel_make_call(&p->x, name, receiver, args->v, args->n);
	}
	vec_release(args);
	return e;
}

static struct cel_expr *parse_member_call(struct parser *p, struct cel_expr *receiver, bool *ret_ok)
{
	struct parsed_list args = { .visits = p->visits };
	struct str name;
	uint32_t offset;

	(void)parser_take(p); /* the dot */
	name = parser_text(p, parser_take(p));
	offset = parser_take(p)->offset;
	*ret_ok = parse_args(p, SITE_CALL_ARGS, TOKENS_MEMBER_MORE, &args);
	p->visits = args.visits + 1;
	return parser_call(p, offset, name, receiver, &args);
}

struct str parse_field_name(struct parser *p, uint64_t follow)
{
	static const uint64_t names = TOKENS(TOKEN_IDENT) | TOKENS(TOKEN_QUOTED_IDENT);
	struct str name = STR_NULL;
	bool ok;

	parser_push(p, follow);
	ok = parser_sync(p, SITE_FIELD_NAME, names);
	if (ok && parser_peek(p, 0) == TOKEN_IDENT) {
		name = parser_text(p, parser_take(p));
	} else if (ok && parser_peek(p, 0) == TOKEN_QUOTED_IDENT) {
		name = parser_text(p, parser_take(p));
		name = str_of(name.p + 1, name.n - 2);
	} else {
		if (ok)
			parser_no_way(p, SITE_FIELD_NAME, 0);
		parser_fail(p);
	}
	parser_pop(p);
	return name;
}

static struct cel_expr *parse_select(struct parser *p, struct cel_expr *operand)
{
	uint32_t dot = parser_take(p)->offset, place;
	bool optional = parser_peek(p, 0) == TOKEN_QUESTION;
	struct cel_expr *field;
	struct str name;

	if (optional)
		(void)parser_take(p);
	place = parser_token(p)->offset;
	name = parse_field_name(p, TOKENS_MEMBER_MORE);
	if (name.n == 0)
		return parser_issue(p, place, "unsupported ident kind");
	p->visits++;
	p->x.offset = dot;
	if (!optional)
		return cel_make_select(&p->x, operand, name, false);
	if (!p->optional_syntax)
		return parser_issue(p, dot, "unsupported syntax '.?'");
	p->x.offset = place;
	field = cel_make_constant(&p->x, CEL_STRING_V(name));
	p->x.offset = dot;
	return cel_make_call2(&p->x, CEL_OP_OPT_SELECT, operand, field);
}

static struct cel_expr *parse_index(struct parser *p, struct cel_expr *operand, bool *ret_ok)
{
	uint32_t offset = parser_take(p)->offset, visits = p->visits;
	bool ok = parser_sync(p, SITE_INDEX_MARK, TOKENS_EXPR | TOKENS(TOKEN_QUESTION));
	bool optional = ok && parser_peek(p, 0) == TOKEN_QUESTION;
	struct cel_expr *index;

	if (optional)
		(void)parser_take(p);
	index = ok ? parse_expr(p, TOKENS(TOKEN_RBRACKET)) : parser_nothing(p);
	p->visits = MAX(p->visits, visits) + 1;
	*ret_ok = ok && parser_match(p, SITE_INDEX_END, TOKEN_RBRACKET, TOKENS_MEMBER_MORE);
	if (!*ret_ok)
		parser_fail(p);
	if (optional && !p->optional_syntax)
		return parser_issue(p, offset, "unsupported syntax '[?'");
	p->x.offset = offset;
	return cel_make_call2(&p->x, optional ? CEL_OP_OPT_INDEX : CEL_OP_INDEX, operand, index);
}

static struct cel_expr *parse_member(struct parser *p)
{
	enum cel_token_kind next;
	struct cel_expr *e;
	bool ok = true;

	parser_push(p, TOKENS_END);
	e = parse_primary(p, TOKENS_MEMBER_MORE);
	while (ok && parser_at(p, TOKENS(TOKEN_DOT) | TOKENS(TOKEN_LBRACKET))) {
		next = parser_peek(p, 1);
		if (parser_peek(p, 0) == TOKEN_LBRACKET) {
			e = parse_index(p, e, &ok);
		} else if (next == TOKEN_IDENT && parser_peek(p, 2) == TOKEN_LPAREN) {
			e = parse_member_call(p, e, &ok);
		} else if (TOKENS_FIELD & TOKENS(next)) {
			e = parse_select(p, e);
		} else {
			parser_no_way(p, SITE_MEMBER, 1);
			parser_fail(p);
			ok = false;
		}
	}
	parser_pop(p);
	return e;
}

/* --- operators ------------------------------------------------------------------------ */

/* Repeated signs; an even count means nothing. */
static struct cel_expr *parse_not(struct parser *p)
{
	uint32_t offset = parser_token(p)->offset;
	struct cel_expr *e;
	bool odd = false;

	while (parser_peek(p, 0) == TOKEN_NOT) {
		(void)parser_take(p);
		odd = !odd;
		parser_sync_loop(p, TOKENS_EXPR);
	}
	e = parse_member(p);
	p->x.offset = offset;
	return odd ? cel_make_call1(&p->x, CEL_OP_NOT, e) : e;
}

static struct cel_expr *parse_negate(struct parser *p)
{
	uint32_t offset = parser_token(p)->offset;
	struct cel_expr *e;
	bool odd = false;

	while (parser_peek(p, 0) == TOKEN_MINUS && (TOKENS_MEMBER & TOKENS(parser_peek(p, 1)))) {
		(void)parser_take(p);
		odd = !odd;
		parser_sync_loop(p, TOKENS_MEMBER);
	}
	if (parser_peek(p, 0) == TOKEN_MINUS || !parser_at(p, TOKENS_MEMBER)) {
		parser_no_way(p, SITE_NEGATE, parser_peek(p, 0) == TOKEN_MINUS);
		parser_fail(p);
		return parser_nothing(p);
	}
	e = parse_member(p);
	p->x.offset = offset;
	return odd ? cel_make_call1(&p->x, CEL_OP_NEGATE, e) : e;
}

/* A minus before a number is part of it, unless there are several. */
static bool at_negation(const struct parser *p)
{
	return parser_peek(p, 0) == TOKEN_MINUS && parser_peek(p, 1) != TOKEN_INT &&
	       parser_peek(p, 1) != TOKEN_FLOAT;
}

static struct cel_expr *parse_unary(struct parser *p, uint64_t follow)
{
	struct cel_expr *e = NULL;
	bool ok;

	parser_push(p, follow);
	p->visits = 0;
	ok = parser_sync(p, SITE_UNARY, TOKENS_EXPR);
	if (ok && parser_peek(p, 0) == TOKEN_NOT)
		e = parse_not(p);
	else if (ok && at_negation(p) && (TOKENS_MEMBER & TOKENS(parser_peek(p, 1))))
		e = parse_negate(p);
	else if (ok && !at_negation(p) && parser_at(p, TOKENS_MEMBER))
		e = parse_member(p);
	else if (ok)
		parser_no_way(p, SITE_UNARY, at_negation(p));
	if (!e) {
		parser_fail(p);
		e = parser_nothing(p);
	}
	parser_pop(p);
	return e;
}

/* Sums from precedence 1 on, products from 2 on. */
static struct cel_expr *parse_calc(struct parser *p, unsigned precedence, uint64_t follow)
{
	static const uint64_t operators = TOKENS_PRODUCT | TOKENS_SUM | TOKENS_END;
	const struct cel_token *op;
	struct cel_expr *e, *right;
	uint32_t visits;

	parse_enter(p, &p->calcs, follow);
	e = parse_unary(p, operators);
	while (parser_at(p, precedence > 2   ? 0
			    : precedence > 1 ? TOKENS_PRODUCT
					     : TOKENS_PRODUCT | TOKENS_SUM)) {
		visits = p->visits;
		op = parser_take(p);
		right = parse_calc(p, TOKENS_SUM & TOKENS(op->kind) ? 2 : 3, operators);
		p->visits = MAX(visits, p->visits) + 1;
		e = binary(p, op, e, right);
	}
	parse_leave(p, &p->calcs);
	return e;
}

static struct cel_expr *parse_relation(struct parser *p, bool whole, uint64_t follow)
{
	static const uint64_t operators = TOKENS_RELATION | TOKENS_END;
	const struct cel_token *op;
	struct cel_expr *e, *right;
	uint32_t visits;

	parse_enter(p, &p->relations, follow);
	e = parse_calc(p, 0, operators);
	while (whole && parser_at(p, TOKENS_RELATION)) {
		visits = p->visits;
		op = parser_take(p);
		right = parse_relation(p, false, operators);
		p->visits = MAX(visits, p->visits) + 1;
		e = binary(p, op, e, right);
	}
	parse_leave(p, &p->relations);
	return e;
}

/* A chain of && or ||: its terms, and between them the operators. */
struct chain {
	struct parsed_list terms;
	VEC(const struct cel_token *) ops;
};

/* Operators lo to hi of the chain; depth is the logarithm of their count. */
static struct cel_expr *balance(struct parser *p, const struct chain *chain, size_t lo, size_t hi)
{
	size_t mid = (lo + hi + 1) / 2;
	struct cel_expr *left, *right;

	left = mid == lo ? chain->terms.v[mid] : balance(p, chain, lo, mid - 1);
	right = mid == hi ? chain->terms.v[mid + 1] : balance(p, chain, mid + 1, hi);
	return binary(p, chain->ops.v[mid], left, right);
}

static struct cel_expr *parse_and(struct parser *p, uint64_t follow);

static struct cel_expr *parse_term(struct parser *p, enum cel_token_kind kind)
{
	uint64_t follow = TOKENS(kind) | TOKENS_END;

	return kind == TOKEN_OR ? parse_and(p, follow) : parse_relation(p, true, follow);
}

static struct cel_expr *parse_chain(struct parser *p, enum cel_token_kind kind, uint64_t follow)
{
	struct chain chain = { 0 };
	struct cel_expr *e;

	parser_push(p, follow);
	e = parse_term(p, kind);
	if (parser_peek(p, 0) == kind) {
		vec_init(&chain.ops, CEL_TEXT_MAX);
		parsed_list_add(p, &chain.terms, e);
		while (parser_peek(p, 0) == kind) {
			(void)vec_push(&chain.ops, parser_take(p));
			parsed_list_add(p, &chain.terms, parse_term(p, kind));
		}
		e = balance(p, &chain, 0, chain.ops.n - 1);
		p->visits = chain.terms.visits;
		vec_release(&chain.terms);
		vec_release(&chain.ops);
	}
	parser_pop(p);
	return e;
}

static struct cel_expr *parse_and(struct parser *p, uint64_t follow)
{
	return parse_chain(p, TOKEN_AND, follow);
}

static struct cel_expr *parse_or(struct parser *p, uint64_t follow)
{
	return parse_chain(p, TOKEN_OR, follow);
}

static struct cel_expr *parse_conditional(struct parser *p, struct cel_expr *condition)
{
	uint32_t visits = p->visits, offset = parser_take(p)->offset;
	struct cel_expr *yes, *no;

	yes = parse_or(p, TOKENS(TOKEN_COLON));
	visits = MAX(visits, p->visits);
	if (parser_match(p, SITE_COLON, TOKEN_COLON, TOKENS_EXPR)) {
		no = parse_expr(p, TOKENS_END);
	} else {
		parser_fail(p);
		no = parser_nothing(p);
	}
	p->visits = MAX(visits, p->visits) + 1;
	p->x.offset = offset;
	return cel_make_call3(&p->x, CEL_OP_CONDITIONAL, condition, yes, no);
}

struct cel_expr *parse_expr(struct parser *p, uint64_t follow)
{
	struct cel_expr *e;

	parse_enter(p, &p->exprs, follow);
	e = parse_or(p, TOKENS(TOKEN_QUESTION) | TOKENS_END);
	if (parser_peek(p, 0) == TOKEN_QUESTION)
		e = parse_conditional(p, e);
	parse_leave(p, &p->exprs);
	return e;
}

/* --- the whole ------------------------------------------------------------------------ */

static bool has_optionals(const struct cel_env *env)
{
	for (const struct cel_library *const *lib = env->libraries; lib && *lib; lib++)
		if ((*lib)->macros == cel_macros_optional)
			return true;
	return false;
}

static struct cel_expr *parse_start(struct parser *p)
{
	struct cel_expr *e = parse_expr(p, TOKENS(TOKEN_EOF));

	if (!parser_match(p, SITE_START, TOKEN_EOF, 0))
		parser_fail(p);
	if (p->visits > CEL_DEPTH_MAX)
		parser_die(p, "max recursion depth exceeded");
	else if (cel_expr_height(e) > CEL_HEIGHT_MAX)
		parser_die(p, "expression recursion limit exceeded: %d", CEL_HEIGHT_MAX);
	return e;
}

struct cel_expr *cel_parse(const struct cel_env *env, struct cel_issues *issues)
{
	struct parser p = { .env = env,
			    .x = { .env = env, .issues = issues },
			    .failed_at = SIZE_MAX };
	size_t n = str_characters(issues->text), before = issues->n;
	struct cel_expr *e;

	if (!str_is_utf8(issues->text)) {
		cel_issue_add(issues, SIZE_MAX, "expression is not valid UTF-8");
		return NULL;
	}
	if (n > CEL_TEXT_MAX) {
		cel_issue_add(issues, SIZE_MAX,
			      "expression code point size exceeds limit: size: %zu, limit %d", n,
			      CEL_TEXT_MAX);
		return NULL;
	}
	p.optional_syntax = has_optionals(env);
	cel_lex(issues, &p.tokens);
	p.reports = issues->n - before;
	vec_init(&p.follow, SIZE_MAX);
	e = parse_start(&p);
	cel_tokens_release(&p.tokens);
	vec_release(&p.follow);
	return issues->n > before ? NULL : e;
}
