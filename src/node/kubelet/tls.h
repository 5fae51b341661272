/*
 * kubelet_tls - certificate and trust of the kubelet's API.
 *
 * Without a certificate given by files the node makes its own, as kubelet does: kubelet.crt and
 * kubelet.key below `folder`, for the node's name and address, good for a year and made anew by a
 * call that finds less than a month left of it. It is signed by a key that nobody keeps, so whoever
 * wants to verify it gives files of their own, or one file with both.
 */
#ifndef NODE_KUBELET_TLS_H
#define NODE_KUBELET_TLS_H

#include "base/core/error.h"
#include "base/core/str.h"

struct clock;
struct tls;

struct kubelet_tls_opts {
	const char *cert_file, *key_file; /* both or none */
	const char *client_ca_file; /* who signs certificates of clients; NULL: nobody */
	const char *folder; /* made where missing */
	struct str node_name, node_ip;
	const struct clock *clock;
};

/* Reads all files; nothing is made or replaced when one that was given is of no use. */
int kubelet_tls_new(const struct kubelet_tls_opts *opts, struct tls **ret_tls, struct error *err);

#endif
