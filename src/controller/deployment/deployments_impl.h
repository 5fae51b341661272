/*
 * deployments_impl - shared by its files: the controller's state, and the job for one Deployment.
 */
#ifndef CONTROLLER_DEPLOYMENT_DEPLOYMENTS_IMPL_H
#define CONTROLLER_DEPLOYMENT_DEPLOYMENTS_IMPL_H

#include "controller/deployment/plan.h"
#include "controller/pods/owned.h"
#include "controller/shared/context.h"
#include "controller/shared/followed.h"
#include "controller/shared/work.h"
#include "controller/shared/written.h"

struct workqueue;

struct deployments {
	struct context ctx;
	struct following following;
	struct followed deployments; /* index: SELECTING */
	struct followed sets, pods; /* owned_indexes */
	struct workqueue *queue; /* keys of Deployments */
	/* Our last writes of the Deployment and of its ReplicaSets, by key of the Deployment. */
	struct written own_written, sets_written;
	struct works jobs;
	struct arena scratch; /* for one event */
};

/* The work for one key: one request after the other. */
struct deployment_job {
	struct work work;
	struct deployments *owner;
	struct cached *object; /* reference */
	struct owner identity;
	struct selector selector;
	struct owned_claim claim;
	struct deployment_plan plan;
	struct deployment_write *write; /* under way */
	struct loop_timer again; /* repeats a read */
	unsigned attempts;
};

/* The queue's handler. */
void deployments_handle(void *arg, struct str key);

/* The `release` of the jobs. */
void deployment_job_release(struct work *w);

/* --- deployment/writes.c --------------------------------------------------------------------- */

/* Does the writes of the plan, then ends the job. */
void deployment_job_write(struct deployment_job *j);

/* The timer's function: reads the ReplicaSet of the write again. */
void deployment_job_read_again(struct loop_timer *t);

void deployment_job_event(const struct deployment_job *j, bool warning, const char *reason,
			  struct str message);

#endif
