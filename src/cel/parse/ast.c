/*
 * A tree as text, for debugging and for tests that print and parse again. Operators are written
 * in parentheses, so that no precedence is needed. Recursion is as deep as the tree, which
 * CEL_HEIGHT_MAX bounds.
 */
#include "cel/parse/ast.h"

#include "base/text/number.h"

static const struct {
	const char *function, *text;
} operators[] = {
	{ CEL_OP_AND, "&&" },     { CEL_OP_OR, "||" },
	{ CEL_OP_EQUALS, "==" },  { CEL_OP_NOT_EQUALS, "!=" },
	{ CEL_OP_LESS, "<" },     { CEL_OP_LESS_EQUALS, "<=" },
	{ CEL_OP_GREATER, ">" },  { CEL_OP_GREATER_EQUALS, ">=" },
	{ CEL_OP_ADD, "+" },      { CEL_OP_SUBTRACT, "-" },
	{ CEL_OP_MULTIPLY, "*" }, { CEL_OP_DIVIDE, "/" },
	{ CEL_OP_MODULO, "%" },   { CEL_OP_IN, "in" },
};

static const char *binary_operator(const struct cel_expr *e)
{
	for (size_t i = 0; e->n == 2 && !e->member && i < ARRAY_SIZE(operators); i++)
		if (str_eqz(e->name, operators[i].function))
			return operators[i].text;
	return NULL;
}

static bool is_function(const struct cel_expr *e, const char *function, uint32_t n)
{
	return !e->member && e->n == n && str_eqz(e->name, function);
}

static void ast_print_text(struct str s, bool bytes, struct buf *out)
{
	(void)buf_addz(out, bytes ? "b\"" : "\"");
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];

		if (c == '"' || c == '\\')
			(void)buf_printf(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f || (bytes && c >= 0x80))
			(void)buf_printf(out, "\\x%02x", c);
		else
			(void)buf_addc(out, (char)c);
	}
	(void)buf_addc(out, '"');
}

static void print_double(double v, struct buf *out)
{
	char text[JSON_NUMBER_MAX];
	size_t n = json_number_print(v, text);

	(void)buf_add(out, text, n);
	if (!memchr(text, '.', n) && !memchr(text, 'e', n))
		(void)buf_addz(out, ".0");
}

static void print_constant(const struct cel_value *v, struct buf *out)
{
	switch (v->kind) {
	case CEL_NULL:
		(void)buf_addz(out, "null");
		break;
	case CEL_BOOL:
		(void)buf_addz(out, v->b ? "true" : "false");
		break;
	case CEL_INT:
		(void)buf_add_i64(out, v->i);
		break;
	case CEL_UINT:
		(void)buf_add_u64(out, v->u);
		(void)buf_addc(out, 'u');
		break;
	case CEL_DOUBLE:
		print_double(v->d, out);
		break;
	case CEL_STRING:
	case CEL_BYTES:
		ast_print_text(v->s, v->kind == CEL_BYTES, out);
		break;
	case CEL_TYPE: /* a name that the checker has resolved */
		(void)buf_add_str(out, v->type->name);
		break;
	default:
		(void)buf_addz(out, "@error");
		break;
	}
}

/* Prints a field, in back-quotes if it is not an identifier. */
static void print_field(struct str name, struct buf *out)
{
	bool plain = name.n > 0 && !str_eqz(name, "in") && !str_eqz(name, "true") &&
		     !str_eqz(name, "false") && !str_eqz(name, "null") &&
		     (name.p[0] < '0' || name.p[0] > '9');

	for (size_t i = 0; i < name.n; i++)
		if (name.p[i] != '\0' && strchr(".-/ ", name.p[i]))
			plain = false;
	(void)buf_printf(out, plain ? "%.*s" : "`%.*s`", STR_ARG(name));
}

/* Prints the operand before a dot or a bracket. */
static void print_operand(const struct cel_expr *e, struct buf *out)
{
	bool parens = e->kind == CEL_EXPR_CONST || is_function(e, CEL_OP_NOT, 1) ||
		      is_function(e, CEL_OP_NEGATE, 1);

	if (parens)
		(void)buf_addc(out, '(');
	cel_expr_print(e, out);
	if (parens)
		(void)buf_addc(out, ')');
}

static void print_list(struct cel_expr *const *v, uint32_t n, const bool *optionals,
		       struct buf *out)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i > 0)
			(void)buf_addz(out, ", ");
		if (optionals && optionals[i])
			(void)buf_addc(out, '?');
		cel_expr_print(v[i], out);
	}
}

static void print_plain_call(const struct cel_expr *e, struct buf *out)
{
	uint32_t receiver = e->member ? 1 : 0;

	if (e->member) {
		print_operand(e->children[0], out);
		(void)buf_addc(out, '.');
	}
	(void)buf_add_str(out, e->name);
	(void)buf_addc(out, '(');
	if (e->n > receiver)
		print_list(e->children + receiver, e->n - receiver, NULL, out);
	(void)buf_addc(out, ')');
}

/* a[b], a[?b] and a.?b */
static void print_access(const struct cel_expr *e, struct buf *out)
{
	print_operand(e->children[0], out);
	if (is_function(e, CEL_OP_OPT_SELECT, 2) && e->children[1]->kind == CEL_EXPR_CONST) {
		(void)buf_addz(out, ".?");
		print_field(e->children[1]->constant.s, out);
		return;
	}
	(void)buf_addz(out, is_function(e, CEL_OP_INDEX, 2) ? "[" : "[?");
	cel_expr_print(e->children[1], out);
	(void)buf_addc(out, ']');
}

static void print_conditional(const struct cel_expr *e, struct buf *out)
{
	(void)buf_addc(out, '(');
	cel_expr_print(e->children[0], out);
	(void)buf_addz(out, " ? ");
	cel_expr_print(e->children[1], out);
	(void)buf_addz(out, " : ");
	cel_expr_print(e->children[2], out);
	(void)buf_addc(out, ')');
}

static void print_call(const struct cel_expr *e, struct buf *out)
{
	const char *symbol = binary_operator(e);

	if (symbol) {
		(void)buf_addc(out, '(');
		cel_expr_print(e->children[0], out);
		(void)buf_printf(out, " %s ", symbol);
		cel_expr_print(e->children[1], out);
		(void)buf_addc(out, ')');
	} else if (is_function(e, CEL_OP_NOT, 1) || is_function(e, CEL_OP_NEGATE, 1)) {
		(void)buf_printf(out, "%c(", e->name.p[0]);
		cel_expr_print(e->children[0], out);
		(void)buf_addc(out, ')');
	} else if (is_function(e, CEL_OP_CONDITIONAL, 3)) {
		print_conditional(e, out);
	} else if (is_function(e, CEL_OP_INDEX, 2) || is_function(e, CEL_OP_OPT_INDEX, 2) ||
		   is_function(e, CEL_OP_OPT_SELECT, 2)) {
		print_access(e, out);
	} else {
		print_plain_call(e, out);
	}
}

static void print_map(const struct cel_expr *e, struct buf *out)
{
	(void)buf_addc(out, '{');
	for (uint32_t i = 0; i + 1 < e->n; i += 2) {
		if (i > 0)
			(void)buf_addz(out, ", ");
		if (e->optionals && e->optionals[i / 2])
			(void)buf_addc(out, '?');
		cel_expr_print(e->children[i], out);
		(void)buf_addz(out, ": ");
		cel_expr_print(e->children[i + 1], out);
	}
	(void)buf_addc(out, '}');
}

static void print_struct(const struct cel_expr *e, struct buf *out)
{
	(void)buf_add_str(out, e->name);
	(void)buf_addc(out, '{');
	for (uint32_t i = 0; i < e->n; i++) {
		if (i > 0)
			(void)buf_addz(out, ", ");
		if (e->optionals && e->optionals[i])
			(void)buf_addc(out, '?');
		print_field(e->fields[i], out);
		(void)buf_addz(out, ": ");
		cel_expr_print(e->children[i], out);
	}
	(void)buf_addc(out, '}');
}

static void print_fold(const struct cel_fold *f, struct buf *out)
{
	struct cel_expr *const parts[] = { f->range, f->init, f->condition, f->step, f->result };

	(void)buf_printf(out, "@fold(%.*s, ", STR_ARG(f->var));
	if (f->var2.n > 0)
		(void)buf_printf(out, "%.*s, ", STR_ARG(f->var2));
	(void)buf_printf(out, "%.*s, ", STR_ARG(f->accu));
	print_list(parts, ARRAY_SIZE(parts), NULL, out);
	(void)buf_addc(out, ')');
}

static void print_select(const struct cel_expr *e, struct buf *out)
{
	if (e->test_only)
		(void)buf_addz(out, "has(");
	print_operand(e->children[0], out);
	(void)buf_addc(out, '.');
	print_field(e->name, out);
	if (e->test_only)
		(void)buf_addc(out, ')');
}

void cel_expr_print(const struct cel_expr *e, struct buf *out)
{
	switch (e->kind) {
	case CEL_EXPR_CONST:
		print_constant(&e->constant, out);
		break;
	case CEL_EXPR_IDENT:
		(void)buf_add_str(out, e->name);
		break;
	case CEL_EXPR_SELECT:
		print_select(e, out);
		break;
	case CEL_EXPR_CALL:
		print_call(e, out);
		break;
	case CEL_EXPR_LIST:
		(void)buf_addc(out, '[');
		print_list(e->children, e->n, e->optionals, out);
		(void)buf_addc(out, ']');
		break;
	case CEL_EXPR_MAP:
		print_map(e, out);
		break;
	case CEL_EXPR_STRUCT:
		print_struct(e, out);
		break;
	case CEL_EXPR_FOLD:
		print_fold(e->fold, out);
		break;
	}
}
