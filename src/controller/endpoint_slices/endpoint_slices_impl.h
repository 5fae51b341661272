/*
 * endpoint_slices_impl - shared by the two files of the controller: what it knows of each Service,
 * and the plan of one.
 */
#ifndef CONTROLLER_ENDPOINT_SLICES_ENDPOINT_SLICES_IMPL_H
#define CONTROLLER_ENDPOINT_SLICES_ENDPOINT_SLICES_IMPL_H

#include "controller/endpoint_slices/cluster.h"
#include "controller/endpoints/slice_jobs.h"
#include "controller/shared/context.h"
#include "controller/shared/followed.h"

struct workqueue;

struct endpoint_slices {
	struct context ctx;
	struct following following;
	struct followed services; /* index "selector": by a label that their pods have */
	struct followed pods, nodes;
	struct workqueue *queue; /* keys of Services */
	struct omap entries; /* key to struct service_entry */
	bool ready; /* all informers had their state, and all pods were given to their Services */
	struct slice_jobs jobs;
	struct arena scratch; /* for one event */
};

/* A Service with a selector. */
struct service_entry {
	struct str key;
	struct arena arena; /* for the selector; read anew after each change */
	struct selector selector;
	struct omap pods; /* keys of the pods that it selects, which are their own values */
	struct cluster_trigger trigger;
};

/* For struct slice_jobs. */
struct network_write *endpoint_slices_plan(struct slice_jobs *s, struct str key, struct arena *a,
					   struct json **slices, size_t n, bool *ret_again);

#endif
