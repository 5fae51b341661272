/*
 * tokens - bearer tokens from a file.
 *
 * One line each, CSV: token,user,uid[,"group1,group2"], as upstream's
 * --token-auth-file has it. Immutable once read: any thread may look.
 */
#ifndef SERVER_AUTHN_TOKENS_H
#define SERVER_AUTHN_TOKENS_H

#include "base/core/error.h"
#include "base/core/str.h"

struct tokens;
struct user;

int tokens_load(const char *path, struct tokens **ret_tokens, struct error *err);
int tokens_parse(struct str text, struct tokens **ret_tokens, struct error *err);
void tokens_free(struct tokens *t);

/* The token's user, or NULL. How long it takes tells nothing of a wrong token. */
const struct user *tokens_find(const struct tokens *t, struct str token);

DEFINE_CLEANUP(tokens_free, struct tokens *);

#endif
