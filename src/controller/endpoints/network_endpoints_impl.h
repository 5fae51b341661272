/*
 * network_endpoints_impl - shared by its two files: which Services an event affects, and the job
 * that reconciles one Service.
 */
#ifndef CONTROLLER_ENDPOINTS_NETWORK_ENDPOINTS_IMPL_H
#define CONTROLLER_ENDPOINTS_NETWORK_ENDPOINTS_IMPL_H

#include "base/ordered/omap.h"
#include "client/informer/informer.h"
#include "controller/endpoints/decide.h"
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
	struct list jobs;
	struct omap written; /* key of a Service to struct written */
	struct arena scratch; /* for one event */
};

/* --- endpoints/job.c ----------------------------------------------------------------- */

/* The queue's handler: reconciles the slices of one Service. */
void network_endpoints_handle(void *arg, struct str key);

/* Cancels all jobs, without notifying the queue. */
void network_endpoints_jobs_release(struct network_endpoints *n);

/* --- network_endpoints.c --------------------------------------------------------------------- */

/* The value of a pod's label; `pod` is a struct cached. */
struct str network_endpoints_label(const void *pod, struct str key);

#endif
