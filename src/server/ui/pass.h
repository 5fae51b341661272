/*
 * ui_pass - the bearer tokens of passes (web/session/passes.h), and what they are good for.
 *
 * The program of an explanation authenticates with such a token. It has the rights of the session's
 * user, and fewer: it can only read objects and ask for its own rights. It cannot watch, write,
 * read logs, open connections or impersonate. Neither a login nor a review of tokens accepts it.
 *
 * No side effects.
 */
#ifndef SERVER_UI_PASS_H
#define SERVER_UI_PASS_H

#include "base/core/error.h"
#include "base/core/str.h"

struct arena;
struct http_head;
struct request;

/* The token of the pass with that secret. */
struct str ui_pass_token(struct arena *a, const char *secret);

/* Whether the request presents a pass; *ret_secret is borrowed from it. */
bool ui_pass_claim(const struct http_head *in, struct str *ret_secret);

/* -ERR_FORBIDDEN unless a pass is good for the request. */
int ui_pass_check(const struct request *r, struct str method, struct error *err);

#endif
