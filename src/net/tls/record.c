/*
 * The layer between OpenSSL and the conn below: the BIO, and records.
 *
 * OpenSSL reads through a BIO that points at the bytes just delivered by the conn below. It writes
 * through it into `out`, which is flushed by one conn_writev() after each batch, and freed when the
 * socket has taken everything. So an idle connection owns no buffer, and a busy one only what its
 * peer has not read yet.
 *
 * The BIO accepts all output, so SSL_write never stops half-way. Back-pressure is `blocked`:
 * nothing is encrypted while the socket has not taken all ciphertext.
 */
#include "net/net_limits.h"
#include "net/tls/tls_impl.h"

enum {
	TLS_OVERHEAD = 32, /* maximal overhead of a record: header, nonce, tag */
	TLS_BATCH = 4 * TLS_RECORD, /* encrypted between two writes to the socket */
};

/* --- the BIO -------------------------------------------------------------------- */

static int bio_create(BIO *bio)
{
	BIO_set_init(bio, 1);
	return 1;
}

static int bio_read(BIO *bio, char *p, size_t n, size_t *ret_n)
{
	struct tls_conn *t = BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	if (t->in_n == 0) {
		BIO_set_retry_read(bio);
		return 0;
	}
	n = MIN(n, t->in_n);
	memcpy(p, t->in, n);
	t->in += n;
	t->in_n -= n;
	*ret_n = n;
	return 1;
}

static int bio_write(BIO *bio, const char *p, size_t n, size_t *ret_n)
{
	struct tls_conn *t = BIO_get_data(bio);

	BIO_clear_retry_flags(bio);
	if (buf_add(&t->out, p, n) < 0)
		return 0;
	*ret_n = n;
	return 1;
}

static long bio_ctrl(BIO *bio UNUSED, int command, long n UNUSED, void *p UNUSED)
{
	return command == BIO_CTRL_FLUSH;
}

BIO_METHOD *tls_bio_method_new(void)
{
	BIO_METHOD *m = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "conn");

	if (!m)
		abort();
	(void)BIO_meth_set_create(m, bio_create);
	(void)BIO_meth_set_read_ex(m, bio_read);
	(void)BIO_meth_set_write_ex(m, bio_write);
	(void)BIO_meth_set_ctrl(m, bio_ctrl);
	return m;
}

/* --- failures -------------------------------------------------- */

static bool is_ssl(unsigned long e, int first, int last)
{
	return ERR_GET_LIB(e) == ERR_LIB_SSL && ERR_GET_REASON(e) >= first &&
	       ERR_GET_REASON(e) <= last;
}

int tls_conn_failure(const struct tls_conn *t, struct error *err)
{
	unsigned long e = ERR_peek_error();
	enum error_code code = t->state == TLS_HANDSHAKE ? ERR_UNAVAILABLE : ERR_PROTOCOL;
	const char *what = "TLS failed: ", *why = NULL, *name = NULL;

	if (is_ssl(e, SSL_R_CERTIFICATE_VERIFY_FAILED, SSL_R_CERTIFICATE_VERIFY_FAILED)) {
		what = "certificate verify failed: ";
		why = X509_verify_cert_error_string(SSL_get_verify_result(t->ssl));
		name = SSL_get_servername(t->ssl, TLSEXT_NAMETYPE_host_name);
	} else if (is_ssl(e, SSL_AD_REASON_OFFSET, SSL_AD_REASON_OFFSET + UINT8_MAX)) {
		what = "refused by the peer: ";
		why = SSL_alert_desc_string_long(ERR_GET_REASON(e) - SSL_AD_REASON_OFFSET);
	} else if (t->out.overflow) {
		why = "too much output is pending";
	}
	/* OpenSSL 3.0 has no short name for the alerts of TLS 1.3. */
	if (e && (!why || strcmp(why, "unknown") == 0))
		why = ERR_reason_error_string(e);
	ERR_clear_error();
	return error_set(err, code, "%s%s (" TLS_PEER_FMT "%s%s)", what,
			 why ? why : "unknown reason", TLS_PEER_ARGS(t),
			 name ? ", asked for as " : "", name ? name : "");
}

/* --- output -------------------------------------------------------------------------- */

/* For a slow peer keeps only the unwritten bytes, not the memory of the whole batch. */
static void keep_output(struct tls_conn *t, size_t written)
{
	struct buf rest = BUF_INIT(TLS_PENDING_MAX);

	(void)buf_add(&rest, t->out.p + written, t->out.n - written);
	buf_release(&t->out);
	t->out = rest;
}

int tls_conn_flush(struct tls_conn *t, struct error *err)
{
	struct iovec iov = { .iov_base = t->out.p, .iov_len = t->out.n };
	ssize_t n;

	if (t->out.n && !t->blocked) {
		n = conn_writev(t->below, &iov, 1, err);
		if (n < 0) {
			t->state = TLS_DEAD;
			return (int)n;
		}
		t->begun = t->begun || n > 0;
		t->blocked = (size_t)n < t->out.n;
		if (t->blocked)
			keep_output(t, (size_t)n);
		else
			buf_release(&t->out);
	}
	if (t->shut && t->state == TLS_OPEN && t->out.n == 0 && !t->below_shut) {
		t->below_shut = true;
		conn_shutdown(t->below);
	}
	return 0;
}

/* --- records -------------------------------------------------- */

void tls_source_init(struct tls_source *s, const struct iovec *iov, int n)
{
	*s = (struct tls_source){ .iov = iov, .n = n };
	for (int i = 0; i < n; i++)
		s->left += iov[i].iov_len;
}

static void source_skip(struct tls_source *s, size_t n)
{
	s->taken += n;
	s->left -= n;
	s->at += n;
	while (s->n && s->at >= s->iov->iov_len) {
		s->at -= s->iov->iov_len;
		s->iov++;
		s->n--;
	}
}

/*
 * The plaintext of the next record: in place if it is in one piece, else collected in `scratch`, so
 * that many small pieces make few records. In place it is all that the piece has of the next `most`
 * bytes: OpenSSL takes one record of it, and keeps its buffer for the next.
 */
static struct str source_peek(const struct tls_source *s, size_t most, char scratch[TLS_RECORD])
{
	size_t want = MIN(most, (size_t)TLS_RECORD), at = s->at, n = 0;

	for (const struct iovec *v = s->iov; n < want; v++, at = 0) {
		size_t piece = MIN(v->iov_len - at, want - n);

		if (piece == want)
			return str_of((const char *)v->iov_base + at, MIN(v->iov_len - at, most));
		if (piece)
			memcpy(scratch + n, (const char *)v->iov_base + at, piece);
		n += piece;
	}
	return str_of(scratch, n);
}

int tls_conn_encrypt(struct tls_conn *t, struct tls_source *s, struct error *err)
{
	size_t room = MIN(s->left, (size_t)TLS_BATCH), end = s->taken + room, n;
	char scratch[TLS_RECORD] UNZEROED;
	struct str record;

	(void)buf_reserve(&t->out, room + (room / TLS_RECORD + 1) * TLS_OVERHEAD);
	while (s->taken < end) {
		record = source_peek(s, end - s->taken, scratch);
		ERR_clear_error();
		if (SSL_write_ex(t->ssl, record.p, record.n, &n) != 1)
			return SSL_get_error(t->ssl, 0) == SSL_ERROR_WANT_READ
				       ? 1
				       : tls_conn_failure(t, err);
		source_skip(s, n);
	}
	return 0;
}
