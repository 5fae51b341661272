/*
 * network_endpoints_impl - shared by its two files: which Services an event affects, and the plan
 * of one Service.
 */
#ifndef CONTROLLER_ENDPOINTS_NETWORK_ENDPOINTS_IMPL_H
#define CONTROLLER_ENDPOINTS_NETWORK_ENDPOINTS_IMPL_H

#include "controller/endpoints/decide.h"
#include "controller/endpoints/slice_jobs.h"
#include "controller/shared/context.h"
#include "controller/shared/followed.h"

struct workqueue;

struct network_endpoints {
	struct context ctx;
	struct following following;
	struct followed services; /* index "network": those that opt in, by namespace */
	/* Index "namespace": pods with claims; index "claim": pods by the keys of their claims. */
	struct followed pods;
	struct followed claims;
	struct workqueue *queue; /* keys of Services */
	struct slice_jobs jobs;
	struct arena scratch; /* for one event */
};

/* For struct slice_jobs. */
struct network_write *network_endpoints_plan(struct slice_jobs *s, struct str key, struct arena *a,
					     struct json **slices, size_t n, bool *ret_again);

#endif
