/*
 * The TLS filter: OpenSSL between two conns, without buffers of our own.
 *
 * Everything from below goes to progress(), which lets OpenSSL do its work, delivers the plaintext,
 * and flushes output. Input is read in place and plaintext is on the stack; only a pause in
 * mid-delivery copies the rest.
 *
 * An end of the stream without close_notify is an error inside a record or a handshake, and an
 * ordinary end between records: HTTP has its own framing, and too many peers just close.
 * conn_free() sends no close_notify, because an aborted connection must not look complete;
 * conn_shutdown() does.
 *
 * No function of OpenSSL is on the stack when we call the owner, so the owner may free the conn in
 * any callback; the memory is freed in a deferred task.
 */
#include "net/tls/tls_impl.h"

#include <assert.h>

#include "base/core/mem.h"
#include "net/net_limits.h"

static struct tls_conn *self_of(struct conn *c)
{
	return CONTAINER_OF(c, struct tls_conn, conn);
}

/* Reports the failure to the owner, after sending OpenSSL's alert. */
static void die(struct tls_conn *t, const struct error *err)
{
	if (t->state != TLS_DEAD)
		(void)tls_conn_flush(t, NULL);
	t->state = TLS_DEAD;
	t->in_n = 0;
	conn_up_error(&t->conn, err);
}

static void tell_writable(struct tls_conn *t)
{
	if (t->conn.closed || t->state != TLS_OPEN || t->blocked || !t->want_writable)
		return;
	t->want_writable = false;
	conn_up_writable(&t->conn);
}

/* --- input --------------------------------------------------------------------------- */

static void send_close_notify(struct tls_conn *t)
{
	ERR_clear_error();
	(void)SSL_shutdown(t->ssl);
	ERR_clear_error();
}

static int handshake(struct tls_conn *t, struct error *err)
{
	ERR_clear_error();
	if (SSL_do_handshake(t->ssl) != 1) {
		if (SSL_get_error(t->ssl, 0) != SSL_ERROR_WANT_READ)
			return tls_conn_failure(t, err);
		if (t->below_eof)
			return error_set(err, ERR_UNAVAILABLE,
					 "the connection was closed during the TLS handshake "
					 "(" TLS_PEER_FMT ")",
					 TLS_PEER_ARGS(t));
		return 0;
	}
	t->state = TLS_OPEN;
	if (t->conn.paused)
		conn_pause(t->below);
	if (t->shut)
		send_close_notify(t);
	conn_up_open(&t->conn);
	return 0;
}

/* The stream ended without close_notify. */
static int end_without_notice(struct tls_conn *t, struct error *err)
{
	/* "RB": the record's header is read, its body is not. */
	if (SSL_has_pending(t->ssl) || strcmp(SSL_rstate_string(t->ssl), "RB") == 0)
		return error_set(err, ERR_UNAVAILABLE,
				 "the connection was cut inside a TLS record (" TLS_PEER_FMT ")",
				 TLS_PEER_ARGS(t));
	t->eof = true;
	conn_up_eof(&t->conn);
	return 0;
}

/* Why SSL_read returned nothing. */
static int read_stopped(struct tls_conn *t, struct error *err)
{
	switch (SSL_get_error(t->ssl, 0)) {
	case SSL_ERROR_WANT_READ:
		return t->below_eof ? end_without_notice(t, err) : 0;
	case SSL_ERROR_ZERO_RETURN:
		t->in_n = 0;
		t->eof = true;
		conn_up_eof(&t->conn);
		return 0;
	default:
		return tls_conn_failure(t, err);
	}
}

static bool may_deliver(const struct tls_conn *t)
{
	return !t->conn.closed && t->state == TLS_OPEN && !t->conn.paused && !t->eof;
}

/* With a buffer as large as a record, nothing is left in OpenSSL when we stop. */
static int conn_deliver(struct tls_conn *t, struct error *err)
{
	char plain[TLS_RECORD] UNZEROED;
	size_t n;

	while (may_deliver(t)) {
		ERR_clear_error();
		if (SSL_read_ex(t->ssl, plain, sizeof(plain), &n) != 1)
			return read_stopped(t, err);
		conn_up_data(&t->conn, plain, n);
	}
	return 0;
}

/* Copies input that a paused owner must not see yet. */
static void keep_input(struct tls_conn *t)
{
	if (t->in_n == 0) {
		free(TAKE(t->kept));
		t->in = NULL;
	} else if (!t->kept) {
		t->kept = xmalloc(t->in_n);
		memcpy(t->kept, t->in, t->in_n);
		t->in = t->kept;
	}
}

/* Does everything that the input allows. The conn may be closed afterwards. */
static void progress(struct tls_conn *t)
{
	struct error err UNZEROED;
	int r = 0;

	if (t->state == TLS_HANDSHAKE)
		r = handshake(t, &err);
	if (r == 0 && may_deliver(t))
		r = conn_deliver(t, &err);
	if (t->conn.closed)
		return;
	/* If a write by the owner failed meanwhile, the owner got that error. */
	if (r == 0 && t->state != TLS_DEAD)
		r = tls_conn_flush(t, &err);
	if (r < 0)
		die(t, &err);
	tell_writable(t);
	if (!t->conn.closed)
		keep_input(t);
}

/* --- events of the conn below ---------------------------------------------------------- */

static void below_data(void *arg, char *data, size_t n)
{
	struct tls_conn *t = arg;

	if (t->state == TLS_DEAD || t->eof)
		return;
	assert(!t->kept); /* `below` is paused while we keep anything */
	t->begun = true;
	t->in = data;
	t->in_n = n;
	progress(t);
}

static void below_eof(void *arg)
{
	struct tls_conn *t = arg;

	t->below_eof = true;
	if (t->state != TLS_DEAD)
		progress(t);
}

static void below_writable(void *arg)
{
	struct tls_conn *t = arg;
	struct error err;

	t->blocked = false;
	if (t->state == TLS_DEAD)
		(void)tls_conn_flush(t, NULL); /* the alert */
	else if (tls_conn_flush(t, &err) < 0)
		die(t, &err);
	tell_writable(t);
}

static void below_error(void *arg, const struct error *below)
{
	struct tls_conn *t = arg;
	struct error err = *below;

	if (t->state == TLS_DEAD)
		return;
	/* Failures to resolve or connect happen before the handshake. */
	if (t->state == TLS_HANDSHAKE && t->begun)
		(void)error_wrap(&err, 0, "TLS handshake");
	t->state = TLS_DEAD;
	die(t, &err);
}

static const struct conn_events below_events = {
	.on_data = below_data,
	.on_eof = below_eof,
	.on_writable = below_writable,
	.on_error = below_error,
};

/* --- the filter's verbs ---------------------------------------------------------------- */

static ssize_t tls_conn_writev(struct conn *c, const struct iovec *iov, int n, struct error *err)
{
	struct tls_conn *t = self_of(c);
	struct tls_source s;
	int r, stalled = 0;

	if (t->state == TLS_DEAD)
		return error_set(err, ERR_UNAVAILABLE,
				 "the TLS connection is broken (" TLS_PEER_FMT ")",
				 TLS_PEER_ARGS(t));
	tls_source_init(&s, iov, n);
	while (s.left && t->state == TLS_OPEN && !t->blocked && !stalled) {
		stalled = r = tls_conn_encrypt(t, &s, err);
		if (r >= 0)
			r = tls_conn_flush(t, err);
		if (r < 0) {
			t->state = TLS_DEAD;
			return r;
		}
	}
	t->want_writable = s.left > 0;
	return (ssize_t)s.taken;
}

static void tls_conn_pause(struct conn *c, bool pause)
{
	struct tls_conn *t = self_of(c);

	if (t->state != TLS_OPEN)
		return;
	if (pause)
		conn_pause(t->below);
	else if (t->kept || t->below_eof)
		loop_defer(c->loop, &t->task);
	else
		conn_resume(t->below);
}

static void tls_conn_shutdown(struct conn *c)
{
	struct tls_conn *t = self_of(c);
	struct error err;

	if (t->shut || t->state == TLS_DEAD)
		return;
	t->shut = true;
	if (t->state == TLS_HANDSHAKE)
		return;
	send_close_notify(t);
	if (tls_conn_flush(t, &err) < 0) {
		t->failure = xmalloc(sizeof(err));
		*t->failure = err;
		loop_defer(c->loop, &t->task);
	}
}

static bool tls_conn_flushed(const struct conn *c)
{
	const struct tls_conn *t = (const struct tls_conn *)c;

	return t->out.n == 0 && conn_flushed(t->below);
}

static bool tls_conn_hung_up(const struct conn *c)
{
	const struct tls_conn *t = (const struct tls_conn *)c;

	return !t->eof && (t->below_eof || conn_hung_up(t->below));
}

static void tls_conn_close(struct conn *c)
{
	struct tls_conn *t = self_of(c);

	conn_free(t->below);
	SSL_free(t->ssl);
	tls_unref(t->tls);
	buf_release(&t->out);
	free(t->kept);
	free(t->failure);
	loop_defer(c->loop, &t->task);
}

static struct str tls_conn_alpn(const struct conn *c)
{
	const struct tls_conn *t = CONTAINER_OF(c, const struct tls_conn, conn);
	const unsigned char *p;
	unsigned n;

	SSL_get0_alpn_selected(t->ssl, &p, &n);
	return str_of(p, n);
}

const struct conn_ops tls_conn_ops = {
	.writev = tls_conn_writev,
	.pause = tls_conn_pause,
	.shutdown = tls_conn_shutdown,
	.close = tls_conn_close,
	.alpn = tls_conn_alpn,
	.flushed = tls_conn_flushed,
	.hung_up = tls_conn_hung_up,
	.is_tls = true,
};

static void run_task(struct loop_task *task)
{
	struct tls_conn *t = CONTAINER_OF(task, struct tls_conn, task);
	struct error err;

	if (t->conn.closed) {
		free(t);
		return;
	}
	if (t->failure) {
		err = *t->failure;
		free(TAKE(t->failure));
		die(t, &err);
		return;
	}
	progress(t);
	if (!t->conn.closed && !t->conn.paused && t->state == TLS_OPEN)
		conn_resume(t->below);
}

/* --- making one ------------------------------------------------------------------------ */

static int attach_bio(struct tls_conn *t, struct error *err)
{
	BIO *bio = BIO_new(t->tls->bio);

	if (!bio)
		return pki_fail(err, ERR_INTERNAL, "cannot start TLS");
	BIO_set_data(bio, t);
	SSL_set_bio(t->ssl, bio, bio);
	return 0;
}

static int conn_start(struct tls_conn *t, const char *server_name, struct error *err)
{
	int64_t now = clock_wall(loop_clock(t->conn.loop)) / CLOCK_SEC;
	int r = tls_session_new(t->tls, server_name, &t->ssl, err);

	if (r < 0)
		return r;
	r = attach_bio(t, err);
	if (r < 0)
		return r;
	/* Certificates are checked by the loop's clock, which may be simulated. */
	X509_VERIFY_PARAM_set_time(SSL_get0_param(t->ssl), (time_t)now);
	r = handshake(t, err);
	return r < 0 ? r : tls_conn_flush(t, err);
}

int tls_wrap(struct tls *t, struct conn *below, const char *server_name,
	     const struct conn_events *events, void *arg, struct conn **ret_conn, struct error *err)
{
	struct tls_conn *c = XNEW(struct tls_conn);
	int r;

	c->conn = (struct conn){
		.ops = &tls_conn_ops,
		.loop = below->loop,
		.events = events,
		.arg = arg,
		.peer = below->peer,
	};
	c->below = below;
	c->tls = tls_ref(t);
	buf_init(&c->out, TLS_PENDING_MAX);
	loop_task_init(&c->task, run_task);
	conn_set_events(below, &below_events, c);
	conn_resume(below);
	r = conn_start(c, server_name, err);
	if (r < 0) {
		conn_free(&c->conn);
		return r;
	}
	*ret_conn = &c->conn;
	return 0;
}
