/*
 * pki - the keys and certificates of a cluster: its own CA and the certificates that it signs.
 *
 * All keys are P-256: making one takes microseconds. Input and output is PEM text, appended to the
 * caller's buffers, so callers don't see the library below. Times come from a clock: a simulated
 * cluster has simulated certificates.
 * Threads: a CA does not change after it was made; any thread may issue.
 */
#ifndef NET_TLS_PKI_H
#define NET_TLS_PKI_H

#include "base/core/buf.h"
#include "base/core/clock.h"
#include "base/core/error.h"
#include "base/core/str.h"

struct pki_ca;

/* The longest lifetime allowed. */
#define PKI_LIFETIME_MAX (INT64_C(100) * 366 * 24 * 3600)

/* Certificates are valid from this long before their creation, because clocks differ. */
#define PKI_BACKDATE INT64_C(300)

/* A self-signed CA with a new key, valid for `lifetime` seconds from now on. */
int pki_ca_new(struct str common_name, int64_t lifetime, const struct clock *clock,
	       struct pki_ca **ret_ca, struct error *err);

/* Loads a CA. Rejects a certificate that is not a CA's, or does not match the key. */
int pki_ca_load(struct str cert, struct str key, struct pki_ca **ret_ca, struct error *err);

void pki_ca_free(struct pki_ca *ca);

/* Appends the CA's certificate or private key. */
int pki_ca_cert(const struct pki_ca *ca, struct buf *cert, struct error *err);
int pki_ca_key(const struct pki_ca *ca, struct buf *key, struct error *err);

/* The content of a certificate. */
struct pki_leaf {
	struct str common_name; /* Kubernetes: the user */
	const struct str *organizations; /* Kubernetes: the groups */
	size_t norganizations;
	const struct str *hosts; /* DNS names, also "*.name", and IP addresses */
	size_t nhosts;
	bool server, client; /* its uses; at least one */
	int64_t lifetime; /* seconds; cut to the CA's own lifetime */
};

/* Makes a key and a certificate for it; appends both, or neither. */
int pki_issue(const struct pki_ca *ca, const struct pki_leaf *leaf, const struct clock *clock,
	      struct buf *cert, struct buf *key, struct error *err);

/*
 * The same with a CA of its own, which is called `ca_name`. Its key is not kept. Appends the CA's
 * certificate after the leaf's, so that `cert` is a chain to serve and a file to trust.
 */
int pki_issue_alone(struct str ca_name, const struct pki_leaf *leaf, const struct clock *clock,
		    struct buf *cert, struct buf *key, struct error *err);

/* Appends a new private key without a certificate, for example for signing tokens. */
int pki_key_new(struct buf *key, struct error *err);

/* When the first certificate of `cert` expires, in seconds since 1970. */
int pki_not_after(struct str cert, int64_t *ret_seconds, struct error *err);

/*
 * The name by which a client that connects to `host` can verify the first certificate of `cert`:
 * empty if that is `host` itself, else a DNS name that the certificate has.
 */
#define PKI_NAME_SIZE 256
int pki_server_name(struct str cert, const char *host, char ret_name[static PKI_NAME_SIZE],
		    struct error *err);

DEFINE_CLEANUP(pki_ca_free, struct pki_ca *);

#endif
