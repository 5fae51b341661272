/*
 * deployments_impl - shared by its files: the controller's state, and the job for one Deployment.
 */
#ifndef CONTROLLER_DEPLOYMENT_DEPLOYMENTS_IMPL_H
#define CONTROLLER_DEPLOYMENT_DEPLOYMENTS_IMPL_H

#include "base/core/map.h"
#include "client/informer/informer.h"
#include "controller/deployment/plan.h"
#include "controller/pods/owned.h"
#include "controller/shared/context.h"

struct workqueue;

struct deployments_followed {
	struct resource resource;
	struct informer *informer;
	struct informer_handler handler;
};

struct deployments {
	struct context ctx;
	struct deployments_followed deployments; /* index: SELECTING */
	struct deployments_followed sets; /* indexes: OWNED_BY_CONTROLLER, OWNED_ORPHANS */
	struct deployments_followed pods; /* index: OWNED_BY_CONTROLLER */
	struct workqueue *queue; /* keys of Deployments */
	struct map written; /* by key of the Deployment: struct deployment_written */
	struct list jobs;
	struct arena scratch; /* for one event */
};

/* The versions that the caches must show before the Deployment is planned again. */
struct deployment_written {
	uint64_t own, sets; /* our last write of the Deployment, and of one of its ReplicaSets */
	char key[];
};

/* The work for one key: one request after the other. */
struct deployment_job {
	struct list link;
	struct deployments *owner;
	struct str key; /* borrowed from the queue until it is done */
	struct arena arena;
	struct cached *object; /* reference */
	struct owner identity;
	struct selector selector;
	struct owned_claim claim;
	struct deployment_plan plan;
	struct deployment_write *write; /* under way */
	struct client_request request;
	struct loop_timer again; /* repeats a read */
	unsigned attempts;
};

/* The queue's handler. */
void deployments_handle(void *arg, struct str key);

/* Cancels all jobs, without notifying the queue. */
void deployments_jobs_release(struct deployments *c);

/* --- deployment/written.c -------------------------------------------------------------------- */

/* Remembers the version in a reply to a write. `own`: of the Deployment, else of a ReplicaSet. */
void deployments_note_written(struct deployments *c, struct str key, const struct json *reply,
			      bool own);

/* Whether the caches do not show our last writes yet. */
bool deployments_behind(struct deployments *c, const struct cached *deployment);

void deployments_forget_written(struct deployments *c, struct str key);
void deployments_written_release(struct deployments *c);

/* --- deployment/writes.c --------------------------------------------------------------------- */

/* Does the writes of the plan, then ends the job. */
void deployment_job_write(struct deployment_job *j);

/* The timer's function: reads the ReplicaSet of the write again. */
void deployment_job_read_again(struct loop_timer *t);

/* --- deployment/job.c ------------------------------------------------------------------------ */

void deployment_job_end(struct deployment_job *j, bool again);

/* Logs the failure, unless it is an expected one, and retries. */
void deployment_job_fail(struct deployment_job *j, const struct error *err);

void deployment_job_event(const struct deployment_job *j, bool warning, const char *reason,
			  struct str message);

#endif
