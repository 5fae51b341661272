/* The peer's identity, from its certificate. */
#include "net/tls/tls_impl.h"

#include "base/core/arena.h"

static int copy_name(struct arena *a, const X509_NAME_ENTRY *entry, struct str *ret_name,
		     struct error *err)
{
	unsigned char *utf8 = NULL;
	int n = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry));
	struct str name = str_of(utf8, (size_t)MAX(n, 0));

	/* With a NUL, two users would look the same to code with C strings. */
	if (n < 0 || str_chr(name, '\0') >= 0 || !str_is_utf8(name)) {
		ERR_clear_error();
		OPENSSL_free(utf8);
		return error_set(err, ERR_UNAUTHORIZED, "unreadable name in the certificate");
	}
	*ret_name = arena_str(a, name);
	OPENSSL_free(utf8);
	return 0;
}

/* As in Go, the last common name counts. */
static int copy_subject(const X509 *cert, struct arena *a, struct tls_peer *peer, struct error *err)
{
	const X509_NAME *subject = X509_get_subject_name(cert);
	int n = X509_NAME_entry_count(subject), r = 0;

	peer->organizations = ARENA_ARRAY(a, struct str, (size_t)n);
	for (int i = 0; i < n && r == 0; i++) {
		const X509_NAME_ENTRY *entry = X509_NAME_get_entry(subject, i);
		int nid = OBJ_obj2nid(X509_NAME_ENTRY_get_object(entry));

		if (nid == NID_commonName)
			r = copy_name(a, entry, &peer->common_name, err);
		else if (nid == NID_organizationName)
			r = copy_name(a, entry, &peer->organizations[peer->norganizations++], err);
	}
	return r;
}

static int print_fingerprint(const X509 *cert, char ret_hex[65], struct error *err)
{
	unsigned char hash[EVP_MAX_MD_SIZE];
	unsigned int n = 0;

	if (X509_digest(cert, EVP_sha256(), hash, &n) != 1 || n != 32)
		return pki_fail(err, ERR_UNAUTHORIZED, "unreadable certificate");
	for (unsigned int i = 0; i < n; i++) {
		ret_hex[2 * i] = "0123456789abcdef"[hash[i] >> 4];
		ret_hex[2 * i + 1] = "0123456789abcdef"[hash[i] & 15];
	}
	ret_hex[64] = '\0';
	return 0;
}

/* Everything except the fingerprint, which a connection caches. */
static int peer_of(const X509 *cert, struct arena *a, struct tls_peer *peer, struct error *err)
{
	struct tm end;
	int r = copy_subject(cert, a, peer, err);

	if (r < 0)
		return r;
	if (ASN1_TIME_to_tm(X509_get0_notAfter(cert), &end) != 1)
		return pki_fail(err, ERR_UNAUTHORIZED, "unreadable end of the certificate");
	peer->not_after = timegm(&end);
	return 0;
}

static X509 *verified_leaf(const struct tls_conn *t)
{
	if (t->conn.ops != &tls_conn_ops || !(SSL_get_verify_mode(t->ssl) & SSL_VERIFY_PEER) ||
	    t->state != TLS_OPEN || SSL_get_verify_result(t->ssl) != X509_V_OK)
		return NULL;
	return SSL_get0_peer_certificate(t->ssl);
}

int tls_peer(struct conn *c, struct arena *a, struct tls_peer *ret_peer, struct error *err)
{
	struct tls_conn *t = CONTAINER_OF(c, struct tls_conn, conn);
	const X509 *leaf = verified_leaf(t);
	struct tls_peer peer = { 0 };
	int r = 0;

	if (!leaf)
		return error_set(err, ERR_NOT_FOUND, "the peer has no verified certificate");
	if (!t->fingerprint[0])
		r = print_fingerprint(leaf, t->fingerprint, err);
	if (r == 0)
		r = peer_of(leaf, a, &peer, err);
	if (r < 0)
		return r;
	memcpy(peer.fingerprint, t->fingerprint, sizeof(peer.fingerprint));
	*ret_peer = peer;
	return 0;
}

int tls_peer_read(struct str pem, struct arena *a, struct tls_peer *ret_peer, struct error *err)
{
	CLEANUP(x509_stack_free) STACK_OF(X509) *certs = NULL;
	struct tls_peer peer = { 0 };
	int r = pki_parse_certs(pem, &certs, err);

	if (r == 0)
		r = peer_of(sk_X509_value(certs, 0), a, &peer, err);
	if (r == 0)
		r = print_fingerprint(sk_X509_value(certs, 0), peer.fingerprint, err);
	if (r == 0)
		*ret_peer = peer;
	return r;
}
