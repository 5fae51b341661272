/*
 * Label selectors: upstream's grammar, with a lexer that looks one token ahead. "in" and "notin"
 * are operators only after a key; everywhere else they are names. Keys and values are checked like
 * upstream's requirements, and errors are reported as field errors.
 */
#include "api/selector/selector.h"

#include "api/api_limits.h"
#include "api/schema/names.h"
#include "base/core/limits.h"
#include "base/core/vec.h"
#include "base/report/field_errors.h"

enum token {
	TOKEN_END,
	TOKEN_NAME,
	TOKEN_COMMA,
	TOKEN_OPEN,
	TOKEN_CLOSE,
	TOKEN_NOT,
	TOKEN_EQUALS,
	TOKEN_DOUBLE_EQUALS,
	TOKEN_NOT_EQUALS,
	TOKEN_GREATER,
	TOKEN_LESS,
};

struct labels_parser {
	struct arena *arena;
	struct str rest; /* text after the current token */
	enum token token;
	struct str text; /* of the current token */
	struct error *err;
	VEC(struct selector_term) terms;
	VEC(struct str) values; /* of the current term */
	size_t nvalues; /* of all terms */
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool is_symbol(char c)
{
	return c && strchr("=!(),><", c);
}

static const struct {
	struct str text;
	enum token token;
} symbols[] = {
	/* Longer ones come first. */
	{ { "==", 2 }, TOKEN_DOUBLE_EQUALS }, { { "!=", 2 }, TOKEN_NOT_EQUALS },
	{ { "=", 1 }, TOKEN_EQUALS },         { { "!", 1 }, TOKEN_NOT },
	{ { "(", 1 }, TOKEN_OPEN },           { { ")", 1 }, TOKEN_CLOSE },
	{ { ",", 1 }, TOKEN_COMMA },          { { ">", 1 }, TOKEN_GREATER },
	{ { "<", 1 }, TOKEN_LESS },
};

static void labels_take(struct labels_parser *p, enum token token, size_t n)
{
	p->token = token;
	p->text = str_of(p->rest.p, n);
	p->rest = str_skip(p->rest, n);
}

/* Moves to the next token. */
static void advance(struct labels_parser *p)
{
	size_t n = 0;

	while (p->rest.n && is_blank(p->rest.p[0]))
		p->rest = str_skip(p->rest, 1);
	if (p->rest.n == 0) {
		labels_take(p, TOKEN_END, 0);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(symbols); i++) {
		if (str_starts(p->rest, symbols[i].text)) {
			labels_take(p, symbols[i].token, symbols[i].text.n);
			return;
		}
	}
	while (n < p->rest.n && !is_symbol(p->rest.p[n]) && !is_blank(p->rest.p[n]))
		n++;
	labels_take(p, TOKEN_NAME, n);
}

static int labels_refuse(struct labels_parser *p, const char *expected)
{
	return error_set(p->err, ERR_BAD_REQUEST, "found '%.*s', expected: %s", STR_ARG(p->text),
			 expected);
}

/* Reports all faults of the text as one error. */
static void check_format(struct field_errors *errs, enum schema_format format, struct str text,
			 const struct field_path *path)
{
	CLEANUP(buf_release) struct buf detail = BUF_INIT(4 * KIB);
	struct names_faults faults;

	names_find_faults(format, text, &faults);
	if (faults.n == 0)
		return;
	for (size_t i = 0; i < faults.n; i++)
		(void)buf_printf(&detail, "%s%s", i ? "; " : "", faults.text[i]);
	field_errors_add(errs, FIELD_INVALID, path, FIELD_STR(text), buf_str(&detail));
}

/* Returns 0, or an error with all faults as its message. */
static int faults_to_error(const struct field_errors *errs, struct error *err)
{
	CLEANUP(buf_release) struct buf b = BUF_INIT(64 * KIB);

	if (!field_errors_any(errs))
		return 0;
	(void)field_errors_aggregate(errs, &b);
	return error_set(err, ERR_BAD_REQUEST, "%.*s", (int)b.n, b.p);
}

static int labels_check_key(struct labels_parser *p, struct str key)
{
	struct field_errors errs;

	field_errors_init(&errs, p->arena);
	check_format(&errs, SCHEMA_FORMAT_LABEL_KEY, key, NULL);
	return faults_to_error(&errs, p->err);
}

static int check_values(struct labels_parser *p, const struct selector_term *t)
{
	bool numbers = t->op == SELECTOR_GREATER || t->op == SELECTOR_LESS;
	struct field_path values = field_path_name(NULL, "values");
	struct field_errors errs;
	int64_t number;

	field_errors_init(&errs, p->arena);
	for (size_t i = 0; i < p->values.n; i++) {
		struct field_path at = field_path_index(&values, i);
		struct field_path of_key = field_path_key(&at, t->key);

		if (numbers && !str_to_i64(p->values.v[i], &number))
			field_errors_invalid(
				&errs, &at, FIELD_STR(p->values.v[i]),
				"for 'Gt', 'Lt' operators, the value must be an integer");
		check_format(&errs, SCHEMA_FORMAT_LABEL_VALUE, p->values.v[i], &of_key);
	}
	return faults_to_error(&errs, p->err);
}

static int labels_add_value(struct labels_parser *p, struct str value)
{
	if (p->nvalues++ == SELECTOR_VALUES_MAX)
		return error_set(p->err, ERR_BAD_REQUEST, "a selector may have at most %d values",
				 SELECTOR_VALUES_MAX);
	(void)vec_push(&p->values, value);
	return 0;
}

/* Parses the list between the parentheses; an empty place is an empty value. */
static int parse_list(struct labels_parser *p)
{
	bool expected = true; /* a value may come here */
	int r = 0;

	if (p->token != TOKEN_NAME && p->token != TOKEN_COMMA && p->token != TOKEN_CLOSE)
		return labels_refuse(p, "',', ')' or identifier");
	for (; r == 0; advance(p)) {
		if (p->token == TOKEN_NAME && expected) {
			r = labels_add_value(p, p->text);
			expected = false;
			continue;
		}
		if (p->token != TOKEN_COMMA && p->token != TOKEN_CLOSE)
			return labels_refuse(p, expected ? "',', or identifier" : "',' or ')'");
		if (expected)
			r = labels_add_value(p, STR(""));
		expected = true;
		if (p->token == TOKEN_CLOSE)
			break;
	}
	advance(p);
	return r;
}

static int parse_values(struct labels_parser *p, enum selector_op op)
{
	bool set = op == SELECTOR_IN || op == SELECTOR_NOT_IN;
	struct str value;

	if (set && p->token != TOKEN_OPEN)
		return error_set(p->err, ERR_BAD_REQUEST, "found '%.*s' expected: '('",
				 STR_ARG(p->text));
	if (set) {
		advance(p);
		return parse_list(p);
	}
	if (p->token == TOKEN_END || p->token == TOKEN_COMMA)
		return labels_add_value(p, STR(""));
	if (p->token != TOKEN_NAME)
		return labels_refuse(p, "identifier");
	value = p->text;
	advance(p);
	return labels_add_value(p, value);
}

static int parse_operator(struct labels_parser *p, enum selector_op *ret_op)
{
	switch (p->token) {
	case TOKEN_EQUALS:
	case TOKEN_DOUBLE_EQUALS:
		*ret_op = SELECTOR_EQUALS;
		break;
	case TOKEN_NOT_EQUALS:
		*ret_op = SELECTOR_NOT_EQUALS;
		break;
	case TOKEN_GREATER:
		*ret_op = SELECTOR_GREATER;
		break;
	case TOKEN_LESS:
		*ret_op = SELECTOR_LESS;
		break;
	default:
		if (p->token == TOKEN_NAME && str_eqz(p->text, "in"))
			*ret_op = SELECTOR_IN;
		else if (p->token == TOKEN_NAME && str_eqz(p->text, "notin"))
			*ret_op = SELECTOR_NOT_IN;
		else
			return labels_refuse(p, "in, notin, =, ==, !=, gt, lt");
	}
	advance(p);
	return 0;
}

/* Parses operator and values, after the key. */
static int parse_condition(struct labels_parser *p, struct selector_term *t)
{
	struct str *values;
	int r;

	p->values.n = 0;
	r = parse_operator(p, &t->op);
	if (r == 0)
		r = parse_values(p, t->op);
	if (r == 0)
		r = check_values(p, t);
	if (r < 0)
		return r;
	values = ARENA_ARRAY(p->arena, struct str, p->values.n);
	memcpy(values, p->values.v, p->values.n * sizeof(*values));
	t->values = values;
	t->nvalues = p->values.n;
	return 0;
}

static int parse_requirement(struct labels_parser *p)
{
	struct selector_term t = { .op = SELECTOR_EXISTS };
	bool negated = p->token == TOKEN_NOT;
	int r;

	if (negated)
		advance(p);
	if (p->token != TOKEN_NAME)
		return labels_refuse(p, "identifier");
	t.key = p->text;
	r = labels_check_key(p, t.key);
	if (r < 0)
		return r;
	advance(p);
	if (negated)
		t.op = SELECTOR_NOT_EXISTS;
	else if (p->token != TOKEN_END && p->token != TOKEN_COMMA)
		r = parse_condition(p, &t);
	if (r < 0)
		return r;
	if (!vec_push(&p->terms, t))
		return error_set(p->err, ERR_BAD_REQUEST,
				 "a selector may have at most %d requirements", SELECTOR_TERMS_MAX);
	return 0;
}

static bool begins_requirement(const struct labels_parser *p)
{
	return p->token == TOKEN_NAME || p->token == TOKEN_NOT;
}

static int parse_all(struct labels_parser *p)
{
	int r;

	advance(p);
	if (p->token == TOKEN_END)
		return 0;
	if (!begins_requirement(p))
		return labels_refuse(p, "!, identifier, or 'end of string'");
	for (;;) {
		r = parse_requirement(p);
		if (r < 0)
			return error_wrap(p->err, r, "unable to parse requirement");
		if (p->token == TOKEN_END)
			return 0;
		if (p->token != TOKEN_COMMA)
			return labels_refuse(p, "',' or 'end of string'");
		advance(p);
		if (!begins_requirement(p))
			return labels_refuse(p, "identifier after ','");
	}
}

int selector_parse_labels(struct arena *a, struct str text, struct selector *ret_selector,
			  struct error *err)
{
	struct labels_parser p = { .arena = a, .rest = arena_str(a, text), .err = err };
	struct selector_term *terms;
	int r;

	vec_init(&p.terms, SELECTOR_TERMS_MAX);
	vec_init(&p.values, SELECTOR_VALUES_MAX);
	r = parse_all(&p);
	if (r == 0) {
		terms = ARENA_ARRAY(a, struct selector_term, p.terms.n);
		if (p.terms.n)
			memcpy(terms, p.terms.v, p.terms.n * sizeof(*terms));
		*ret_selector = (struct selector){ terms, p.terms.n };
	}
	vec_release(&p.terms);
	vec_release(&p.values);
	return r;
}
