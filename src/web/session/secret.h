/*
 * ui_secret - the secrets of sessions, codes and passes. Only their hashes are kept.
 *
 * No I/O, except that it draws random bytes.
 */
#ifndef WEB_SESSION_SECRET_H
#define WEB_SESSION_SECRET_H

#include "base/core/str.h"
#include "net/tls/pki_sign.h"

enum {
	UI_SECRET_BYTES = 32,
	UI_SECRET_SIZE = 44, /* base64url of it, and a NUL */
};

/* A new one, and its hash. */
void ui_secret_make(char ret_text[static UI_SECRET_SIZE], uint8_t ret_hash[static PKI_SHA256_SIZE]);

/* The hash of a secret that a client presents. Returns false if it cannot be one. */
bool ui_secret_hash(struct str text, uint8_t ret_hash[static PKI_SHA256_SIZE]);

#endif
