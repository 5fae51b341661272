/*
 * node_lease - the Lease in kube-node-lease by which a node shows that it lives.
 *
 * As kubelet keeps it: named like the node, owned by the Node object, renewed every quarter of
 * its duration. A renewal is a merge patch; the Lease is made when it is not there. What fails
 * is tried again with back-off, at most a quarter later.
 * Threads: the loop's.
 */
#ifndef NODE_REGISTRATION_LEASE_H
#define NODE_REGISTRATION_LEASE_H

#include "base/core/str.h"

struct client;
struct log;
struct loop;
struct node_lease;

struct node_lease_opts {
	struct loop *loop;
	struct client *client;
	const char *name; /* of the node; borrowed */
	int64_t duration_s;
	const struct log *log; /* or NULL */
};

/* Does nothing before it knows its owner. */
struct node_lease *node_lease_new(const struct node_lease_opts *opts);
void node_lease_free(struct node_lease *l); /* NULL allowed */

/*
 * The Node's uid. The first one starts it; another (the Node was made anew) takes effect at
 * once.
 */
void node_lease_set_owner(struct node_lease *l, struct str uid);

#endif
