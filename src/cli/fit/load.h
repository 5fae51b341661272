/*
 * fit_load - a cluster's devices, classes, claims and nodes, read once into an inventory.
 *
 * Any version of resource.k8s.io that is served will do. What the user may not read is passed over
 * where an answer is possible without it, and said in `notes`. All memory is the run's.
 */
#ifndef CLI_FIT_LOAD_H
#define CLI_FIT_LOAD_H

#include "base/json/json.h"
#include "cli/connect/kube.h"
#include "dra/inventory/inventory.h"

struct fit_cluster {
	struct inventory *inventory;
	struct json *nodes; /* an array of Nodes by name */
	/* Nodes that devices name and that do not exist; empty if Nodes cannot be listed. */
	struct str *gone;
	size_t ngone;
	/* Sentences on what could not be read and what follows from that. */
	struct json *notes;
	bool node_names_only; /* nodes could not be read: their names are those of slices */
	/* Not all claims could be read, nor is known otherwise what they hold: less may be free. */
	bool uncertain;
};

/* `ns` is the namespace of whose claims is asked; `node`, when not empty, the only node wanted. */
int fit_load(struct kube *k, struct str ns, struct str node, struct fit_cluster *ret_cluster,
	     struct error *err);
void fit_unload(struct fit_cluster *c);

/*
 * One object of resource.k8s.io by its plural, or all when the name is empty, in the form of
 * version v1.
 */
int fit_read(struct kube *k, const char *plural, struct str ns, struct str name,
	     struct json **ret_tree, struct error *err);

#endif
