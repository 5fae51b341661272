/*
 * client_tls - flags that select the trusted CA and the client certificate, and the `struct tls`
 * made from them. Names are kubectl's.
 */
#ifndef CLI_PROBE_CLIENT_TLS_H
#define CLI_PROBE_CLIENT_TLS_H

#include "cli/program/cli.h"

struct tls;

/* Embed it in the options of a command. */
struct client_tls_options {
	const char *ca_file, *cert_file, *key_file;
	bool insecure;
};

/* The rows for it; `member` is its name in the options struct. */
#define CLIENT_TLS_FLAGS(type, member)                                                         \
	{ "certificate-authority", 0, FLAG_STRING(type, member.ca_file), .arg = "FILE",        \
	  .help = "trust this CA instead of the system's" },                                   \
		{ "client-certificate", 0, FLAG_STRING(type, member.cert_file), .arg = "FILE", \
		  .help = "client certificate to authenticate with" },                         \
		{ "client-key", 0, FLAG_STRING(type, member.key_file), .arg = "FILE",          \
		  .help = "private key of the certificate" },                                  \
	{                                                                                      \
		"insecure-skip-tls-verify", 'k', FLAG_BOOL(type, member.insecure),             \
			.help = "do not verify the server's certificate"                       \
	}

/* `alpn` ends with NULL and must outlive the result. */
int client_tls_new(struct cli *cli, const struct client_tls_options *o, const char *const *alpn,
		   struct tls **ret_tls, struct error *err);

#endif
