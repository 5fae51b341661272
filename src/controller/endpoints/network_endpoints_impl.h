/*
 * network_endpoints_impl - between its two files: who is concerned, and what is done for a Service.
 */
#ifndef CONTROLLER_ENDPOINTS_NETWORK_ENDPOINTS_IMPL_H
#define CONTROLLER_ENDPOINTS_NETWORK_ENDPOINTS_IMPL_H

#include "base/core/omap.h"
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
	struct followed services; /* index "network": those that take part, by namespace */
	struct followed pods; /* "namespace": those that have claims; "claim": by their keys */
	struct followed claims;
	struct followed slices; /* "service": ours, by the keys of their Services */
	struct workqueue *queue; /* keys of Services */
	struct list jobs;
	struct omap written; /* key of a Service to struct written */
	struct arena scratch; /* of one event */
};

/* --- endpoints/job.c ----------------------------------------------------------------- */

/* The queue's handler: makes the slices of one Service what they should be. */
void network_endpoints_handle(void *arg, struct str key);

/* Ends all of it, without a word to the queue. */
void network_endpoints_jobs_release(struct network_endpoints *n);

/* --- network_endpoints.c --------------------------------------------------------------------- */

/* The value of a pod's label; `pod` is a struct cached. */
struct str network_endpoints_label(const void *pod, struct str key);

#endif
