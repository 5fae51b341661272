/*
 * attached - `devplane node --attach`: a book of resources filled from the local kubelet, and
 * the PodResources server on it (PodResources watch KEP).
 */
#ifndef NODE_AGENT_ATTACHED_H
#define NODE_AGENT_ATTACHED_H

#include "node/attach/attach.h"
#include "node/podresources/server.h"

struct attached;

/* The `book` members of both are set here. `server.path` is required. */
struct attached_opts {
	struct attach_opts attach;
	struct podres_server_opts server;
};

int attached_new(const struct attached_opts *opts, struct attached **ret_attached,
		 struct error *err);
/* `done` is called once. Then free it. */
void attached_stop(struct attached *n, void (*done)(void *arg), void *arg);
void attached_free(struct attached *n); /* NULL allowed */
int attached_check(const struct attached *n, struct error *err); /* for /readyz */

#endif
