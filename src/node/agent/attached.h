/*
 * node_attach - `devplane node --attach`: a book of resources filled from the local kubelet, and
 * the PodResources server on it (PodResources watch KEP).
 */
#ifndef NODE_AGENT_ATTACHED_H
#define NODE_AGENT_ATTACHED_H

#include "node/attach/attach.h"
#include "node/podresources/server.h"

struct node_attach;

/* The `book` members of both are set here. `server.path` is required. */
struct node_attach_opts {
	struct attach_opts attach;
	struct podres_server_opts server;
};

int node_attach_new(const struct node_attach_opts *opts, struct node_attach **ret_attach,
		    struct error *err);
/* `done` is called once. Then free it. */
void node_attach_stop(struct node_attach *n, void (*done)(void *arg), void *arg);
void node_attach_free(struct node_attach *n); /* NULL allowed */
int node_attach_check(const struct node_attach *n, struct error *err); /* for /readyz */

#endif
