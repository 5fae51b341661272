/*
 * reach - which addresses the server may connect to on behalf of others.
 *
 * Nodes write the addresses of their kubelets, and users write those of pods and endpoints. Such
 * a writer must not make the server connect to addresses that only the server can reach, nor to
 * the server itself, which knows its own certificates.
 *
 * Threads: any.
 */
#ifndef SERVER_REACH_REACH_H
#define SERVER_REACH_REACH_H

#include <stdatomic.h>

#include "net/loop/addr.h"

struct address;

enum reach_to {
	REACH_KUBELET, /* logs and commands of pods: may be on this machine */
	REACH_NODE, /* any URL of a node */
	REACH_PROXY, /* a pod or an endpoint */
	REACH_KINDS
};

struct reach {
	struct reach_rule {
		struct addr_rule rule;
		const struct reach *reach;
		bool nodes; /* must be in one of `ranges` */
		bool global; /* must not be a loopback or link-local address */
	} rules[REACH_KINDS];
	struct address *ranges; /* allowed addresses of nodes */
	size_t nranges; /* 0: any address */
	atomic_uint port; /* the server's own port; 0: not known yet */
};

/* `ranges` are texts such as "10.0.0.0/8". `r` must not move afterwards. */
int reach_init(struct reach *r, const char *const *ranges, size_t n, struct error *err);
void reach_release(struct reach *r);

const struct addr_rule *reach_rule(const struct reach *r, enum reach_to to);

#endif
