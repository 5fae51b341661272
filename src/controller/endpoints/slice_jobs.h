/*
 * slice_jobs - writes the EndpointSlices of Services, one Service at a time.
 *
 * The owner plans a Service's writes from its informers (slices.h); they are sent one after the
 * other. A create has a generated name, so repeating it would make a duplicate. Therefore a Service
 * waits until the informer has seen our last write for it. An update based on outdated data
 * conflicts, and is planned again. A Service whose writes fail is tried again after a back-off, and
 * an event says why. A change of a slice of ours queues its Service. Threads: the client's loop.
 */
#ifndef CONTROLLER_ENDPOINTS_SLICE_JOBS_H
#define CONTROLLER_ENDPOINTS_SLICE_JOBS_H

#include "controller/shared/followed.h"
#include "controller/shared/work.h"
#include "controller/shared/written.h"

struct context;
struct network_write;

/* Embed it, fill it. */
struct slice_jobs {
	const struct context *ctx;
	const char *manager; /* the label managed-by of our slices */
	struct informer *services;
	struct workqueue *queue; /* keys of Services */
	const char *failure; /* for events: "cannot write .." */
	/*
	 * Plans the writes of the Service in the arena. `slices` are ours that name it. Sets
	 * *ret_again if it is to be looked at again after a back-off.
	 */
	struct network_write *(*plan)(struct slice_jobs *s, struct str key, struct arena *a,
				      struct json **slices, size_t n, bool *ret_again);

	/* Private; zero. */
	struct followed slices; /* ours */
	struct works works;
	struct written written; /* by key of a Service */
	struct arena scratch; /* for one event */
};

/* Follows our slices, too. */
void slice_jobs_init(struct slice_jobs *s, struct following *f);

/* Cancels all jobs, without notifying the queue. */
void slice_jobs_release(struct slice_jobs *s);

/* For the queue's handler: plans and writes the slices of one Service. */
void slice_jobs_handle(struct slice_jobs *s, struct str key);

/* Writes that delete all of these slices. */
struct network_write *slice_jobs_delete(struct arena *a, struct json **slices, size_t n);

/* Reports an event on the Service, if it exists. */
void slice_jobs_tell(struct slice_jobs *s, struct str key, const char *reason, struct str text);

#endif
