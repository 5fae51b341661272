/*
 * lex - splits an expression into tokens.
 *
 * The kinds are in the order in which messages list expected tokens. Text that is not a token
 * becomes an issue ("token recognition error") and is skipped. White space and comments are
 * skipped, too.
 */
#ifndef CEL_PARSE_LEX_H
#define CEL_PARSE_LEX_H

#include "base/core/vec.h"
#include "cel/core/issues.h"

enum cel_token_kind {
	TOKEN_EOF,
	TOKEN_EQUALS,
	TOKEN_NOT_EQUALS,
	TOKEN_IN,
	TOKEN_LESS,
	TOKEN_LESS_EQUALS,
	TOKEN_GREATER_EQUALS,
	TOKEN_GREATER,
	TOKEN_AND,
	TOKEN_OR,
	TOKEN_LBRACKET,
	TOKEN_RBRACKET,
	TOKEN_LBRACE,
	TOKEN_RBRACE,
	TOKEN_LPAREN,
	TOKEN_RPAREN,
	TOKEN_DOT,
	TOKEN_COMMA,
	TOKEN_MINUS,
	TOKEN_NOT,
	TOKEN_QUESTION,
	TOKEN_COLON,
	TOKEN_PLUS,
	TOKEN_STAR,
	TOKEN_SLASH,
	TOKEN_PERCENT,
	TOKEN_TRUE,
	TOKEN_FALSE,
	TOKEN_NULL,
	TOKEN_FLOAT,
	TOKEN_INT,
	TOKEN_UINT,
	TOKEN_STRING,
	TOKEN_BYTES,
	TOKEN_IDENT,
	TOKEN_QUOTED_IDENT, /* `a-b` */
	TOKEN_KINDS
};

struct cel_token {
	uint32_t offset, n; /* bytes */
	uint8_t kind; /* enum cel_token_kind */
};

struct cel_tokens {
	VEC(struct cel_token);
	VEC(struct cel_token) bad; /* text that is not a token */
};

/* Returns all tokens of issues->text, which must be UTF-8. The last one is TOKEN_EOF. */
void cel_lex(struct cel_issues *issues, struct cel_tokens *ret_tokens);

void cel_tokens_release(struct cel_tokens *tokens);

/* Returns the kind's name in messages: "'=='", "NUM_INT", "<EOF>". */
const char *cel_token_name(enum cel_token_kind kind);

#endif
