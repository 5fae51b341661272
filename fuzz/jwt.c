/*
 * Tokens from untrusted clients. A parsed token borrows its texts from the input and has the
 * requested algorithm. Nobody signed it with our key, so it never verifies. A token that we sign
 * with any input as its content verifies, and has the same content.
 */
#include <stdint.h>

#include "base/core/limits.h"
#include "net/net_limits.h"
#include "net/tls/jwt.h"
#include "net/tls/jwt_fixture.h"
#include "server/authn/token_claims.h"
#include "target.h"

static struct pki_key *load(struct str pem)
{
	struct pki_key *k = NULL;
	size_t n;

	require(pki_keys_load(pem, &k, 1, &n, NULL) == 0);
	return k;
}

static bool is_from_rfc(struct str token)
{
	return str_starts(token, STR("eyJhbGciOiJFUzI1NiJ9." RFC7515_PAYLOAD "."));
}

/* The corpus has a token that the key did sign. */
static void try_token(struct str token, const struct pki_key *k)
{
	CLEANUP(arena_release) struct arena a;
	struct token_claims c;
	struct user u;
	struct jwt t;

	arena_init(&a, 64 * MIB);
	if (jwt_parse(token, &a, &t, NULL) < 0)
		return;
	require(json_is(t.header, JSON_OBJECT) && json_is(t.payload, JSON_OBJECT));
	require(t.message.p == token.p && t.message.n < token.n && t.signature.n > 0);
	require(str_eq(json_text_at(t.header, "alg"), pki_alg_name(t.alg)));
	require(!jwt_verify(&t, k) || is_from_rfc(token));
	if (token_claims_read(&t, &a, &c, NULL) < 0)
		return;
	token_claims_user(&c, &a, &u);
	require(u.authenticated && u.ngroups == 3 && u.binding->ns.n > 0);
	(void)token_claims_check_time(&c, INT64_C(1893456000), NULL);
}

static void try_payload(struct str payload, const struct pki_key *k)
{
	CLEANUP(arena_release) struct arena a;
	CLEANUP(buf_release) struct buf token = BUF_INIT(JWT_MAX);
	CLEANUP(buf_release) struct buf changed = BUF_INIT(JWT_MAX);
	struct jwt t;

	arena_init(&a, 64 * MIB);
	if (jwt_print(k, payload, &token, NULL) < 0 || jwt_parse(buf_str(&token), &a, &t, NULL) < 0)
		return;
	require(jwt_verify(&t, k));
	require(str_eq(t.kid, pki_key_id(k)));
	require(buf_add_str(&changed, buf_str(&token)) == 0);
	/* One letter of the payload. */
	changed.p[t.message.n - 1] = changed.p[t.message.n - 1] == 'A' ? 'B' : 'A';
	require(jwt_parse(buf_str(&changed), &a, &t, NULL) < 0 || !jwt_verify(&t, k));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct pki_key *key; /* reading one takes longer than all the rest */
	struct str in = str_of(data, size);

	if (!key)
		key = load(STR(RFC7515_EC_PRIVATE));
	try_token(in, key);
	/* Signing is slow: only what may become a token. */
	if (size > 0 && data[0] == '{')
		try_payload(in, key);
	return 0;
}
