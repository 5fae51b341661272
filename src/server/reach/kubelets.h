/*
 * kubelets - how the server reaches the nodes' agents.
 *
 * A node's status says where its agent listens: the first of its addresses by
 * the preferred types, and a port. The server shows a client certificate, given
 * or made by its own CA: user kube-apiserver-kubelet-client, who may ask kubelets for anything and
 * the server for nothing (authn.c).
 * The agent's certificate is checked against a CA that is given for it, and must be
 * for the address or, if the options say so, for the node's name. Without a CA any
 * certificate is accepted, as upstream.
 * Threads: any may ask; renewing is the first loop's.
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

/* Reads the files anew, or makes a new certificate. */
int kubelets_renew(struct kubelets *k, struct error *err);

/* A reference; NULL: they are spoken to in clear (a simulated world). */
struct tls *kubelets_tls(struct kubelets *k, bool skip_verify);

/* For what is no kubelet: no certificate is shown, none is checked. */
struct tls *kubelets_plain_tls(struct kubelets *k);

/* A port of a host, which others wrote: an address or a name, never a socket's path. */
int kubelets_address(struct str host, int port, struct addr *ret_at, struct error *err);

/* Where the agent of a node listens. The error is untyped, in upstream's words. */
int kubelets_locate(const struct kubelets *k, const struct json *node, struct addr *ret_at,
		    struct error *err);

#endif
