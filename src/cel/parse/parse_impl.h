/*
 * parse_impl - private to the parser's files: state, sets of tokens, errors and recovery.
 *
 * Each rule of the grammar is a function. Before it calls another rule, it pushes the tokens that
 * may follow that rule. This stack yields the "expecting {..}" of messages, and the place where
 * parsing resumes after an error. A rule that fails calls parser_fail() and returns a partial
 * result; its caller continues normally.
 */
#ifndef CEL_PARSE_PARSE_IMPL_H
#define CEL_PARSE_PARSE_IMPL_H

#include "cel/parse/lex.h"
#include "cel/parse/macro.h"

/* A set of token kinds. */
#define TOKENS(kind) (UINT64_C(1) << (kind))
/* In a set of following tokens: the rule may end here. */
#define TOKENS_END TOKENS(63)

#define TOKENS_LITERAL                                                                         \
	(TOKENS(TOKEN_TRUE) | TOKENS(TOKEN_FALSE) | TOKENS(TOKEN_NULL) | TOKENS(TOKEN_FLOAT) | \
	 TOKENS(TOKEN_INT) | TOKENS(TOKEN_UINT) | TOKENS(TOKEN_STRING) | TOKENS(TOKEN_BYTES))
/* First tokens of a member, and of an expression. */
#define TOKENS_MEMBER                                                                            \
	(TOKENS_LITERAL | TOKENS(TOKEN_LBRACKET) | TOKENS(TOKEN_LBRACE) | TOKENS(TOKEN_LPAREN) | \
	 TOKENS(TOKEN_DOT) | TOKENS(TOKEN_MINUS) | TOKENS(TOKEN_IDENT))
#define TOKENS_EXPR (TOKENS_MEMBER | TOKENS(TOKEN_NOT))
/* First tokens of a message's field, and tokens that may follow a member. */
#define TOKENS_FIELD (TOKENS(TOKEN_QUESTION) | TOKENS(TOKEN_IDENT) | TOKENS(TOKEN_QUOTED_IDENT))

#define TOKENS_MEMBER_MORE (TOKENS(TOKEN_DOT) | TOKENS(TOKEN_LBRACKET) | TOKENS_END)

/*
 * Places in the grammar where errors occur. A token with two errors at the same place is skipped.
 */
enum parse_site {
	SITE_START,
	SITE_COLON,
	SITE_UNARY,
	SITE_NOT,
	SITE_NEGATE,
	SITE_MEMBER,
	SITE_CALL_ARGS,
	SITE_CALL_END,
	SITE_INDEX_MARK,
	SITE_INDEX_END,
	SITE_PRIMARY,
	SITE_GLOBAL_ARGS,
	SITE_GLOBAL_END,
	SITE_NESTED_END,
	SITE_LIST,
	SITE_LIST_COMMA,
	SITE_LIST_END,
	SITE_MAP,
	SITE_MAP_COMMA,
	SITE_MAP_END,
	SITE_MAP_COLON,
	SITE_STRUCT,
	SITE_STRUCT_COMMA,
	SITE_STRUCT_END,
	SITE_STRUCT_COLON,
	SITE_FIELD,
	SITE_FIELD_NAME,
	SITE_ELEMENT,
};

struct parser {
	struct cel_expander x;
	const struct cel_env *env;
	struct cel_tokens tokens;
	size_t at; /* index of the next token */
	VEC(uint64_t) follow; /* tokens that may follow each open rule */
	bool optional_syntax;
	bool dead; /* parsing has ended: no further tokens or messages */

	/* Depths of the recursive rules, and of visits of the last parsed tree. */
	uint32_t exprs, relations, calcs, visits;

	/* --- faults --- */
	enum { FAULT_NONE, FAULT_MISMATCH, FAULT_NO_WAY } fault;
	enum parse_site site;
	uint64_t expected; /* of a mismatch */
	size_t offending; /* for "no viable alternative": the token where every alternative ended */
	bool recovering; /* an error was reported, and no token has matched since */
	size_t failed_at; /* the token of the last error .. */
	uint64_t failed_sites; /* .. and the sites of errors at it */
	unsigned attempts; /* to recover */
	size_t reports; /* number of syntax errors */
};

/* --- words and faults: parse_recover.c --- */

/* Returns the kind of the token at distance `ahead` from the next one. */
enum cel_token_kind parser_peek(const struct parser *p, size_t ahead);
bool parser_at(const struct parser *p, uint64_t set);
const struct cel_token *parser_token(const struct parser *p);
struct str parser_text(const struct parser *p, const struct cel_token *token);

void parser_push(struct parser *p, uint64_t follow);
void parser_pop(struct parser *p);

/* Consumes the next token, whose kind is known. */
const struct cel_token *parser_take(struct parser *p);

/*
 * Consumes a token of that kind, which `after` may follow. Recovers by skipping one extra token or
 * inserting a missing one. Returns false on error.
 */
bool parser_match(struct parser *p, enum parse_site site, enum cel_token_kind kind, uint64_t after);

/*
 * Makes sure that the next token is in the set, skipping one if that helps. Returns false on error.
 */
bool parser_sync(struct parser *p, enum parse_site site, uint64_t set);

/* The same in a loop of operators: skips tokens until one fits. */
void parser_sync_loop(struct parser *p, uint64_t set);

/* Reports that no alternative of the grammar matches the token at distance `ahead`. */
void parser_no_way(struct parser *p, enum parse_site site, size_t ahead);

/*
 * Reports the error, unless it follows from an earlier one, and skips to a token where parsing can
 * resume.
 */
void parser_fail(struct parser *p);

/* Ends parsing, with a message without a place. */
void parser_die(struct parser *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* --- rules --- */

/*
 * Returns a placeholder for an invalid expression: a string constant, which no macro accepts as a
 * variable.
 */
struct cel_expr *parser_nothing(struct parser *p);

/* Adds an issue that is not a syntax error, and returns a placeholder. */
struct cel_expr *parser_issue(struct parser *p, uint32_t offset, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

struct cel_expr *parse_expr(struct parser *p, uint64_t follow);
struct cel_expr *parse_primary(struct parser *p, uint64_t follow);
struct cel_expr *parse_literal(struct parser *p);

/* Parses a plain or back-quoted field name; empty on error. */
struct str parse_field_name(struct parser *p, uint64_t follow);

/* A list of parsed expressions. `visits` is that of the deepest. */
struct parsed_list {
	VEC(struct cel_expr *);
	uint32_t visits;
};

void parsed_list_add(struct parser *p, struct parsed_list *list, struct cel_expr *e);

/*
 * Parses the arguments of a call, from after the opening to the closing parenthesis. Returns false
 * on error.
 */
bool parse_args(struct parser *p, enum parse_site args, uint64_t after,
		struct parsed_list *ret_args);

/* Returns a call, or its macro expansion. */
struct cel_expr *parser_call(struct parser *p, uint32_t offset, struct str name,
			     struct cel_expr *receiver, struct parsed_list *args);

#endif
