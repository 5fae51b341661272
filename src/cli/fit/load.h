/*
 * fit_load - reads a cluster's devices, classes, claims and nodes once into an inventory.
 *
 * It works with any served version of resource.k8s.io. If the user may not read something and an
 * answer is possible without it, it is skipped and listed in `notes`. All memory is the run's.
 */
#ifndef CLI_FIT_LOAD_H
#define CLI_FIT_LOAD_H

#include "base/json/json.h"
#include "cli/connect/kube.h"
#include "dra/inventory/inventory.h"

struct fit_cluster {
	struct inventory *inventory;
	struct json *nodes; /* an array of Nodes, sorted by name */
	/* Nodes that devices name but that do not exist; empty if Nodes cannot be listed. */
	struct str *gone;
	size_t ngone;
	/* Notes on what could not be read, and the consequences. */
	struct json *notes;
	bool node_names_only; /* nodes could not be read: their names are those in slices */
	/*
	 * Not all claims could be read, and what they hold is not known otherwise: less may be
	 * free.
	 */
	bool uncertain;
};

/*
 * `ns` is the namespace of the claims in question. If `node` is not empty, only that node is
 * wanted.
 */
int fit_load(struct kube *k, struct str ns, struct str node, struct fit_cluster *ret_cluster,
	     struct error *err);
void fit_unload(struct fit_cluster *c);

/*
 * Reads one object of resource.k8s.io by its plural, or all if the name is empty, in the format of
 * v1.
 */
int fit_read(struct kube *k, const char *plural, struct str ns, struct str name,
	     struct json **ret_tree, struct error *err);

#endif
