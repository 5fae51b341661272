/*
 * parse_impl - shared by the parser's files: state, sets of words, errors and recovery.
 *
 * A rule of the grammar is a function. Before it calls another rule it pushes which words may
 * follow that one; from this stack come the "expecting {..}" of messages and the place where
 * parsing goes on after a fault. A rule that fails calls parser_fail() and returns what it
 * has; its caller goes on as if nothing had happened.
 */
#ifndef CEL_PARSE_PARSE_IMPL_H
#define CEL_PARSE_PARSE_IMPL_H

#include "cel/parse/lex.h"
#include "cel/parse/macro.h"

/* A set of kinds of words. */
#define TOKENS(kind) (UINT64_C(1) << (kind))
/* In a set of what may follow: the end of the rule may. */
#define TOKENS_END TOKENS(63)

#define TOKENS_LITERAL                                                                         \
	(TOKENS(TOKEN_TRUE) | TOKENS(TOKEN_FALSE) | TOKENS(TOKEN_NULL) | TOKENS(TOKEN_FLOAT) | \
	 TOKENS(TOKEN_INT) | TOKENS(TOKEN_UINT) | TOKENS(TOKEN_STRING) | TOKENS(TOKEN_BYTES))
/* What a member, and what an expression begins with. */
#define TOKENS_MEMBER                                                                            \
	(TOKENS_LITERAL | TOKENS(TOKEN_LBRACKET) | TOKENS(TOKEN_LBRACE) | TOKENS(TOKEN_LPAREN) | \
	 TOKENS(TOKEN_DOT) | TOKENS(TOKEN_MINUS) | TOKENS(TOKEN_IDENT))
#define TOKENS_EXPR (TOKENS_MEMBER | TOKENS(TOKEN_NOT))
/* What a field of a message begins with, and what may come behind a member. */
#define TOKENS_FIELD (TOKENS(TOKEN_QUESTION) | TOKENS(TOKEN_IDENT) | TOKENS(TOKEN_QUOTED_IDENT))

#define TOKENS_MEMBER_MORE (TOKENS(TOKEN_DOT) | TOKENS(TOKEN_LBRACKET) | TOKENS_END)

/* Where in the grammar a fault was: twice the same at the same word, and the word is skipped. */
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
	size_t at; /* of the next word */
	VEC(uint64_t) follow; /* what may follow each rule that is being parsed */
	bool optional_syntax;
	bool dead; /* given up: no more words, no more messages */

	/* Depths of the rules that recurse, and of visits of the tree that was parsed last. */
	uint32_t exprs, relations, calcs, visits;

	/* --- faults --- */
	enum { FAULT_NONE, FAULT_MISMATCH, FAULT_NO_WAY } fault;
	enum parse_site site;
	uint64_t expected; /* of a mismatch */
	size_t offending; /* of no way on: the word where every way ended */
	bool recovering; /* told, and no word matched since */
	size_t failed_at; /* the word of the last fault ... */
	uint64_t failed_sites; /* ... and the sites at it */
	unsigned attempts; /* to recover */
	size_t reports; /* of faults of the syntax */
};

/* --- words and faults: parse_recover.c --- */

/* The kind of the word `ahead` of the next one. */
enum cel_token_kind parser_peek(const struct parser *p, size_t ahead);
bool parser_at(const struct parser *p, uint64_t set);
const struct cel_token *parser_token(const struct parser *p);
struct str parser_text(const struct parser *p, const struct cel_token *token);

void parser_push(struct parser *p, uint64_t follow);
void parser_pop(struct parser *p);

/* Takes the next word, whose kind is known. */
const struct cel_token *parser_take(struct parser *p);

/*
 * Takes a word of that kind; `after` may come behind it. One word too many is skipped, one
 * too few made up. False: a fault.
 */
bool parser_match(struct parser *p, enum parse_site site, enum cel_token_kind kind, uint64_t after);

/* Sees to it that the next word is in the set, skipping one if that helps. False: a fault. */
bool parser_sync(struct parser *p, enum parse_site site, uint64_t set);

/* The same behind an operator that may be repeated: skips words until one fits. */
void parser_sync_loop(struct parser *p, uint64_t set);

/* No alternative of the grammar has the word `ahead` of the next one. */
void parser_no_way(struct parser *p, enum parse_site site, size_t ahead);

/* Tells the fault unless it is the consequence of another, and skips to where one can go on. */
void parser_fail(struct parser *p);

/* Gives up: `message` is told without a place. */
void parser_die(struct parser *p, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* --- rules --- */

/* What stands for an expression that could not be read: text, so that no macro takes it. */
struct cel_expr *parser_nothing(struct parser *p);

/* An issue that is not one of the syntax; what stands for the expression. */
struct cel_expr *parser_issue(struct parser *p, uint32_t offset, const char *fmt, ...)
	PRINTF_LIKE(3, 4);

struct cel_expr *parse_expr(struct parser *p, uint64_t follow);
struct cel_expr *parse_primary(struct parser *p, uint64_t follow);
struct cel_expr *parse_literal(struct parser *p);

/* An escaped or plain name of a field; empty when there is none. */
struct str parse_field_name(struct parser *p, uint64_t follow);

/* Expressions that are collected; `visits` is that of the deepest. */
struct parsed_list {
	VEC(struct cel_expr *);
	uint32_t visits;
};

void parsed_list_add(struct parser *p, struct parsed_list *list, struct cel_expr *e);

/* The arguments of a call, behind its parenthesis and with the closing one. False: a fault. */
bool parse_args(struct parser *p, enum parse_site args, uint64_t after,
		struct parsed_list *ret_args);

/* A call, or what a macro makes of it. */
struct cel_expr *parser_call(struct parser *p, uint32_t offset, struct str name,
			     struct cel_expr *receiver, struct parsed_list *args);

#endif
