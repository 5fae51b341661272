/*
 * tls - the TLS filter of a conn, with ALPN, SNI and client certificates.
 *
 * A `struct tls` holds keys, certificates and trust; it is immutable, counted
 * and shared by connections of all loops, so reloading certificates is making
 * a new one. TLS 1.2 and 1.3 only, forward-secret AEAD ciphers only, no
 * compression, no renegotiation. Sessions are resumed by stateless tickets,
 * which a new `struct tls` no longer takes.
 *
 * conn_shutdown() ends the stream with close_notify; conn_free() does not, for
 * a cut must not look like an end. A peer's end without close_notify is on_eof
 * between records and on_error inside a record or the handshake.
 */
#ifndef NET_TLS_TLS_H
#define NET_TLS_TLS_H

#include "base/core/error.h"
#include "base/core/str.h"
#include "net/loop/conn.h"

struct tls;

/* One key pair; the text is PEM. SNI picks the pair whose certificate fits the name. */
struct tls_pair {
	struct str cert; /* leaf first, then the chain */
	struct str key;
};

struct tls_opts {
	bool server;
	const struct tls_pair *pairs; /* servers need one; clients may have one */
	size_t npairs; /* the first is used when no name fits */
	struct str ca; /* PEM: whom to trust. Empty: clients use the system's */
	bool ask_client_cert; /* server: ask; a certificate not signed by `ca` ends the handshake */
	bool require_client_cert; /* server: no certificate, no handshake */
	bool insecure_skip_verify; /* client: trust anybody */
	const char *const *alpn; /* in order of preference, NULL-terminated; NULL: none */
};

int tls_new(const struct tls_opts *opts, struct tls **ret_tls, struct error *err);
struct tls *tls_ref(struct tls *t);
void tls_unref(struct tls *t);

/*
 * Puts TLS on an accepted or connected conn and starts the handshake; owns
 * `below` from now on, also on failure. on_open follows when the handshake is
 * done. A client names the server it expects (`server_name`: DNS name or IP),
 * which is checked against the certificate and, if a name, sent as SNI. The
 * loop's clock says whether a certificate has expired.
 */
int tls_wrap(struct tls *t, struct conn *below, const char *server_name,
	     const struct conn_events *events, void *arg, struct conn **ret_conn,
	     struct error *err);

/*
 * The peer's verified leaf certificate: subject common name and organisations
 * (Kubernetes: user and groups). -ERR_NOT_FOUND when there is none. Strings are
 * copied into the arena. The certificate was valid when the handshake (or that
 * of the session which it resumes) was made: whoever serves a connection for
 * long looks at `not_after`.
 */
struct arena;
struct tls_peer {
	struct str common_name;
	struct str *organizations;
	size_t norganizations;
	int64_t not_after; /* seconds since 1970 */
	char fingerprint[65]; /* SHA-256 of the certificate in hex, terminated */
};
int tls_peer(struct conn *c, struct arena *a, struct tls_peer *ret_peer, struct error *err);

/* The same of the first certificate in PEM text, whatever it is worth. */
int tls_peer_read(struct str pem, struct arena *a, struct tls_peer *ret_peer, struct error *err);

DEFINE_CLEANUP(tls_unref, struct tls *);

#endif
