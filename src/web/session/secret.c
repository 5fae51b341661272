/*
 * Base64url, because secrets travel in cookies, URLs and header fields.
 */
#include "web/session/secret.h"

#include "base/core/buf.h"
#include "base/core/random.h"
#include "base/text/base64.h"

void ui_secret_make(char ret_text[static UI_SECRET_SIZE], uint8_t ret_hash[static PKI_SHA256_SIZE])
{
	CLEANUP(buf_release) struct buf text = BUF_INIT(UI_SECRET_SIZE);
	uint8_t secret[UI_SECRET_BYTES];

	random_bytes(secret, sizeof(secret));
	(void)base64_encode(&text, str_of(secret, sizeof(secret)), BASE64_URL_RAW);
	memcpy(ret_text, text.p, UI_SECRET_SIZE);
	pki_sha256(buf_str(&text), ret_hash);
	explicit_bzero(secret, sizeof(secret));
	explicit_bzero(text.p, text.n);
}

bool ui_secret_hash(struct str text, uint8_t ret_hash[static PKI_SHA256_SIZE])
{
	if (text.n != UI_SECRET_SIZE - 1)
		return false;
	pki_sha256(text, ret_hash);
	return true;
}
