/*
 * tls - the TLS filter of a conn, with ALPN, SNI and client certificates.
 *
 * A `struct tls` holds keys, certificates and trust. It is immutable, reference-counted and shared
 * by connections of all loops; to reload certificates, make a new one. TLS 1.2 and 1.3 only,
 * forward-secret AEAD ciphers only, no compression, no renegotiation. Sessions are resumed by
 * stateless tickets, which a new `struct tls` no longer accepts.
 *
 * conn_shutdown() ends the stream with close_notify. conn_free() does not, because an aborted
 * stream must not look like a complete one. If the peer ends without close_notify, that is on_eof
 * between records, and on_error inside a record or the handshake.
 */
#ifndef NET_TLS_TLS_H
#define NET_TLS_TLS_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "net/loop/conn.h"

struct tls;

/* One key pair in PEM. SNI selects the pair whose certificate matches the name. */
struct tls_pair {
	struct str cert; /* leaf first, then the chain */
	struct str key;
};

struct tls_opts {
	bool server;
	const struct tls_pair *pairs; /* servers need one; clients may have one */
	size_t npairs; /* the first is used if no name matches */
	struct str ca; /* PEM: trusted CAs. Empty: clients use the system's */
	bool ask_client_cert; /* server: request one; fails the handshake unless signed by `ca` */
	bool require_client_cert; /* server: without a certificate the handshake fails */
	bool insecure_skip_verify; /* client: accept any server */
	const char *const *alpn; /* in order of preference, NULL-terminated; NULL: none */
};

int tls_new(const struct tls_opts *opts, struct tls **ret_tls, struct error *err);
struct tls *tls_ref(struct tls *t);
void tls_unref(struct tls *t);

/*
 * Puts TLS on an accepted or connected conn and starts the handshake. Owns `below` from now on,
 * also on failure. on_open follows when the handshake is done. A client passes the server's name
 * (`server_name`: DNS name or IP), which is checked against the certificate and, if a name, sent as
 * SNI. The loop's clock decides whether a certificate has expired.
 */
int tls_wrap(struct tls *t, struct conn *below, const char *server_name,
	     const struct conn_events *events, void *arg, struct conn **ret_conn,
	     struct error *err);

/*
 * The peer's verified leaf certificate: subject common name and organisations (Kubernetes: user and
 * groups). Returns -ERR_NOT_FOUND without a certificate. Strings are copied into the arena. The
 * certificate was valid at the handshake, or at that of the resumed session. Long-lived connections
 * must check `not_after`.
 */
struct arena;
struct tls_peer {
	struct str common_name;
	struct str *organizations;
	size_t norganizations;
	int64_t not_after; /* seconds since 1970 */
	char fingerprint[65]; /* SHA-256 of the certificate in hex, NUL-terminated */
};
int tls_peer(struct conn *c, struct arena *a, struct tls_peer *ret_peer, struct error *err);

/* The same for the first certificate in PEM text, without verifying it. */
int tls_peer_read(struct str pem, struct arena *a, struct tls_peer *ret_peer, struct error *err);

DEFINE_CLEANUP(tls_unref, struct tls *);

#endif
