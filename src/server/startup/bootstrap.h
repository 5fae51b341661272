/*
 * bootstrap - the files that a server creates for itself in its data folder.
 *
 *   pki/ca.crt, pki/ca.key   the cluster's CA, made once
 *   admin.kubeconfig         an administrator's, CA and client certificate embedded;
 *                            made again at every start
 *   server-id                the server's name among those on one etcd, made once
 *
 * The serving certificate is made at every start for the current addresses, and is kept only in
 * memory. Keys are P-256; files have mode 0600 and are written atomically.
 */
#ifndef SERVER_STARTUP_BOOTSTRAP_H
#define SERVER_STARTUP_BOOTSTRAP_H

#include "base/core/buf.h"
#include "base/core/error.h"
#include "net/tls/pki.h"

struct addr;
struct clock;
struct pki_ca;
struct server_opts;
struct tls;

/* Loads the CA, or creates it. */
int bootstrap_ca(const char *data_dir, const struct clock *clock, struct pki_ca **ret_ca,
		 struct error *err);

/* The CAs of accepted client certificates: our own and those of --client-ca-file, as PEM. */
int bootstrap_trust(const struct server_opts *o, const struct pki_ca *ca, struct buf *out,
		    struct error *err);

/* TLS for serving: the given certificate, or our own. */
int bootstrap_tls(const struct server_opts *o, const struct pki_ca *ca, const struct clock *clock,
		  struct tls **ret_tls, struct error *err);

/*
 * How this machine reaches a server at `at`: the URL, and appends the PEM that verifies its
 * certificate. The certificate's name for that, empty for the URL's own host: a configured
 * certificate may lack it.
 */
#define BOOTSTRAP_URL_SIZE 256
int bootstrap_own_url(const struct server_opts *o, const struct pki_ca *ca, const struct addr *at,
		      char ret_url[static BOOTSTRAP_URL_SIZE], struct buf *trust,
		      struct error *err);
int bootstrap_own_name(const struct server_opts *o, const struct addr *at, struct str trust,
		       char ret_name[static PKI_NAME_SIZE], struct error *err);

/* Writes admin.kubeconfig for a server at `at`; the caller frees *ret_path. */
int bootstrap_kubeconfig(const struct server_opts *o, const struct pki_ca *ca,
			 const struct addr *at, const struct clock *clock, char **ret_path,
			 struct error *err);

/*
 * Creates server-id if it is missing, for a server that may only read it (identity.h). A server
 * that may write does that by itself.
 */
int bootstrap_identity(const char *data_dir, struct error *err);

#endif
