/*
 * pki_csr - a certificate signing request (PKCS #10): whom it is for.
 */
#ifndef NET_TLS_PKI_CSR_H
#define NET_TLS_PKI_CSR_H

#include "base/core/arena.h"
#include "base/core/error.h"
#include "base/core/str.h"

/*
 * The common name of the subject of a request in PEM, empty when it has none; in the arena.
 * -ERR_BAD_REQUEST when it is no such request.
 */
int pki_csr_common_name(struct str pem, struct arena *a, struct str *ret_name, struct error *err);

/* Whether one of the subject's organisations is that one. */
int pki_csr_has_organization(struct str pem, struct str organization, struct arena *a,
			     bool *ret_has, struct error *err);

#endif
