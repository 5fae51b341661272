/*
 * node_lease - renews the Lease in kube-node-lease that shows that a node is alive.
 *
 * As kubelet does: the Lease is named like the node, owned by the Node object, and renewed every
 * quarter of its duration. A renewal is a merge patch; a missing Lease is created. Failures are
 * retried with back-off, at most a quarter of the duration later.
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
	const char *name; /* name of the node; borrowed */
	int64_t duration_s;
	const struct log *log; /* or NULL */
};

/* Does nothing before node_lease_set_owner(). */
struct node_lease *node_lease_new(const struct node_lease_opts *opts);
void node_lease_free(struct node_lease *l); /* NULL allowed */

/*
 * Sets the Node's uid. The first call starts the Lease; another uid (the Node was recreated) takes
 * effect at once.
 */
void node_lease_set_owner(struct node_lease *l, struct str uid);

#endif
