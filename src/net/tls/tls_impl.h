/*
 * tls_impl - shared by the files of TLS: tls.c (keys and trust), tls/conn.c (the filter),
 * tls/record.c (between OpenSSL and the conn below), tls/peer.c.
 */
#ifndef NET_TLS_TLS_IMPL_H
#define NET_TLS_TLS_IMPL_H

#include "net/tls/pki_impl.h"

#include <stdatomic.h>

#include "base/core/buf.h"
#include "net/loop/filter.h"
#include "net/tls/tls.h"

enum {
	TLS_RECORD = 16 * 1024, /* most plaintext in one record */
};

struct tls {
	atomic_uint refs;
	bool server;
	/*
	 * One per key pair, otherwise identical: OpenSSL holds one certificate of a kind in each.
	 */
	SSL_CTX **ctx;
	size_t nctx;
	BIO_METHOD *bio; /* connects OpenSSL to a tls_conn */
	struct buf alpn; /* in wire format: each name after its length */
};

enum tls_state {
	TLS_HANDSHAKE,
	TLS_OPEN,
	TLS_DEAD, /* the owner knows, or is notified by `failure` */
};

struct tls_conn {
	struct conn conn;
	struct conn *below;
	struct tls *tls;
	SSL *ssl;
	enum tls_state state;
	bool begun; /* `below` is connected: it took or delivered bytes */
	bool blocked; /* `below` took less than it was given */
	bool want_writable; /* an on_writable is due */
	bool shut; /* writing has ended */
	bool below_shut; /* `below` was shut down, too */
	bool eof; /* on_eof was called */
	bool below_eof;
	const char *in; /* ciphertext not yet read by OpenSSL ... */
	size_t in_n;
	char *kept; /* ... and its memory, when it had to outlive its delivery */
	struct buf out; /* ciphertext not yet taken by `below` */
	char fingerprint[65]; /* of the peer's certificate, once requested; else empty */
	struct error *failure; /* to be reported by the task */
	struct loop_task task; /* resumes, reports, and frees in the end */
};

extern const struct conn_ops tls_conn_ops;

/* A session ready for SSL_do_handshake(), except for its BIO. */
int tls_session_new(const struct tls *t, const char *server_name, SSL **ret_ssl, struct error *err);

/* The data of such a BIO is its struct tls_conn. */
BIO_METHOD *tls_bio_method_new(void);

/* "server 10.0.0.1:6443" or "client ...": the peer, in messages. */
#define TLS_PEER_FMT     "%s %s"
#define TLS_PEER_ARGS(t) (t)->tls->server ? "client" : "server", (t)->conn.peer->text

/* The error of OpenSSL's last call, worded for people who set up certificates. */
int tls_conn_failure(const struct tls_conn *t, struct error *err);

/*
 * Writes `out` to the conn below, unless that is blocked. After a failure the conn is dead; the
 * caller decides whether the owner must be notified.
 */
int tls_conn_flush(struct tls_conn *t, struct error *err);

/* The caller's iovecs as a stream of plaintext. */
struct tls_source {
	const struct iovec *iov;
	int n;
	size_t at; /* bytes of iov[0] already used */
	size_t taken, left;
};

void tls_source_init(struct tls_source *s, const struct iovec *iov, int n);

/*
 * Encrypts a batch into `out`. Returns 1 if OpenSSL must read first: it is in the middle of a
 * protocol message from the peer.
 */
int tls_conn_encrypt(struct tls_conn *t, struct tls_source *s, struct error *err);

#endif
