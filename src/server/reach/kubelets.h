/*
 * kubelets - connects to the nodes' agents.
 *
 * A node's status has the agent's address: the first of its addresses by the preferred types, and
 * a port. The server presents a client certificate, configured or made by its own CA, for the
 * user kube-apiserver-kubelet-client. That user may do everything at kubelets and nothing at the
 * server (authn.c). The agent's certificate is verified with the configured CA, and must be for
 * the address or, depending on the options, for the node's name. Without such a CA any
 * certificate is accepted, as upstream.
 *
 * Threads: any; renewing only on the first loop.
 */
#ifndef SERVER_REACH_KUBELETS_H
#define SERVER_REACH_KUBELETS_H

#include "base/core/error.h"
#include "net/loop/addr.h"

struct clock;
struct json;
struct kubelets;
struct pki_ca;
struct server_opts;
struct tls;

int kubelets_new(const struct server_opts *o, const struct pki_ca *ca, const struct clock *clock,
		 struct kubelets **ret_kubelets, struct error *err);
void kubelets_free(struct kubelets *k);

/* Reads the files again, or makes a new certificate. */
int kubelets_renew(struct kubelets *k, struct error *err);

/* A reference; NULL: connect without TLS (simulated cluster). */
struct tls *kubelets_tls(struct kubelets *k, bool skip_verify);

/* For servers other than kubelets: presents no certificate and verifies none. */
struct tls *kubelets_plain_tls(struct kubelets *k);

/*
 * Parses a host and port from an untrusted object: an address or a name, never the path of a
 * socket.
 */
int kubelets_address(struct str host, int port, struct addr *ret_at, struct error *err);

/* The address of a node's agent. The error is untyped, in upstream's wording. */
int kubelets_locate(const struct kubelets *k, const struct json *node, struct addr *ret_at,
		    struct error *err);

#endif
