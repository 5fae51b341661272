/*
 * Checks "..".format([..]) with a constant format and a list literal: clauses must be well-formed
 * and fit the types of their arguments, and no argument may be left over. Arguments of type dyn are
 * checked at run time. Messages are those of the version of cel-go's strings in Kubernetes.
 */
#include "cel/check/check_impl.h"

#define KIND(name) (1U << CEL_TYPE_##name)

struct clause {
	char letter;
	unsigned kinds; /* of types it can print */
	const char *complaint;
};

static const struct clause *clause_find(char letter)
{
	static const struct clause clauses[] = {
		{ 's',
		  KIND(LIST) | KIND(MAP) | KIND(INT) | KIND(UINT) | KIND(DOUBLE) | KIND(BOOL) |
			  KIND(STRING) | KIND(TIMESTAMP) | KIND(BYTES) | KIND(DURATION) |
			  KIND(TYPE) | KIND(NULL),
		  "string clause can only be used on strings, bools, bytes, ints, doubles, maps, "
		  "lists, types, durations, and timestamps" },
		{ 'd', KIND(INT) | KIND(UINT), "decimal clause can only be used on integers" },
		{ 'f', KIND(DOUBLE) | KIND(STRING),
		  "fixed-point clause can only be used on doubles" },
		{ 'e', KIND(DOUBLE) | KIND(STRING),
		  "scientific clause can only be used on doubles" },
		{ 'b', KIND(INT) | KIND(UINT) | KIND(BOOL),
		  "only integers and bools can be formatted as binary" },
		{ 'x', KIND(INT) | KIND(UINT) | KIND(STRING) | KIND(BYTES),
		  "only integers, byte buffers, and strings can be formatted as hex" },
		{ 'X', KIND(INT) | KIND(UINT) | KIND(STRING) | KIND(BYTES),
		  "only integers, byte buffers, and strings can be formatted as hex" },
		{ 'o', KIND(INT) | KIND(UINT), "octal clause can only be used on integers" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(clauses); i++) {
		if (clauses[i].letter == letter)
			return &clauses[i];
	}
	return NULL;
}

/* The part of an argument that the clause cannot print, or NULL. Recursive: CEL_HEIGHT_MAX. */
static const struct cel_expr *misfit(const struct clause *clause, const struct cel_expr *arg)
{
	const struct cel_type *type = arg->type;
	const struct cel_expr *bad = NULL;

	if (type->kind == CEL_TYPE_WRAPPER)
		type = type->params[0];
	if (type->kind != CEL_TYPE_DYN && !(clause->kinds & (1U << type->kind)))
		return arg;
	if (clause->letter != 's' || (arg->kind != CEL_EXPR_LIST && arg->kind != CEL_EXPR_MAP))
		return NULL;
	for (size_t i = 0; i < arg->n && !bad; i++)
		bad = misfit(clause, arg->children[i]);
	return bad;
}

/*
 * Reads one clause after "%", such as ".3f", and advances *rest past it. Adds an issue and returns
 * NULL if it is invalid.
 */
static const struct clause *clause_read(struct checker *c, const struct cel_expr *call,
					struct str *rest)
{
	const struct clause *clause;
	size_t digits = 1;

	if (rest->p[0] == '.') {
		while (digits < rest->n && str_is_digit(rest->p[digits]))
			digits++;
		if (digits == rest->n || digits == 1) {
			cel_issue_add(c->issues, call->offset,
				      "could not parse formatting clause: error while parsing "
				      "precision: %s",
				      digits == rest->n
					      ? "could not find end of precision specifier"
					      : "error while converting precision to integer: "
						"strconv.Atoi: parsing \"\": invalid syntax");
			return NULL;
		}
		*rest = str_skip(*rest, digits);
	}
	clause = clause_find(rest->p[0]);
	if (!clause)
		cel_issue_add(c->issues, call->offset,
			      "could not parse formatting clause: unrecognized formatting clause "
			      "\"%.1s\"",
			      rest->p);
	*rest = str_skip(*rest, 1);
	return clause;
}

/* One clause and its argument; false after an issue. */
static bool check_clause(struct checker *c, const struct cel_expr *call, struct str *rest,
			 size_t index)
{
	const struct cel_expr *args = call->children[1], *bad;
	const struct clause *clause;

	if (rest->n == 0 || index >= args->n) {
		if (rest->n == 0)
			cel_issue_add(c->issues, call->offset, "unexpected end of string");
		else
			cel_issue_add(c->issues, call->offset, "index %zu out of range", index);
		return false;
	}
	clause = clause_read(c, call, rest);
	if (!clause)
		return false;
	bad = misfit(clause, args->children[index]);
	if (bad)
		cel_issue_add(c->issues, bad->offset, "error during formatting: %s, was given %.*s",
			      clause->complaint, STR_ARG(bad->type->name));
	return !bad;
}

static bool is_constant_format(const struct cel_expr *e)
{
	return e->member && e->n == 2 && str_eqz(e->name, "format") &&
	       e->children[0]->kind == CEL_EXPR_CONST &&
	       e->children[0]->constant.kind == CEL_STRING && e->children[1]->kind == CEL_EXPR_LIST;
}

void check_format(struct checker *c, const struct cel_expr *call)
{
	struct str rest;
	size_t used = 0;
	ptrdiff_t at;

	if (!is_constant_format(call))
		return;
	rest = call->children[0]->constant.s;
	while ((at = str_chr(rest, '%')) >= 0) {
		rest = str_skip(rest, (size_t)at + 1);
		if (rest.n > 0 && rest.p[0] == '%') {
			rest = str_skip(rest, 1);
			continue;
		}
		if (!check_clause(c, call, &rest, used++))
			return;
	}
	if (call->children[1]->n > used)
		cel_issue_add(c->issues, call->offset,
			      "too many arguments supplied to string.format (expected %zu, got %u)",
			      used, call->children[1]->n);
}
