/*
 * Keys, certificates and trust, as SSL_CTXs that never change.
 *
 * Each key pair has its own SSL_CTX, identical except for the certificate. The first one receives
 * connections, and the SNI callback moves a session to the matching one. Sessions are resumed by
 * stateless tickets only, so nothing is stored per client. The memory of idle connections is
 * bounded here, too: OpenSSL frees its record buffers whenever they are empty.
 */
#include "net/tls/tls_impl.h"

#include "base/core/mem.h"

enum {
	TLS_OPTIONS_MODE = SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE |
			   SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_NO_AUTO_CHAIN,
	TLS_ALPN_MAX = 255, /* all names together */
	/* Names must be in subjectAltName, as in Go; "w*.example.com" matches nothing. */
	TLS_HOST_FLAGS = X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS,
};

#define TLS_OPTIONS                                                                          \
	(SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | \
	 SSL_OP_PRIORITIZE_CHACHA)

static const char tls12_ciphers[] = "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:"
				    "ECDHE-ECDSA-AES256-GCM-SHA384:ECDHE-RSA-AES256-GCM-SHA384:"
				    "ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";
static const char tls13_ciphers[] =
	"TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256";
static const char tls_groups[] = "X25519:P-256:P-384";

/* --- callbacks from a handshake ------------------------------------------------ */

/* RFC 7301, 3.2: a client that offers only unknown protocols is rejected. */
static int on_alpn(SSL *ssl UNUSED, const unsigned char **out, unsigned char *n,
		   const unsigned char *offered, unsigned noffered, void *arg)
{
	const struct tls *t = arg;
	unsigned char *chosen;

	if (SSL_select_next_proto(&chosen, n, (const unsigned char *)t->alpn.p, (unsigned)t->alpn.n,
				  offered, noffered) != OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = chosen;
	return SSL_TLSEXT_ERR_OK;
}

static int on_server_name(SSL *ssl, int *alert UNUSED, void *arg)
{
	const char *name = SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
	const struct tls *t = arg;

	for (size_t i = 0; name && i < t->nctx; i++) {
		X509 *leaf = SSL_CTX_get0_certificate(t->ctx[i]);

		if (X509_check_host(leaf, name, 0, TLS_HOST_FLAGS, NULL) != 1)
			continue;
		if (i > 0)
			(void)SSL_set_SSL_CTX(ssl, t->ctx[i]);
		break;
	}
	return SSL_TLSEXT_ERR_OK;
}

/* --- making the contexts --------------------------------------------------------- */

static bool ctx_set_protocol(SSL_CTX *ctx)
{
	(void)SSL_CTX_set_options(ctx, TLS_OPTIONS);
	(void)SSL_CTX_set_mode(ctx, TLS_OPTIONS_MODE);
	(void)SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION) == 1 &&
	       SSL_CTX_set_cipher_list(ctx, tls12_ciphers) == 1 &&
	       SSL_CTX_set_ciphersuites(ctx, tls13_ciphers) == 1 &&
	       SSL_CTX_set1_groups_list(ctx, tls_groups) == 1 &&
	       SSL_CTX_set_num_tickets(ctx, 1) == 1 &&
	       /* Without it, resuming with a client certificate is a fatal error. */
	       SSL_CTX_set_session_id_context(ctx, (const unsigned char *)"devplane", 8) == 1;
}

static int ctx_use_pair(SSL_CTX *ctx, const struct tls_pair *pair, struct error *err)
{
	CLEANUP(x509_stack_free) STACK_OF(X509) *certs = NULL;
	CLEANUP(EVP_PKEY_free) EVP_PKEY *key = NULL;
	CLEANUP(X509_free) X509 *leaf = NULL;
	int r;

	r = pki_parse_certs(pair->cert, &certs, err);
	if (r < 0)
		return r;
	r = pki_parse_key(pair->key, &key, err);
	if (r < 0)
		return r;
	leaf = sk_X509_shift(certs);
	if (X509_check_private_key(leaf, key) != 1) {
		ERR_clear_error();
		return error_set(err, ERR_INVALID, "the certificate belongs to another key");
	}
	if (SSL_CTX_use_cert_and_key(ctx, leaf, key, certs, 1) != 1)
		return pki_fail(err, ERR_INVALID, "the certificate cannot be used");
	return 0;
}

/* Servers send clients the names of accepted CAs. */
static int ctx_name_cas(SSL_CTX *ctx, STACK_OF(X509) *certs, struct error *err)
{
	for (int i = 0; i < sk_X509_num(certs); i++)
		if (SSL_CTX_add_client_CA(ctx, sk_X509_value(certs, i)) != 1)
			return pki_fail(err, ERR_INTERNAL, "cannot name a CA");
	return 0;
}

static int ctx_trust(SSL_CTX *ctx, const struct tls_opts *opts, struct error *err)
{
	CLEANUP(x509_stack_free) STACK_OF(X509) *certs = NULL;
	X509_STORE *store = SSL_CTX_get_cert_store(ctx);
	int r;

	/* As in Go, every listed certificate is trusted, self-signed or not. */
	(void)X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
	if (opts->ca.n == 0) {
		if (SSL_CTX_set_default_verify_paths(ctx) != 1)
			return pki_fail(err, ERR_IO, "cannot read the system's CAs");
		return 0;
	}
	r = pki_parse_certs(opts->ca, &certs, err);
	if (r < 0)
		return error_wrap(err, r, "CA bundle");
	for (int i = 0; i < sk_X509_num(certs); i++)
		if (X509_STORE_add_cert(store, sk_X509_value(certs, i)) != 1)
			return pki_fail(err, ERR_INVALID, "CA bundle");
	return opts->server ? ctx_name_cas(ctx, certs, err) : 0;
}

static int verify_mode(const struct tls_opts *opts)
{
	if (!opts->server)
		return opts->insecure_skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER;
	if (opts->require_client_cert)
		return SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
	return opts->ask_client_cert ? SSL_VERIFY_PEER : SSL_VERIFY_NONE;
}

static void ctx_set_callbacks(SSL_CTX *ctx, struct tls *t)
{
	if (t->alpn.n)
		SSL_CTX_set_alpn_select_cb(ctx, on_alpn, t);
	(void)SSL_CTX_set_tlsext_servername_callback(ctx, on_server_name);
	(void)SSL_CTX_set_tlsext_servername_arg(ctx, t);
}

static int ctx_new(struct tls *t, const struct tls_opts *opts, const struct tls_pair *pair,
		   struct error *err)
{
	SSL_CTX *ctx;
	int r = 0;

	ERR_clear_error();
	ctx = SSL_CTX_new(t->server ? TLS_server_method() : TLS_client_method());
	if (!ctx)
		return pki_fail(err, ERR_INTERNAL, "cannot set up TLS");
	t->ctx[t->nctx++] = ctx;
	if (!ctx_set_protocol(ctx))
		return pki_fail(err, ERR_INTERNAL, "cannot set up TLS");
	if (pair)
		r = ctx_use_pair(ctx, pair, err);
	if (r < 0)
		return r;
	SSL_CTX_set_verify(ctx, verify_mode(opts), NULL);
	if (verify_mode(opts) != SSL_VERIFY_NONE)
		r = ctx_trust(ctx, opts, err);
	if (r < 0)
		return r;
	if (t->server)
		ctx_set_callbacks(ctx, t);
	else if (t->alpn.n && SSL_CTX_set_alpn_protos(ctx, (const unsigned char *)t->alpn.p,
						      (unsigned)t->alpn.n) != 0)
		return pki_fail(err, ERR_INTERNAL, "cannot set ALPN");
	return 0;
}

static int encode_alpn(struct buf *out, const char *const *names, struct error *err)
{
	for (; names && *names; names++) {
		size_t n = strlen(*names);

		if (n == 0 || n > UINT8_MAX || buf_addc(out, (char)n) < 0 ||
		    buf_addz(out, *names) < 0)
			return error_set(err, ERR_INVALID, "\"%s\" cannot be offered by ALPN",
					 *names);
	}
	return 0;
}

static int check_opts(const struct tls_opts *opts, struct error *err)
{
	if (opts->server && opts->npairs == 0)
		return error_set(err, ERR_INVALID, "a TLS server needs a certificate");
	if (!opts->server && opts->npairs > 1)
		return error_set(err, ERR_INVALID, "a TLS client has at most one certificate");
	if (opts->server && (opts->ask_client_cert || opts->require_client_cert) && opts->ca.n == 0)
		return error_set(err, ERR_INVALID, "client certificates need a CA to check them");
	return 0;
}

int tls_new(const struct tls_opts *opts, struct tls **ret_tls, struct error *err)
{
	CLEANUP(tls_unref) struct tls *t = NULL;
	size_t n = MAX(opts->npairs, (size_t)1);
	int r = check_opts(opts, err);

	if (r < 0)
		return r;
	t = XNEW(struct tls);
	atomic_init(&t->refs, 1);
	t->server = opts->server;
	t->ctx = xcalloc(n, sizeof(SSL_CTX *));
	t->bio = tls_bio_method_new();
	buf_init(&t->alpn, TLS_ALPN_MAX);
	r = encode_alpn(&t->alpn, opts->alpn, err);
	for (size_t i = 0; i < n && r == 0; i++) {
		r = ctx_new(t, opts, opts->npairs ? &opts->pairs[i] : NULL, err);
		if (r < 0 && opts->npairs > 1)
			(void)error_wrap(err, r, "key pair %zu", i + 1);
	}
	if (r < 0)
		return error_wrap(err, r, "TLS");
	*ret_tls = TAKE(t);
	return 0;
}

struct tls *tls_ref(struct tls *t)
{
	(void)atomic_fetch_add_explicit(&t->refs, 1, memory_order_relaxed);
	return t;
}

void tls_unref(struct tls *t)
{
	if (!t || atomic_fetch_sub_explicit(&t->refs, 1, memory_order_acq_rel) > 1)
		return;
	for (size_t i = 0; i < t->nctx; i++)
		SSL_CTX_free(t->ctx[i]);
	free(t->ctx);
	BIO_meth_free(t->bio);
	buf_release(&t->alpn);
	free(t);
}

/* --- sessions ------------------------------------------------------------------------ */

/* RFC 6066, 3: SNI is a name without a final dot, never an address. */
static int expect_server(SSL *ssl, const char *server_name, struct error *err)
{
	X509_VERIFY_PARAM *param = SSL_get0_param(ssl);
	char name[256];
	size_t n = strcspn(server_name, "%"); /* without an IPv6 zone, which is only local */

	if (n == 0 || n >= sizeof(name))
		return error_set(err, ERR_INVALID, "\"%.64s\" is not a server's name", server_name);
	memcpy(name, server_name, n);
	name[n] = '\0';
	if (X509_VERIFY_PARAM_set1_ip_asc(param, name) == 1)
		return 0;
	ERR_clear_error();
	if (name[n - 1] == '.')
		name[n - 1] = '\0';
	SSL_set_hostflags(ssl, TLS_HOST_FLAGS);
	if (SSL_set1_host(ssl, name) != 1 || SSL_set_tlsext_host_name(ssl, name) != 1)
		return pki_fail(err, ERR_INVALID, "cannot use the server's name");
	return 0;
}

int tls_session_new(const struct tls *t, const char *server_name, SSL **ret_ssl, struct error *err)
{
	bool checks = SSL_CTX_get_verify_mode(t->ctx[0]) != SSL_VERIFY_NONE;
	SSL *ssl;
	int r;

	if (!t->server && !server_name && checks)
		return error_set(err, ERR_INVALID, "a TLS client must know the server's name");
	ERR_clear_error();
	ssl = SSL_new(t->ctx[0]);
	if (!ssl)
		return pki_fail(err, ERR_INTERNAL, "cannot start TLS");
	if (t->server)
		SSL_set_accept_state(ssl);
	else
		SSL_set_connect_state(ssl);
	r = !t->server && server_name ? expect_server(ssl, server_name, err) : 0;
	if (r < 0) {
		SSL_free(ssl);
		return r;
	}
	*ret_ssl = ssl;
	return 0;
}
