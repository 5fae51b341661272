/* pki_csr - reads the subject of a certificate signing request (PKCS #10). */
#ifndef NET_TLS_PKI_CSR_H
#define NET_TLS_PKI_CSR_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/core/str.h"

/*
 * The common name of the subject of a request in PEM, or empty if it has none; in the arena.
 * Returns -ERR_BAD_REQUEST if it is not a valid request.
 */
int pki_csr_common_name(struct str pem, struct arena *a, struct str *ret_name, struct error *err);

/* Whether the subject has that organisation. */
int pki_csr_has_organization(struct str pem, struct str organization, struct arena *a,
			     bool *ret_has, struct error *err);

#endif
