/*
 * attached - `devplane node --attach`: a book of resources filled from the local kubelet, the
 * PodResources server on it (PodResources watch KEP), and the health of its devices (KEP-4680).
 */
#ifndef NODE_AGENT_ATTACHED_H
#define NODE_AGENT_ATTACHED_H

#include "node/attach/attach.h"
#include "node/beside/beside.h"
#include "node/podresources/server.h"

struct attached;

/*
 * The `book` members, attach's hooks, and health's loop, client, node's name, metrics and log are
 * set here. `server.path` is required.
 */
struct attached_opts {
	struct attach_opts attach;
	struct podres_server_opts server;
	struct beside_opts health;
	bool no_health; /* `health` is not used */
};

int attached_new(const struct attached_opts *opts, struct attached **ret_attached,
		 struct error *err);
/* `done` is called once. Then free it. */
void attached_stop(struct attached *n, void (*done)(void *arg), void *arg);
void attached_free(struct attached *n); /* NULL allowed */
int attached_check(const struct attached *n, struct error *err); /* for /readyz */

/* For /readyz, too: the kubelet's socket, and the folder in which DRA drivers register with it. */
int attached_check_socket(const struct attached *n, struct error *err);
int attached_check_registry(const struct attached *n, struct error *err);
/* Number of DRA drivers found in that folder; -1 without health: then it is not read. */
int attached_drivers(const struct attached *n);

#endif
