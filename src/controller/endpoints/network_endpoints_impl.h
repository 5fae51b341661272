/*
 * network_endpoints_impl - shared by its two files: which Services an event affects, and the plan
 * of one Service.
 */
#ifndef CONTROLLER_ENDPOINTS_NETWORK_ENDPOINTS_IMPL_H
#define CONTROLLER_ENDPOINTS_NETWORK_ENDPOINTS_IMPL_H

#include "client/informer/informer.h"
#include "controller/endpoints/decide.h"
#include "controller/endpoints/slice_jobs.h"
#include "controller/shared/context.h"

struct workqueue;

struct followed {
	struct resource resource;
	struct informer *informer;
	struct informer_handler handler;
};

struct network_endpoints {
	struct context ctx;
	struct followed services; /* index "network": those that opt in, by namespace */
	/* Index "namespace": pods with claims; index "claim": pods by the keys of their claims. */
	struct followed pods;
	struct followed claims;
	struct followed slices; /* "service": our own, by the keys of their Services */
	struct workqueue *queue; /* keys of Services */
	struct slice_jobs jobs;
	struct arena scratch; /* for one event */
};

/* --- endpoints/job.c ----------------------------------------------------------------- */

/* For struct slice_jobs. */
struct network_write *network_endpoints_plan(struct slice_jobs *s, struct str key, struct arena *a,
					     struct json **slices, size_t n, bool *ret_again);

/* --- network_endpoints.c --------------------------------------------------------------------- */

/* The value of a pod's label; `pod` is a struct cached. */
struct str network_endpoints_label(const void *pod, struct str key);

#endif
