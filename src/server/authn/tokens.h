/*
 * tokens - bearer tokens from a file.
 *
 * CSV, one line per token: token,user,uid[,"group1,group2"], as in upstream's --token-auth-file.
 * Immutable once read: any thread may use it.
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

/* The token's user, or NULL. The time that it takes reveals nothing about valid tokens. */
const struct user *tokens_find(const struct tokens *t, struct str token);

DEFINE_CLEANUP(tokens_free, struct tokens *);

#endif
