/*
 * kubelet_tls - certificate and client CA of the kubelet's API.
 *
 * Without certificate files the node creates its own, as kubelet does: kubelet.crt and kubelet.key
 * below `folder`, for the node's name and address, valid for a year. A call that finds less than a
 * month left replaces it. It is signed by a key that is not stored, so clients that verify
 * certificates need files of your own, or one file with both.
 */
#ifndef NODE_KUBELET_TLS_H
#define NODE_KUBELET_TLS_H

#include "base/core/error.h"
#include "base/core/str.h"

struct clock;
struct tls;

struct kubelet_tls_opts {
	const char *cert_file, *key_file; /* both or none */
	const char *client_ca_file; /* CA of client certificates; NULL: none accepted */
	const char *folder; /* created if missing */
	struct str node_name, node_ip;
	const struct clock *clock;
};

/* Reads all files. If a given file is invalid, nothing is created or replaced. */
int kubelet_tls_new(const struct kubelet_tls_opts *opts, struct tls **ret_tls, struct error *err);

#endif
