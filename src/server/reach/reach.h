/*
 * reach - which addresses the server connects to for others.
 *
 * Nodes write where their kubelets listen, and users write where pods and endpoints are. A writer
 * must not lead the server to places that only the server reaches, nor to the server itself, which
 * knows its own certificates.
 *
 * Threads: any may ask.
 */
#ifndef SERVER_REACH_REACH_H
#define SERVER_REACH_REACH_H

#include <stdatomic.h>

#include "net/loop/addr.h"

struct address;

enum reach_to {
	REACH_KUBELET, /* logs and commands of pods: may be on this machine */
	REACH_NODE, /* any page of a node */
	REACH_PROXY, /* of a pod or an endpoint */
	REACH_KINDS
};

struct reach {
	struct reach_rule {
		struct addr_rule rule;
		const struct reach *reach;
		bool nodes; /* must be in a range of nodes */
		bool global; /* must not be of this machine or link alone */
	} rules[REACH_KINDS];
	struct address *ranges; /* of nodes */
	size_t nranges; /* 0: nodes are anywhere */
	atomic_uint port; /* where the server itself listens; 0: not known yet */
};

/* `ranges` are texts such as "10.0.0.0/8". Does not move afterwards. */
int reach_init(struct reach *r, const char *const *ranges, size_t n, struct error *err);
void reach_release(struct reach *r);

const struct addr_rule *reach_rule(const struct reach *r, enum reach_to to);

#endif
