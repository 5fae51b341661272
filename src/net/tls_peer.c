/*
 * Who the peer is, from its certificate.
 */
#include "net/tls_impl.h"

#include "base/arena.h"

static int copy_name(struct arena *a, const X509_NAME_ENTRY *entry, struct str *ret_name,
		     struct error *err)
{
	unsigned char *utf8 = NULL;
	int n = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry));
	struct str name = str_of(utf8, (size_t)MAX(n, 0));

	/* A NUL would make two users look like one wherever C strings are used. */
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

static X509 *verified_leaf(const struct conn *c)
{
	const struct tls_conn *t = CONTAINER_OF(c, const struct tls_conn, conn);

	if (c->ops != &tls_conn_ops || !(SSL_get_verify_mode(t->ssl) & SSL_VERIFY_PEER) ||
	    t->state != TLS_OPEN || SSL_get_verify_result(t->ssl) != X509_V_OK)
		return NULL;
	return SSL_get0_peer_certificate(t->ssl);
}

int tls_peer(const struct conn *c, struct arena *a, struct tls_peer *ret_peer, struct error *err)
{
	const X509 *leaf = verified_leaf(c);
	struct tls_peer peer = { 0 };
	struct tm end;
	int r;

	if (!leaf)
		return error_set(err, ERR_NOT_FOUND, "the peer has no verified certificate");
	r = copy_subject(leaf, a, &peer, err);
	if (r < 0)
		return r;
	if (ASN1_TIME_to_tm(X509_get0_notAfter(leaf), &end) != 1)
		return pki_fail(err, ERR_UNAUTHORIZED, "unreadable end of the certificate");
	peer.not_after = timegm(&end);
	*ret_peer = peer;
	return 0;
}
