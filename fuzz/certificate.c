/*
 * Certificates and keys as strangers send them: PEM text, or DER, which is put into PEM first. A
 * user name that is read from a certificate must be valid text.
 */
#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/limits.h"
#include "base/json/writer.h"
#include "base/text/base64.h"
#include "net/tls/pki.h"
#include "net/tls/pki_sign.h"
#include "net/tls/tls.h"
#include "target.h"

static void must_be_name(struct str s)
{
	require(str_is_utf8(s) && str_chr(s, '\0') < 0);
}

static void try_certificate(struct str pem)
{
	CLEANUP(arena_release) struct arena a;
	struct tls_peer peer;
	struct pki_ca *ca = NULL;
	int64_t end;

	arena_init(&a, 16 * MIB);
	if (tls_peer_read(pem, &a, &peer, NULL) == 0) {
		must_be_name(peer.common_name);
		for (size_t i = 0; i < peer.norganizations; i++)
			must_be_name(peer.organizations[i]);
		require(strlen(peer.fingerprint) == 64);
		require(pki_not_after(pem, &end, NULL) == 0 && end == peer.not_after);
	}
	/* A file with both, as some tools write them. */
	if (pki_ca_load(pem, pem, &ca, NULL) == 0)
		pki_ca_free(ca);
}

static void try_keys(struct str pem)
{
	struct pki_key *keys[4];
	size_t n = 0;

	if (pki_keys_load(pem, keys, ARRAY_SIZE(keys), &n, NULL) < 0)
		return;
	require(n > 0);
	for (size_t i = 0; i < n; i++) {
		CLEANUP(buf_release) struct buf out = BUF_INIT(16 * KIB);
		struct json_writer w;

		json_writer_init(&w, &out, NULL);
		pki_key_print_jwk(keys[i], &w);
		require(json_writer_finish(&w) == 0);
		require(!pki_verify(keys[i], STR("message"), STR("not a signature")));
		pki_key_free(keys[i]);
	}
}

static void try_der(struct str der, const char *name)
{
	CLEANUP(buf_release) struct buf pem = BUF_INIT(4 * MIB);

	(void)buf_printf(&pem, "-----BEGIN %s-----\n", name);
	for (size_t at = 0; at < der.n; at += 48) {
		(void)base64_encode(&pem, str_of(der.p + at, MIN(der.n - at, (size_t)48)),
				    BASE64_STD);
		(void)buf_addc(&pem, '\n');
	}
	(void)buf_printf(&pem, "-----END %s-----\n", name);
	try_certificate(buf_str(&pem));
	try_keys(buf_str(&pem));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = { "CERTIFICATE", "PUBLIC KEY", "PRIVATE KEY" };
	struct str in = str_of(data, size);

	if (size > 64 * KIB)
		return 0;
	if (str_find(in, STR("-----BEGIN ")) >= 0) {
		try_certificate(in);
		try_keys(in);
		return 0;
	}
	/* The last byte, which DER ignores, chooses what the rest is taken for: they are slow. */
	try_der(in, names[size ? data[size - 1] % ARRAY_SIZE(names) : 0]);
	return 0;
}
