/*
 * serving_cert - the certificate with which a role serves HTTPS.
 *
 * It comes from files, which are read again every hour, or is self-signed, kept in memory only and
 * renewed in time. Threads: its loop's.
 */
#ifndef CLI_ROLES_SERVING_CERT_H
#define CLI_ROLES_SERVING_CERT_H

#include "base/core/error.h"

struct addr;
struct http_server;
struct log;
struct loop;
struct serving_cert;

struct serving_cert_opts {
	struct loop *loop;
	const struct log *log; /* or NULL */
	const char *cert_file, *key_file; /* both, or NULL: self-signed */
	const char *name; /* for errors: "the certificate of --metrics-bind-address" */
	const char *ca_name; /* of the self-signed one's CA */
};

int serving_cert_new(const struct serving_cert_opts *opts, struct serving_cert **ret_cert,
		     struct error *err);
void serving_cert_free(struct serving_cert *c); /* NULL allowed */

/* Listens with it, and renews it from then on. The server must outlive it. */
int serving_cert_listen(struct serving_cert *c, struct http_server *server, const struct addr *at,
			struct addr *ret_at, struct error *err);

#endif
