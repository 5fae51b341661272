/*
 * ast - the syntax tree of an expression: built by the parser, annotated by the checker.
 *
 * Macros are expanded during parsing: has() is a select with test_only; all(), map() and so on
 * become comprehensions (folds). Nodes live in an arena. The height of a tree is bounded by
 * CEL_HEIGHT_MAX, so functions may recurse.
 */
#ifndef CEL_PARSE_AST_H
#define CEL_PARSE_AST_H

#include "cel/core/value.h"

enum cel_expr_kind {
	CEL_EXPR_CONST, /* null, bool, int, uint, double, string, bytes */
	CEL_EXPR_IDENT,
	CEL_EXPR_SELECT, /* operand.field, operand.?field, has(operand.field) */
	CEL_EXPR_CALL, /* including operators */
	CEL_EXPR_LIST,
	CEL_EXPR_MAP, /* entries: key, value, key, .. in children */
	CEL_EXPR_STRUCT, /* name{field: value}: children are the values */
	CEL_EXPR_FOLD, /* a comprehension */
};

struct cel_overload;

struct cel_expr {
	enum cel_expr_kind kind;
	uint32_t offset; /* offset in the text of the operator, dot or bracket, as in cel-go */
	struct cel_value constant; /* CEL_EXPR_CONST */
	/*
	 * Name of a variable ("a"; ".a" when written so), field of a select, function of a
	 * call, type of a struct.
	 */
	struct str name;
	/*
	 * Operand of a select; receiver (when `member`) and arguments of a call; elements;
	 * entries; values of fields.
	 */
	struct cel_expr **children;
	uint32_t n;
	bool member; /* of a call: children[0] is the receiver */
	bool test_only; /* of a select: has() */
	const bool *optionals; /* of list, map, struct: whether element i is `?`; or NULL */
	const struct str *fields; /* of a struct */
	struct cel_fold *fold; /* CEL_EXPR_FOLD */

	/* --- set by the checker --- */
	const struct cel_type *type;
	/* Candidate overloads of a call; only one if types are known. */
	const struct cel_overload *const *overloads;
	uint32_t noverloads;
	/*
	 * For an identifier: index of the environment's variable, or -1 for a variable of a fold
	 * (by name) or a type (then `constant` is set and kind is CEL_EXPR_CONST). A qualified name
	 * that denotes a variable or type becomes one identifier.
	 */
	int32_t variable;

	/* --- set by the parser --- */
	const uint32_t *field_offsets; /* for a struct: offset of the colon after each field */
};

/*
 *	accu = init; for (var [, var2] in range) { if (!condition) break; accu = step; } result
 *
 * If var2 is set, var is the index or key, and var2 the element or value. Otherwise var is the
 * element of a list or the key of a map.
 */
struct cel_fold {
	struct str var, var2, accu; /* var2.n 0: not used */
	struct cel_expr *range, *init, *condition, *step, *result;
};

/* Function names of operators. */
#define CEL_OP_AND                "_&&_"
#define CEL_OP_OR                 "_||_"
#define CEL_OP_NOT                "!_"
#define CEL_OP_NEGATE             "-_"
#define CEL_OP_CONDITIONAL        "_?_:_"
#define CEL_OP_EQUALS             "_==_"
#define CEL_OP_NOT_EQUALS         "_!=_"
#define CEL_OP_LESS               "_<_"
#define CEL_OP_LESS_EQUALS        "_<=_"
#define CEL_OP_GREATER            "_>_"
#define CEL_OP_GREATER_EQUALS     "_>=_"
#define CEL_OP_ADD                "_+_"
#define CEL_OP_SUBTRACT           "_-_"
#define CEL_OP_MULTIPLY           "_*_"
#define CEL_OP_DIVIDE             "_/_"
#define CEL_OP_MODULO             "_%_"
#define CEL_OP_IN                 "@in"
#define CEL_OP_INDEX              "_[_]"
#define CEL_OP_OPT_INDEX          "_[?_]"
#define CEL_OP_OPT_SELECT         "_?._" /* operand, constant string */
#define CEL_OP_NOT_STRICTLY_FALSE "@not_strictly_false"

/*
 * Appends the tree in a canonical text form, with operators in parentheses, which parses to the
 * same tree. Comprehensions, which have no syntax of their own, are printed as `@fold(var, accu,
 * range, init, condition, step, result)`, with var2 after var.
 */
void cel_expr_print(const struct cel_expr *e, struct buf *out);

#endif
