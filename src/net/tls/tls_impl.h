/*
 * tls_impl - what the files of TLS share: tls.c (keys and trust), tls/conn.c
 * (the filter), tls/record.c (between OpenSSL and the conn below), tls_peer.c.
 */
#ifndef NET_TLS_TLS_IMPL_H
#define NET_TLS_TLS_IMPL_H

#include "net/tls/pki_impl.h"

#include <stdatomic.h>

#include "base/core/buf.h"
#include "net/loop/conn_impl.h"
#include "net/tls/tls.h"

enum {
	TLS_RECORD = 16 * 1024, /* most plaintext in one record */
};

struct tls {
	atomic_uint refs;
	bool server;
	/* One per key pair, else the same: OpenSSL holds one certificate of a kind in each. */
	SSL_CTX **ctx;
	size_t nctx;
	BIO_METHOD *bio; /* how OpenSSL reads from and writes to a tls_conn */
	struct buf alpn; /* as on the wire: each name after its length */
};

enum tls_state {
	TLS_HANDSHAKE,
	TLS_OPEN,
	TLS_DEAD, /* the owner knows, or learns it from `failure` */
};

struct tls_conn {
	struct conn conn;
	struct conn *below;
	struct tls *tls;
	SSL *ssl;
	enum tls_state state;
	bool begun; /* `below` is connected: it took bytes, or brought some */
	bool blocked; /* `below` took less than it was given */
	bool want_writable; /* on_writable is owed */
	bool shut; /* no more will be written */
	bool below_shut; /* told so to `below` */
	bool eof; /* on_eof was called */
	bool below_eof;
	const char *in; /* ciphertext not yet read by OpenSSL ... */
	size_t in_n;
	char *kept; /* ... and its memory, when it had to outlive its delivery */
	struct buf out; /* ciphertext not yet taken by `below` */
	char fingerprint[65]; /* of the peer's certificate, once somebody asked; else empty */
	struct error *failure; /* to be told by the task */
	struct loop_task task; /* resumes, reports, and frees in the end */
};

extern const struct conn_ops tls_conn_ops;

/* A session that is ready for SSL_do_handshake(), but for its BIO. */
int tls_session_new(const struct tls *t, const char *server_name, SSL **ret_ssl, struct error *err);

/* The data of such a BIO is its struct tls_conn. */
BIO_METHOD *tls_bio_method_new(void);

/* "server 10.0.0.1:6443" or "client ...": the peer, in messages. */
#define TLS_PEER_FMT     "%s %s"
#define TLS_PEER_ARGS(t) (t)->tls->server ? "client" : "server", (t)->conn.peer->text

/* What OpenSSL's last call failed of, in words that help whoever set up the certificates. */
int tls_conn_failure(const struct tls_conn *t, struct error *err);

/*
 * Offers `out` to the conn below, unless that is blocked. After a failure the
 * conn is dead; whether the owner must be told depends on who called.
 */
int tls_conn_flush(struct tls_conn *t, struct error *err);

/* The caller's iovecs as a stream of plaintext. */
struct tls_source {
	const struct iovec *iov;
	int n;
	size_t at; /* bytes of iov[0] that are behind us */
	size_t taken, left;
};

void tls_source_init(struct tls_source *s, const struct iovec *iov, int n);

/*
 * Encrypts a batch into `out`. 1 when OpenSSL must read first: it is in the
 * middle of a message from the peer that belongs to the protocol itself.
 */
int tls_conn_encrypt(struct tls_conn *t, struct tls_source *s, struct error *err);

#endif
